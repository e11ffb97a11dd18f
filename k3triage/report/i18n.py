"""The fixed words of the text report. What rules and logs say stays in the language they were written in."""

from typing import Literal

Lang = Literal["en", "ja"]

_WORDS: dict[str, tuple[str, str]] = {
    "confirmed": ("confirmed", "確定"),
    "likely": ("likely", "可能性大"),
    "possible": ("possible", "可能性あり"),
    "phase": ("phase {}", "段階 {}"),
    "lines": ("in lines {} to {}", "{}～{} 行目"),
    "why": ("Why", "理由"),
    "do": ("Do", "対処"),
    "because": ("because {}", "理由: {}"),
    "avoid": ("Do not", "してはいけないこと"),
    "missing": ("Missing to be sure", "確認に必要な情報"),
    "useful": ("Also worth a look", "あわせて見るとよい情報"),
    "bring": ("Bring this, then run k3triage on all of it", "次の情報を集めて、まとめて k3triage にかけてください"),
    "timeline": ("What happened when", "時系列"),
    "echoes": ("Echoes of it, {} in all: {}", "余波 (計 {} 行): {}"),
    "others": ("Also failed on its own: {}", "別に発生した障害: {}"),
    "recovered": ("Recovered: {}", "復旧済み: {}"),
    "attempts": ("Attempts: {}; this is about {}", "起動の試行: {}。この診断の対象は {}"),
    "attempts_plain": ("Attempts: {}", "起動の試行: {}"),
    "failed": ("{} failed", "失敗 {}"),
    "healthy_n": ("{} healthy", "正常 {}"),
    "stopped": ("{} stopped", "停止 {}"),
    "incomplete": ("{} incomplete", "途中 {}"),
    "more": ("{} more", "他 {} 件"),
    "left": ("({} more)", "(他 {} 件)"),
    "more_at": ("more: k3triage explain {}", "詳細: k3triage explain {}"),
    "healthy": ("Nothing wrong found", "異常は見つかりませんでした"),
    "healthy_partly": (
        "Nothing wrong found in what could be read",
        "読み込めた範囲では異常は見つかりませんでした",
    ),
    "nothing_read": ("Nothing was read, so nothing can be said", "何も読み込めなかったため、判断できません"),
    "read": ("{} inputs, {} lines", "入力 {} 件、{} 行"),
    "read_one": ("1 input, {} lines", "入力 1 件、{} 行"),
    "unknown_failure": ("Something failed that no rule knows", "既知のルールに当てはまらない障害です"),
    "unknown_hint": (
        "Nothing else in these inputs explains this line. To teach it: k3triage rules new --from-line '...'",
        "最初の異常はこの行です。ルールを追加するには: k3triage rules new --from-line '...'",
    ),
    "inconclusive": (
        "Only echoes of a failure are visible; its cause lies outside these inputs",
        "障害の余波しか見えません。原因はこの入力の外にあります",
    ),
    "guess": ("best guess: {}", "推定: {}"),
    "unread": ("Could not read {}: {}", "読み込めませんでした {}: {}"),
    "road": ("Road back: {}", "復旧方針: {}"),
    "repair_in_place": ("repair in place", "現在の環境のまま直す"),
    "rebuild_on_official_image": ("rebuild on the official image", "公式イメージで作り直す"),
    "use_verified_environment": ("move to a verified environment", "検証済みの環境に移す"),
    "unmet": (
        "Prerequisites of {} not met: {}; k3triage check says more",
        "{} の前提条件を満たしていません: {}。詳細: k3triage check",
    ),
}
LANGUAGES: tuple[Lang, ...] = ("en", "ja")


def word(key: str, lang: Lang, *values: str) -> str:
    """The phrase of that key in that language, its places filled in."""
    phrase = _WORDS[key][LANGUAGES.index(lang)]
    return phrase.format(*values) if values else phrase


def phrases() -> frozenset[str]:
    """All keys, for the test that both languages fill the same places."""
    return frozenset(_WORDS)

from hypothesis import given
from hypothesis import strategies as st

from k3triage.report.clean import clean, clean_lines, columns, cut_middle, escape_json, fold, wrap


def _unsafe(text: str) -> list[str]:
    return [c for c in text if ord(c) < 32 or 0x7F <= ord(c) <= 0x9F or c in "‪‫‬‭‮⁦⁧⁨⁩\u2028\u2029\ufeff\u200b"]


@given(st.text(alphabet=st.one_of(st.characters(max_codepoint=0x2100), st.sampled_from("\x1b[]m0;\x9b\x07"))))
def test_clean_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    assert _unsafe(clean(text)) == []


def test_clean_takes_whole_sequences_and_spells_the_rest() -> None:
    assert clean("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "red link"
    assert clean("a\x07b\x9b31mc") == "a\\x07bc"
    assert clean("tab\there ‮x") == "tab here \\u202ex"


def test_clean_lines_keeps_lines_apart() -> None:
    assert clean_lines("a\r\n\x1b[2Kb\n\n") == ["a ", "b"]


@given(st.text(), st.integers(min_value=10, max_value=120))
def test_cut_middle_fits_and_keeps_what_fits(text: str, width: int) -> None:
    safe = clean(text)
    cut = cut_middle(safe, width)
    assert columns(cut) <= width
    if columns(safe) <= width:
        assert cut == safe


def test_cut_middle_keeps_both_ends_and_counts_wide_characters() -> None:
    line = "ValueError: start " + "x" * 5_000_000 + " the end"
    cut = cut_middle(line, 60)
    assert cut.startswith("ValueError: start") and cut.endswith("the end") and len(cut) == 60
    assert columns("漢字") == 4
    assert columns(cut_middle("漢" * 50, 21)) <= 21


@given(st.lists(st.text(alphabet="abc漢-/", min_size=1, max_size=90), max_size=20), st.integers(20, 80))
def test_wrap_loses_no_character_and_fits(words: list[str], width: int) -> None:
    lines = wrap(" ".join(words), width, first="  - ", rest="    ")
    assert all(columns(line) <= width for line in lines)
    assert "".join(line[4:] for line in lines).replace(" ", "") == "".join(words)


def test_escape_json_keeps_the_data() -> None:
    import json

    text = json.dumps({"a": "\x9b2J ‮ \x7f 漢"}, ensure_ascii=False)
    escaped = escape_json(text)
    assert json.loads(escaped) == json.loads(text)
    assert _unsafe(escaped) == [] and "漢" in escaped


@given(st.text(alphabet="ab 漢-/", max_size=400), st.integers(10, 80))
def test_fold_keeps_every_character_and_fits(text: str, width: int) -> None:
    rows = fold(text, width)
    assert "".join(rows) == text and all(columns(row) <= width for row in rows)

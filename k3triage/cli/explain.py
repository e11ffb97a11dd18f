"""`k3triage explain`: the page of one cause, or the meaning of one code."""

import argparse
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from k3triage.cli.terminal import page_width, write
from k3triage.errors import UsageError
from k3triage.report.clean import clean, clean_lines, cut_middle, wrap

if TYPE_CHECKING:
    from k3triage.rules.pack import Pack
    from k3triage.rules.schema import Cause

_MOST_EXAMPLES = 2
_MOST_EXAMPLE_LINES = 8


def _page(cause: "Cause", width: int) -> str:
    lines: list[str] = [f"{cause.id}: {clean(cause.title)}"]
    tags = [f"layer {cause.layer}", f"phase {cause.phase.value}" if cause.phase else "", f"status {cause.status}"]
    lines.append(", ".join(tag for tag in (*tags, f"confidence {cause.confidence}") if tag))

    def head(name: str) -> None:
        lines.extend(["", name])

    def item(text: str, command: str | None = None, first: str = "  - ") -> None:
        lines.extend(wrap(text, width, first=first, rest=" " * len(first)))
        for part in clean_lines(command) if command else []:
            lines.append(f"{' ' * len(first)}$ {part}")

    head("Looks like")
    for example in cause.example[:_MOST_EXAMPLES]:
        shown = clean_lines(example.text)
        lines += [f"  | {cut_middle(line, width - 4)}" for line in shown[:_MOST_EXAMPLE_LINES]]
        if len(shown) > _MOST_EXAMPLE_LINES:
            lines.append(f"  | (and {len(shown) - _MOST_EXAMPLE_LINES} lines more)")
    if not cause.example:
        lines += [f"  | {signature.anchor}" for signature in cause.signature if signature.anchor]
    head("Means")
    item(cause.means, first="  ")
    head("Does not mean")
    item(cause.not_means, first="  ")
    if cause.check:
        head("Check")
        for check in cause.check:
            item(check.what, check.command)
    if cause.step:
        head("Fix")
        for index, step in enumerate(cause.step, 1):
            when = f" [when {' and '.join(step.when)}]" if step.when else ""
            because = f" ({step.because})" if step.because else ""
            item(step.action + because + when, step.command, f"  {index}. ")
    if cause.avoid:
        head("Avoid")
        for avoid in cause.avoid:
            item(f"{avoid.action}: {avoid.because}")
    if cause.lookalike:
        head("Not to be confused with")
        for other in cause.lookalike:
            item(f"{clean_lines(other.text)[0].strip()}: {other.because}")
    head("Sources")
    dated = {step.source: step.checked for step in cause.step}
    for source in dict.fromkeys([*cause.sources, *dated]):
        lines.append(f"  - {clean(source)}" + (f" (checked {dated[source]})" if source in dated else ""))
    return "\n".join(lines) + "\n"


def _nearest(word: str, pack: "Pack") -> list[str]:
    """Ids close to a mistyped one, also where the layer was left out or wrong."""
    ids = sorted(pack.infos)
    names = {cause.split(".", 1)[1]: cause for cause in ids}
    close = difflib.get_close_matches(word, ids, n=3, cutoff=0.5)
    close += [names[n] for n in difflib.get_close_matches(word.rsplit(".", 1)[-1], list(names), n=3, cutoff=0.5)]
    close += [cause for cause in ids if word.lower() in cause]
    return list(dict.fromkeys(close))[:5]


def _code(kind: str, code: str, width: int) -> str:
    from k3triage.rules.codes import explain

    entry = explain(kind, code)
    if entry is None:
        raise UsageError(f"no {kind} code {clean(code)} is known")
    alone = {
        "root": "names the fault by itself",
        "suspect": "shows that something failed, not why",
        "cascade": "follows from another failure",
        "info": "is no fault by itself",
    }
    lines = [f"{entry.kind} {entry.code}: {clean(entry.name)}", f"layer {entry.layer}; {alone[entry.role]}", ""]
    lines += wrap(entry.meaning, width, first="Means  ", rest="       ")
    lines += wrap(entry.action, width, first="Do     ", rest="       ")
    lines.append(f"Source {clean(entry.source)} (checked {entry.checked})")
    return "\n".join(lines) + "\n"


def command(options: argparse.Namespace) -> int:
    """Print the page; an unknown id names the nearest ones and ends with exit code 2."""
    from k3triage.rules import load_pack
    from k3triage.rules.codes import KINDS

    width = page_width(sys.stdout)
    words = options.what
    if words[0].lower() in KINDS:
        if len(words) == 1:
            raise UsageError(f"which one? k3triage explain {words[0].lower()} CODE")
        write(_code(words[0].lower(), " ".join(words[1:]), width))
        return 0
    if len(words) > 1:
        raise UsageError(f"one cause, or one of {', '.join(KINDS)} and a code")
    pack = load_pack([Path(folder) for folder in options.rules])
    if words[0] not in pack.infos:
        near = _nearest(words[0], pack)
        hint = f"; did you mean {', '.join(near)}?" if near else "; k3triage rules list shows all"
        raise UsageError(f"no cause is called {clean(words[0])}{hint}")
    write(_page(pack.page(words[0]), width))
    return 0

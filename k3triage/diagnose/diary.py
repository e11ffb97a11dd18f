"""The incident as rows of a table: when, who, what, which part it plays and what explains it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from k3triage.diagnose.causality import Explanation, Node
from k3triage.diagnose.clocks import Offset
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.model.enums import Outcome, Role
from k3triage.model.report import AttemptRef, ClockRef, TimelineRow

MOST_ROWS = 30
_TEXT = 160
_LEAP_YEAR = datetime(2020, 1, 1, tzinfo=UTC)


def rows(explanation: Explanation, chosen: Finding | None, inputs: Sequence[ParsedInput]) -> list[TimelineRow]:
    """The root and its echoes in order of time; of many, the root and the first of each kind come before repeats."""
    nodes = explanation.nodes
    if chosen is None or not nodes:
        return []
    kinds: set[str] = set()
    first: list[Node] = []
    rest: list[Node] = []
    for node in nodes:
        (rest if node.first.cause in kinds else first).append(node)
        kinds.add(node.first.cause)
    root = explanation.of(chosen)
    picked = {id(node) for node in [*([root] if root else []), *first, *rest][:MOST_ROWS]}
    found = [
        _row(chosen if node is root else node.first, node, chosen.cause, inputs) for node in nodes if id(node) in picked
    ]
    if root is None:
        found.insert(0, _row(chosen, None, chosen.cause, inputs))
    return found[:MOST_ROWS]


def _row(finding: Finding, node: Node | None, cause: str, inputs: Sequence[ParsedInput]) -> TimelineRow:
    weak = node is not None and node.link is not None and node.link.weak
    root = weak or finding.cause == cause
    return TimelineRow(
        when=_when(finding),
        who=node.who.name if node is not None else "",
        source=inputs[finding.input].name,
        line=finding.line.record.line,
        what=finding.cause,
        role=Role.ROOT if root else Role.CASCADE,
        count=len(node.members) if node is not None else 1,
        explained_by=None if root or node is None or node.cause is None else node.cause.first.cause,
        text=finding.line.header.message.strip()[:_TEXT],
    )


def _when(finding: Finding) -> str | None:
    """Month, day and time on the incident's common clock."""
    if finding.clock is None:
        return None
    return (_LEAP_YEAR + timedelta(seconds=finding.clock)).strftime("%m-%d %H:%M:%S")


def clock_refs(offsets: Sequence[Offset], inputs: Sequence[ParsedInput]) -> list[ClockRef]:
    """The corrections that were made, by input."""
    return [
        ClockRef(source=inputs[offset.input].name, offset_seconds=offset.seconds, shared_events=offset.events)
        for offset in offsets
    ]


def clock_sentence(refs: Sequence[ClockRef]) -> list[str]:
    """Says that clocks disagree, so that nobody compares the files by their dates."""
    if not refs:
        return []
    shown = ", ".join(f"{ref.source} by {ref.offset_seconds:+.0f} s" for ref in refs[:4])
    more = f" and {len(refs) - 4} more" if len(refs) > 4 else ""
    return [f"The inputs' clocks differ; corrected by events that they share: {shown}{more}."]


def history(attempts: Sequence[AttemptRef], chosen: Finding | None, inputs: Sequence[ParsedInput]) -> list[str]:
    """Since when, and in how many attempts, the cause repeats, and whether it changed."""
    if chosen is None:
        return []
    mine = [a for a in attempts if a.source == inputs[chosen.input].name]
    number = next((n for n, a in enumerate(mine) if a.start_line <= chosen.line.record.line <= a.end_line), None)
    if number is None or len(mine) < 2:
        return []
    before = [a for a in mine[:number] if a.outcome is Outcome.FAILED]
    same = [a for a in before if a.cause == chosen.cause]
    lines: list[str] = []
    if same:
        lines.append(
            f"The same cause ended {len(same) + 1} of {len(mine)} attempts in {mine[0].source}, the first of them in "
            f"lines {same[0].start_line} to {same[0].end_line}."
        )
    others = sorted({a.cause for a in before if a.cause and a.cause != chosen.cause})
    if others:
        lines.append(f"Earlier attempts failed otherwise: {', '.join(others[:4])}; the cause changed.")
    if not before:
        lines.append("The attempts before it did not fail.")
    return lines

"""Which causes claim the same line, shown on the rule files' own examples, and what decides between them.

Precedence decides first, then the role, then the length of the matched text (`rules.match.Hit.rank`). Conditions on
phase, facts and the like are not applied: a pair that only a condition keeps apart is listed too.
"""

from collections.abc import Iterable, Iterator

from k3triage.model.records import Line, RawLine
from k3triage.model.shapes import dataclass
from k3triage.pipeline import parse_lines
from k3triage.rules.match import Hit, match
from k3triage.rules.pack import Pack

_CONDITIONS = ("levels", "phases", "frames", "header", "needs", "unless", "since", "until")


@dataclass(frozen=True)
class Overlap:
    """Two causes that match one line.

    decided_by: "precedence 60 over 50", "role root over suspect", "longer match", "condition" where only a condition
    of a signature tells them apart, None where nothing does. text: the line's own words.
    """

    winner: str
    loser: str
    decided_by: str | None
    text: str


def overlaps(pack: Pack) -> list[Overlap]:
    """Every pair once, in the order of their ids, with the first line that shows it."""
    found: dict[tuple[str, str], Overlap] = {}
    for cause in pack.causes():
        for example in (*cause.example, *cause.lookalike):
            for line, hits in _contested(example.text, pack):
                for overlap in _pairs(line, hits):
                    key = (overlap.winner, overlap.loser)
                    if key not in found or overlap.decided_by is None:
                        found[key] = overlap
    return [found[key] for key in sorted(found)]


def _contested(text: str, pack: Pack) -> Iterator[tuple[Line, list[Hit]]]:
    raw = [RawLine(0, number, line.encode()) for number, line in enumerate(text.split("\n"), 1)]
    lines = parse_lines("example", text.encode(), raw).lines
    for index, hits in match(lines, pack).hits.items():
        best: dict[str, Hit] = {}
        for hit in hits:
            if hit.signature.role != "context":
                old = best.get(hit.signature.cause)
                best[hit.signature.cause] = hit if old is None or hit.rank > old.rank else old
        if len(best) > 1:
            yield lines[index], list(best.values())


def _pairs(line: Line, hits: Iterable[Hit]) -> Iterator[Overlap]:
    first, *others = sorted(hits, key=lambda hit: (hit.rank, hit.signature.cause), reverse=True)
    for other in others:
        yield Overlap(first.signature.cause, other.signature.cause, _decided(first, other), line.own)


def _decided(first: Hit, other: Hit) -> str | None:
    one, two = first.signature, other.signature
    if one.precedence != two.precedence:
        return f"precedence {one.precedence} over {two.precedence}"
    if one.role != two.role:
        return f"role {one.role} over {two.role}"
    if first.length != other.length:
        return "longer match"
    if any(getattr(signature, name) for signature in (one, two) for name in _CONDITIONS):
        return "condition"
    return None

"""What the scan looks for: literals, how much of each is kept, and which of them a database must hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from k3triage.model.anchors import STRENGTH, Anchor


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds on what one source may cost.

    first, last: lines of one literal kept from the beginning and from the end of each attempt.
    stat_first, stat_last: the same for `stat` anchors.
    attempt_lines: kept lines of one attempt after which every literal is down to `tight` lines.
    tail_bytes: how far from the end of an attempt the last lines are looked for.
    line_bytes, cut_bytes: of a line longer than `line_bytes` only `cut_bytes` around its first anchor are kept.
    context_bytes: surroundings of a fault reach so many bytes before it and after it, whole lines counted with LF.
    kept_bytes, head_bytes: kept lines may cost so many bytes in all; beyond that the middle is dropped and
        `head_bytes` of it stay for the beginning. A line costs its length and `LINE_COST`.
    """

    first: int = 3_000
    last: int = 50
    stat_first: int = 200
    stat_last: int = 20
    attempt_lines: int = 20_000
    tight: int = 50
    tail_bytes: int = 256 << 10
    line_bytes: int = 1 << 20
    cut_bytes: int = 64 << 10
    context_bytes: int = 64 << 10
    kept_bytes: int = 32 << 20
    head_bytes: int = 8 << 20

    def __post_init__(self) -> None:
        # A line that is kept cut must be too long to be surroundings or near an end: merging sees only what is kept.
        if not 0 < self.context_bytes <= self.cut_bytes <= self.line_bytes or self.tail_bytes > self.line_bytes:
            raise ValueError("context_bytes <= cut_bytes <= line_bytes and tail_bytes <= line_bytes")


LINE_COST = 160


class AnchorSet:
    """Anchors numbered by their place, without doubles.

    Of equal literals the strongest kind stays; `resets` holds if it does for one of them.
    """

    def __init__(self, anchors: Sequence[Anchor], limits: Limits | None = None) -> None:
        limits = limits or Limits()
        best: dict[bytes, Anchor] = {}
        for anchor in anchors:
            old = best.get(anchor.literal, anchor)
            kind = max(anchor.kind, old.kind, key=STRENGTH.__getitem__)
            best[anchor.literal] = Anchor(anchor.literal, kind, anchor.resets or old.resets)
        self.anchors = tuple(best.values())
        self.limits = limits
        self.literals = tuple(anchor.literal for anchor in self.anchors)
        self.faults = frozenset(i for i, a in enumerate(self.anchors) if a.kind == "fault")
        self.joins = frozenset(i for i, a in enumerate(self.anchors) if a.kind == "join")
        self.resets = frozenset(i for i, a in enumerate(self.anchors) if a.resets)
        self.progress = tuple(i for i, a in enumerate(self.anchors) if a.kind == "progress" and not a.resets)
        stats = [a.kind == "stat" for a in self.anchors]
        self.first = tuple(limits.stat_first if stat else limits.first for stat in stats)
        self.last = tuple(limits.stat_last if stat else limits.last for stat in stats)
        # Progress is found by a plain search where a reader waits for it, never by the database.
        self._sought = [i for i in range(len(self.anchors)) if i not in self.progress]
        self._parents = {i: self._containing_of(i) for i in self._sought}
        self._children: dict[int, list[int]] = {i: [] for i in self._sought}
        for child, parents in self._parents.items():
            for parent in parents:
                self._children[parent].append(child)

    def _containing_of(self, i: int) -> list[int]:
        """Anchors whose lines include all lines of anchor `i` and keep as much of each."""
        mine = self.anchors[i]
        return [
            j
            for j in self._sought
            if j != i
            and self.literals[j] in mine.literal
            and STRENGTH[self.anchors[j].kind] >= STRENGTH[mine.kind]
            and self.anchors[j].resets >= mine.resets
        ]

    def active(self, closed: frozenset[int]) -> tuple[int, ...]:
        """Anchors that a database needs when those in `closed` are not wanted any more.

        An anchor that contains another active one is left out: where it matches, the other does too.
        """
        return tuple(i for i in self._sought if i not in closed and not any(p not in closed for p in self._parents[i]))

    def complete(self, found: Iterable[int], line: bytes) -> frozenset[int]:
        """`found` (anchors seen in the line) with those that the database leaves out, and progress."""
        found = set(found)
        more = {c for i in found for c in self._children[i] if c not in found and self.literals[c] in line}
        more.update(i for i in self.progress if self.literals[i] in line)
        return frozenset(found | more)

    def contained(self, i: int) -> bool:
        """Whether other anchors contain anchor `i`, so that a database leaves them out."""
        return bool(self._children[i])

    def cut(self, line: bytes) -> bytes:
        """The line, or what is kept of it where it is too long: a part around its first anchor."""
        if len(line) <= self.limits.line_bytes:
            return line
        at = min(at for literal in self.literals if (at := line.find(literal)) >= 0)
        start = max(0, min(at - self.limits.cut_bytes // 2, len(line) - self.limits.cut_bytes))
        return line[start : start + self.limits.cut_bytes]

"""What the scan looks for, and how much of each it keeps."""

from collections.abc import Iterable, Sequence

from k3triage.model.anchors import STRENGTH, Anchor
from k3triage.model.shapes import dataclass


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds on what one source may cost.

    first, last: lines of one literal kept from the beginning and from the end of each attempt.
    marker_first: the same as `first` for `marker` anchors; stat_first, stat_last: for `stat` anchors.
    attempt_lines: kept lines of one attempt after which every literal is down to `tight` lines.
    tail_bytes: how far from the end of an attempt the last lines are looked for.
    line_bytes, cut_bytes: of a line longer than `line_bytes` only `cut_bytes` around its first anchor are kept.
    context_bytes: surroundings of a fault reach so many bytes before it and after it, whole lines counted with LF.
    kept_bytes, head_bytes: kept lines may cost so many bytes in all; beyond that the middle is dropped and
        `head_bytes` of it stay for the beginning. A line costs its length and `LINE_COST`.
    """

    first: int = 3_000
    last: int = 50
    marker_first: int = 500
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
        firsts = {"stat": limits.stat_first, "marker": limits.marker_first}
        self.first = tuple(firsts.get(a.kind, limits.first) for a in self.anchors)
        self.last = tuple(limits.stat_last if a.kind == "stat" else limits.last for a in self.anchors)
        # Progress is found by a plain search where a reader waits for it, never by an engine.
        self.sought = {i: a.literal for i, a in enumerate(self.anchors) if i not in self.progress}

    def complete(self, found: Iterable[int], line: bytes) -> frozenset[int]:
        """`found` (anchors seen in the line) with those of progress."""
        return frozenset([*found, *(i for i in self.progress if self.literals[i] in line)])

    def cut(self, line: bytes) -> bytes:
        """The line, or what is kept of it where it is too long: a part around its first anchor."""
        if len(line) <= self.limits.line_bytes:
            return line
        at = min(at for literal in self.literals if (at := line.find(literal)) >= 0)
        start = max(0, min(at - self.limits.cut_bytes // 2, len(line) - self.limits.cut_bytes))
        return line[start : start + self.limits.cut_bytes]

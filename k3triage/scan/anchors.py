"""What the scan looks for, and how much of each it keeps."""

import bisect
import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property

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
    window_bytes: so far from the start of an attempt every anchor counts, beyond it only the strong ones.
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
    window_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        # A line that is kept cut must be too long to be surroundings or near an end: merging sees only what is kept.
        if not 0 < self.context_bytes <= self.cut_bytes <= self.line_bytes or self.tail_bytes > self.line_bytes:
            raise ValueError("context_bytes <= cut_bytes <= line_bytes and tail_bytes <= line_bytes")


# What a kept line costs beside its bytes, mostly once it is parsed.
LINE_COST = 1_000


class AnchorSet:
    """Anchors numbered by their place, without doubles.

    Of equal literals the strongest kind stays; `resets` holds if it does for one of them.

    cover: short literals. An anchor that holds one of them is strong, and so are those of statistics and those that
    reset; without a cover all are.

    Raises ValueError for an anchor that is empty or holds a line feed.
    """

    def __init__(self, anchors: Sequence[Anchor], limits: Limits | None = None, cover: Sequence[bytes] = ()) -> None:
        limits = limits or Limits()
        best: dict[bytes, Anchor] = {}
        for anchor in anchors:
            old = best.get(anchor.literal)
            if old is not None:
                kind = max(anchor.kind, old.kind, key=STRENGTH.__getitem__)
                anchor = Anchor(anchor.literal, kind, anchor.resets or old.resets)
            best[anchor.literal] = anchor
        self.anchors = tuple(best.values())
        self.limits = limits
        self.cover = tuple(cover)
        self.literals = tuple(anchor.literal for anchor in self.anchors)
        if b"" in best or b"\n" in b"".join(self.literals):
            raise ValueError("an anchor is one or more bytes without a line feed")
        self.faults = frozenset(i for i, a in enumerate(self.anchors) if a.kind == "fault")
        self.joins = frozenset(i for i, a in enumerate(self.anchors) if a.kind == "join")
        self.resets = frozenset(i for i, a in enumerate(self.anchors) if a.resets)
        self.progress = tuple(i for i, a in enumerate(self.anchors) if a.kind == "progress" and not a.resets)
        firsts = {"stat": limits.stat_first, "marker": limits.marker_first}
        self.first = tuple(firsts.get(a.kind, limits.first) for a in self.anchors)
        self.last = tuple(limits.stat_last if a.kind == "stat" else limits.last for a in self.anchors)
        # Progress is found by a plain search where a reader waits for it, never by an engine.
        self.sought = {i: a.literal for i, a in enumerate(self.anchors) if i not in self.progress}

    @cached_property
    def direct(self) -> dict[int, bytes]:
        """Anchors that come often in healthy logs: statistics, and markers that the cover names whole."""
        whole = set(self.cover)
        return {
            i: a.literal
            for i, a in enumerate(self.anchors)
            if not a.resets and (a.kind == "stat" or (a.kind == "marker" and a.literal in whole))
        }

    @cached_property
    def alarms(self) -> tuple[bytes, ...]:
        """Literals of which each strong anchor holds one, unless it is a direct one."""
        if not self.cover:
            return ()
        direct = set(self.direct.values())
        short = [literal for literal in self.cover if literal not in direct]
        resets = [a.literal for a in self.anchors if a.resets]
        return (*short, *(literal for literal in resets if not any(part in literal for part in short)))

    @cached_property
    def weak(self) -> frozenset[int]:
        """Anchors that count only near the start of an attempt."""
        if not self.cover:
            return frozenset()
        # One search for each alarm through all literals at once; the other way round takes a hundred times as long.
        joined = b"\n".join(self.literals)
        starts = [0, *itertools.accumulate(len(literal) + 1 for literal in self.literals)]
        strong = {*self.direct, *self.progress}
        for alarm in self.alarms:
            at = joined.find(alarm)
            while at >= 0:
                number = bisect.bisect_right(starts, at) - 1
                strong.add(number)
                at = joined.find(alarm, starts[number + 1])
        return frozenset(range(len(self.literals))) - strong

    def equals(self, other: "AnchorSet") -> bool:
        """Whether a scan with the other set keeps the same."""
        return (self.anchors, self.limits, self.cover) == (other.anchors, other.limits, other.cover)

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

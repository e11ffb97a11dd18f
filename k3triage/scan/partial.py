"""What a scan found, and how the findings of adjoining slices become those of the whole.

A line is kept for what stands in it: its *events*. `select` decides, from all events in order, which lines stay. While
scanning, more may be stored than `select` lets through, never less; so a merge runs `select` again over the events
of both parts and comes to what a scan of the whole would have kept.
"""

import bisect
import builtins
import itertools
from collections.abc import Iterator

from k3triage.model.records import RawLine
from k3triage.model.shapes import dataclass, field
from k3triage.scan.anchors import LINE_COST, AnchorSet

BEFORE_LINES = 10
AFTER_LINES = 80


@dataclass(slots=True)
class Event:
    """A line with at least one anchor: its number, its offset and the anchors seen in it."""

    number: int
    offset: int
    ids: frozenset[int]


def walk(pool: dict[int, RawLine], first: int, step: int, lines: int, room: int) -> Iterator[int]:
    """Numbers of adjoining lines of the pool from `first` on, at most `lines` of them and `room` bytes together."""
    for number in range(first, first + step * lines, step):
        line = pool.get(number)
        if line is None:
            return
        room -= len(line.data) + 1
        if room < 0:
            return
        yield number


class Budget:
    """How many lines of each anchor an attempt has had.

    slack: lines that an attempt may have beyond its limit, for a scan that must store at least what `select` takes.
    """

    def __init__(self, anchors: AnchorSet, slack: int = 0) -> None:
        self._anchors = anchors
        self._limits = anchors.limits
        self._slack = slack
        self.count: dict[int, int] = {}
        self.lines = 0

    def limit(self, i: int) -> int:
        """Lines of anchor `i` that this attempt may keep from its beginning."""
        first = self._anchors.first[i]
        return first if self.lines <= self._limits.attempt_lines + self._slack else min(first, self._limits.tight)

    def grant(self, ids: frozenset[int]) -> set[int]:
        """Count a line; return those of its anchors that still had room."""
        granted = set()
        for i in ids.difference(self._anchors.progress):
            count = self.count.get(i, 0)
            if count < self.limit(i):
                granted.add(i)
            self.count[i] = count + 1
        return granted

    def closed(self) -> frozenset[int]:
        """Anchors without room; those that reset the budget always have room."""
        return frozenset(i for i, n in self.count.items() if n >= self.limit(i)) - self._anchors.resets

    def reset(self) -> None:
        """A new attempt begins."""
        self.count.clear()
        self.lines = 0


def _ring(events: list[Event], anchors: AnchorSet, end: int) -> dict[int, set[int]]:
    """By line number: anchors for which the line is one of the last of its attempt."""
    kept: dict[int, set[int]] = {}
    count: dict[int, int] = {}
    for event in reversed(events):
        if event.offset >= end - anchors.limits.tail_bytes:
            for i in event.ids:
                count[i] = count.get(i, 0) + 1
                if count[i] <= anchors.last[i] and i not in anchors.progress:
                    kept.setdefault(event.number, set()).add(i)
        if event.ids & anchors.resets:
            end = event.offset
            count.clear()
    return kept


def _counting(events: list[Event], anchors: AnchorSet) -> list[Event]:
    """The events without anchors that are too weak for where they stand."""
    window = end = anchors.limits.window_bytes
    if not anchors.cover or not events or events[-1].offset < window:
        return events
    counting = []
    for event in events:
        if event.offset >= end and (weak := event.ids & anchors.weak):
            if weak == event.ids:
                continue
            event = Event(event.number, event.offset, event.ids - weak)
        if event.ids & anchors.resets:
            end = event.offset + window
        counting.append(event)
    return counting


def _progress(event: Event, anchors: AnchorSet) -> bool:
    return any(i in event.ids for i in anchors.progress)


class _Kept:
    """Which lines of a pool are kept; works on stretches, since faults come in floods."""

    def __init__(self, pool: dict[int, RawLine], room: int) -> None:
        self.numbers = sorted(pool)
        self._room = room
        self._flags = bytearray(len(self.numbers))
        self._index = {n: i for i, n in enumerate(self.numbers)}
        # Bytes of all lines up to and with each; where a stretch of adjoining lines begins and ends.
        self._sums = list(itertools.accumulate(len(pool[n].data) + 1 for n in self.numbers))
        self._begins = [0] * len(self.numbers)
        self._ends = [0] * len(self.numbers)
        begin = 0
        for i, number in enumerate(self.numbers):
            if i and number != self.numbers[i - 1] + 1:
                self._ends[begin:i] = [i] * (i - begin)
                begin = i
            self._begins[i] = begin
        self._ends[begin:] = [len(self.numbers)] * (len(self.numbers) - begin)

    def index(self, number: int) -> int:
        """Place of a line in the pool."""
        return self._index[number]

    def before(self, i: int, lines: int) -> int:
        """First of the lines, at most so many, that surround line `i` before it."""
        limit = self._sums[i - 1] - self._room if i else 0
        first = bisect.bisect_left(self._sums, limit) + 1 if limit > 0 else 0
        return max(first, self._begins[i], i - lines)

    def after(self, i: int, lines: int) -> int:
        """End of the lines, at most so many, that surround line `i` after it."""
        end = bisect.bisect_right(self._sums, self._sums[i] + self._room)
        return min(end, self._ends[i], i + 1 + lines)

    def add(self, start: int, end: int) -> int:
        """Keep a stretch; returns how many of its lines were not kept yet."""
        if start >= end:
            return 0
        fresh = end - start - self._flags.count(1, start, end)
        if fresh:
            self._flags[start:end] = b"\1" * (end - start)
        return fresh

    def result(self) -> list[int]:
        """Numbers of the kept lines, ascending."""
        return list(itertools.compress(self.numbers, self._flags))


def select(
    events: list[Event], pool: dict[int, RawLine], anchors: AnchorSet, end: int
) -> tuple[list[int], list[Event]]:
    """Numbers of the lines that stay, ascending, and the events that keep them.

    events: ascending by number, one a line. pool: all lines that may stay, by number. end: bytes of the source.
    """
    events = _counting(events, anchors)
    ring = _ring(events, anchors, end)
    budget = Budget(anchors)
    kept = _Kept(pool, anchors.limits.context_bytes)
    reasons: list[Event] = []
    waiting = True
    window = (0, 0)
    for event in events:
        at = kept.index(event.number)
        # Lines of a window that stand before this event belong to what the attempt has had so far.
        budget.lines += kept.add(window[0], min(window[1], at))
        window = (max(window[0], at), window[1])
        if event.ids & anchors.resets:
            budget.reset()
            waiting = True
        granted = budget.grant(event.ids)
        strong = granted | ring.get(event.number, set())
        if not strong and not (waiting and _progress(event, anchors)):
            continue
        reasons.append(event)
        fault = bool(strong & anchors.faults)
        budget.lines += kept.add(kept.before(at, BEFORE_LINES) if fault else at, at + 1)
        if fault:
            waiting = True
        elif _progress(event, anchors):
            waiting = False
        if fault or strong & anchors.joins:
            window = (at, max(window[1], kept.after(at, AFTER_LINES if fault else 1)))
    kept.add(*window)
    numbers = trim(kept.result(), pool, anchors)
    stay = set(numbers)
    return numbers, [event for event in reasons if event.number in stay]


def trim(numbers: list[int], pool: dict[int, RawLine], anchors: AnchorSet) -> list[int]:
    """Without the middle where the lines cost more memory than allowed."""
    limits = anchors.limits
    costs = [len(pool[n].data) + LINE_COST for n in numbers]
    if sum(costs) <= limits.kept_bytes:
        return numbers
    head, room = 0, limits.head_bytes
    while head < len(numbers) and costs[head] <= room:
        room -= costs[head]
        head += 1
    tail, room = len(numbers), limits.kept_bytes - limits.head_bytes
    while tail > head and costs[tail - 1] <= room:
        room -= costs[tail - 1]
        tail -= 1
    return numbers[:head] + numbers[tail:]


@dataclass(slots=True)
class Partial:
    """Result of scanning a source, or a slice of one that begins at a line.

    lines: kept lines in order; `number` and `offset` count from the beginning of what was scanned.
    bytes, newlines: how much was scanned.
    dropped: lines or occurrences per literal that were seen and not kept. About exact for the first 16 blocks after a
        literal had its share, from then on estimated from every 64th block.
    """

    lines: list[RawLine] = field(default_factory=list)
    bytes: int = 0
    newlines: int = 0
    dropped: dict[builtins.bytes, int] = field(default_factory=dict)
    _anchors: AnchorSet | None = None
    _events: list[Event] = field(default_factory=list)
    _context: dict[int, RawLine] = field(default_factory=dict)
    _ends_open: bool = False

    @classmethod
    def build(
        cls,
        anchors: AnchorSet,
        events: list[Event],
        pool: dict[int, RawLine],
        size: int,
        newlines: int,
        dropped: dict[builtins.bytes, int],
        ends_open: bool,
    ) -> "Partial":
        """A partial from all that a scan stored; `pool` also holds the lines at both ends, for merging."""
        numbers, reasons = select(events, pool, anchors, size)
        lines = [pool[n] for n in numbers]
        mark_gaps(lines)
        room = anchors.limits.context_bytes
        context = [*walk(pool, 1, 1, AFTER_LINES, room), *walk(pool, newlines + ends_open, -1, BEFORE_LINES, room)]
        return cls(
            lines=lines,
            bytes=size,
            newlines=newlines,
            dropped=dropped,
            _anchors=anchors,
            _events=reasons,
            _context={n: pool[n] for n in context},
            _ends_open=ends_open,
        )

    def has_fault(self) -> bool:
        """Whether a line that may tell of a fault was kept."""
        faults = self._anchors.faults if self._anchors else frozenset()
        return any(event.ids & faults for event in self._events)

    def merge(self, other: "Partial") -> "Partial":
        """Result for this slice and the one that follows it; associative, neither part is changed.

        It equals a scan of the whole as long as no attempt keeps more than `Limits.attempt_lines` lines and nothing
        had to be dropped for memory; beyond that the lines at the end of an attempt can be fewer.

        Raises ValueError where this slice does not end at a line feed or where the anchors differ.
        """
        anchors = self._anchors or other._anchors
        if anchors is None or not self.bytes:
            return other
        if not other.bytes:
            return self
        if self._ends_open:
            raise ValueError("a slice that others follow ends at a line feed")
        if other._anchors is not None and not anchors.equals(other._anchors):
            raise ValueError("partial scans with different anchors")
        pool = dict(self._context)
        pool.update((line.number, line) for line in self.lines)
        shifted = (*other._context.values(), *other.lines)
        for line in shifted:
            number = line.number + self.newlines
            pool[number] = RawLine(line.offset + self.bytes, number, line.data)
        pool = {n: RawLine(line.offset, n, line.data) for n, line in pool.items()}
        events = [*self._events]
        events += [Event(e.number + self.newlines, e.offset + self.bytes, e.ids) for e in other._events]
        dropped = dict(self.dropped)
        for literal, count in other.dropped.items():
            dropped[literal] = dropped.get(literal, 0) + count
        return Partial.build(
            anchors,
            events,
            pool,
            self.bytes + other.bytes,
            self.newlines + other.newlines,
            dropped,
            other._ends_open,
        )


def mark_gaps(lines: list[RawLine]) -> None:
    """Set `gap` on each line that does not follow the one before it."""
    last = 0
    for line in lines:
        line.gap = line.number != last + 1
        last = line.number

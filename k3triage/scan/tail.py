"""The last lines of an attempt, of literals that had their share of the budget earlier."""

import bisect
import itertools

from k3triage.model.records import RawLine
from k3triage.model.shapes import dataclass, field
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engine
from k3triage.scan.partial import AFTER_LINES, BEFORE_LINES, Event, walk


@dataclass(slots=True)
class Found:
    """Events and lines of the tail.

    until, room: number of the last line, and bytes, that the surroundings of the last fault reach.
    """

    events: list[Event] = field(default_factory=list)
    pool: dict[int, RawLine] = field(default_factory=dict)
    until: int = 0
    room: int = 0


def last_lines(text: bytes, number: int, end: int, anchors: AnchorSet, engine: Engine, closed: frozenset[int]) -> Found:
    """What is kept of the end of an attempt.

    text: whole lines before it. number: of the line after them. end: byte offset of that line. closed: anchors that
    had their share; lines of the others are stored already.
    """
    found = Found()
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    first = number - len(lines)
    base = end - len(text)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    present = engine.present(text, 0, len(text))
    wanted: set[int] = set()
    for i in closed.intersection(present):
        stop = len(text)
        for _ in range(anchors.last[i]):
            at = text.rfind(anchors.literals[i], 0, stop)
            if at < 0 or (place := bisect.bisect_right(starts, at) - 1) < 0:
                break
            if base + starts[place] < end - anchors.limits.tail_bytes:
                break
            wanted.add(place)
            stop = starts[place]
    raw: dict[int, RawLine] = {}

    def line(place: int) -> RawLine:
        return RawLine(base + starts[place], first + place, lines[place])

    def event(place: int) -> frozenset[int]:
        data = lines[place]
        ids = anchors.complete([i for i in present if anchors.literals[i] in data], data)
        found.events.append(Event(first + place, base + starts[place], ids))
        found.pool[first + place] = RawLine(base + starts[place], first + place, anchors.cut(data))
        return ids

    ordered = sorted(wanted)
    waiting: frozenset[int] = frozenset()
    for place, following in zip(ordered, [*ordered[1:], len(lines)], strict=False):
        ids = event(place)
        fault = ids & anchors.faults
        if fault or ids & anchors.joins:
            n = first + place
            near = range(max(0, place - BEFORE_LINES), min(len(lines), place + AFTER_LINES + 1))
            raw.update((first + at, line(at)) for at in near if first + at not in raw)
            before = walk(raw, n - 1, -1, BEFORE_LINES, anchors.limits.context_bytes)
            after = [*walk(raw, n + 1, 1, AFTER_LINES, anchors.limits.context_bytes)]
            for m in (*before, *after):
                found.pool.setdefault(m, raw[m])
            found.until = n + AFTER_LINES if fault else max(found.until, n + 1)
            found.room = anchors.limits.context_bytes - sum(len(raw[m].data) + 1 for m in after)
        # A reader waits for progress after each fault; lines in between that matter are events themselves.
        waiting = fault if fault or any(i in anchors.progress for i in ids) else waiting
        if waiting and place + 1 < following:
            stop = starts[following] if following < len(lines) else len(text)
            hits = [
                at for i in anchors.progress if (at := text.find(anchors.literals[i], starts[place + 1], stop)) >= 0
            ]
            if hits:
                event(bisect.bisect_right(starts, min(hits)) - 1)
                waiting = frozenset()
    return found

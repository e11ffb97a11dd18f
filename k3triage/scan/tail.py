"""The last lines of an attempt, of literals that had their share of the budget earlier."""

from dataclasses import dataclass, field

from k3triage.model.records import RawLine
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


def last_lines(text: bytes, number: int, end: int, anchors: AnchorSet, engine: Engine) -> Found:
    """What is kept of the end of an attempt.

    text: whole lines before it. number: of the line after them. end: byte offset of that line.
    """
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    first = number - len(lines)
    present = engine.present(text, 0, len(text))
    raw: dict[int, RawLine] = {}
    ids: dict[int, frozenset[int]] = {}
    offset = end - len(text)
    for n, data in enumerate(lines, first):
        raw[n] = RawLine(offset, n, data)
        offset += len(data) + 1
        if raw[n].offset >= end - anchors.limits.tail_bytes:
            ids[n] = anchors.complete([i for i in present if anchors.literals[i] in data], data)
    count: dict[int, int] = {}
    wanted: set[int] = set()
    for n in sorted(ids, reverse=True):
        for i in ids[n]:
            count[i] = count.get(i, 0) + 1
            if count[i] <= anchors.last[i] and i not in anchors.progress:
                wanted.add(n)
    found = Found()
    waiting = False
    room = anchors.limits.context_bytes
    for n in sorted(ids):
        progress = any(i in anchors.progress for i in ids[n])
        if n in wanted or (waiting and progress):
            found.events.append(Event(n, raw[n].offset, ids[n]))
            found.pool[n] = RawLine(raw[n].offset, n, anchors.cut(raw[n].data))
            if n in wanted and ids[n] & anchors.faults:
                waiting = True
            elif progress:
                waiting = False
        if n in wanted and ids[n] & (anchors.faults | anchors.joins):
            around = [*walk(raw, n - 1, -1, BEFORE_LINES, room), *walk(raw, n + 1, 1, AFTER_LINES, room)]
            found.pool.update((m, raw[m]) for m in around if m not in found.pool)
            found.until = n + AFTER_LINES if ids[n] & anchors.faults else max(found.until, n + 1)
            found.room = room - sum(len(raw[m].data) + 1 for m in around if m > n)
    return found

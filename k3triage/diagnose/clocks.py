"""When: one time base for all inputs of an incident.

Clocks of nodes differ, by minutes or by a zone. What all nodes see at one moment tells by how much: the end of a
communicator's initialisation, the assignment of ranks. Such a line often has no clock of its own; its moment lies
between the clocks before and after it, so each shared event gives an interval for the difference.
"""

from collections.abc import Sequence

from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import ParsedInput
from k3triage.diagnose.timeline import Timeline
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass

_COMPLETE = lazy(r"\bcommId (0x[0-9a-f]+) - Init COMPLETE")
_ASSIGNED = lazy(r"\brank \d+ in world size (\d+) is assigned as ")
_YEAR = 366 * 86400.0
# Seconds that lie between the same event's lines on two nodes, and below which clocks count as equal.
_SLACK = 2.0
_SAME = 3.0
_NEAR = 30.0

Interval = tuple[float, float]


@dataclass(slots=True)
class Offset:
    """How far an input's clock is from the common one: `seconds` are added to it. events: shared with others."""

    input: int
    seconds: float
    events: int


def align(inputs: Sequence[ParsedInput], timelines: Sequence[Timeline], cast: Cast) -> list[Offset]:
    """Bring the timelines of all inputs to one clock; returns what was added to which input."""
    for timeline in timelines:
        _unwrap(timeline)
    _same_year(timelines)
    events = [_events(parsed, timeline) for parsed, timeline in zip(inputs, timelines, strict=True)]
    offsets = _offsets(events)
    for offset in list(offsets.values()):
        for number, other in enumerate(cast.inputs):
            if number not in offsets and other.nodes & cast.inputs[offset.input].nodes:
                offsets[number] = Offset(number, offset.seconds, 0)
    moved = [offset for offset in offsets.values() if offset.seconds]
    for offset in moved:
        _shift(timelines[offset.input], offset.seconds)
    return sorted(moved, key=lambda offset: offset.input)


def _shift(timeline: Timeline, seconds: float) -> None:
    timeline.clocks = [clock if clock is None else clock + seconds for clock in timeline.clocks]
    timeline.added += seconds


def _unwrap(timeline: Timeline) -> None:
    """Clocks without a year start anew at New Year; what follows is a year later."""
    last: float | None = None
    added = 0.0
    for index, clock in enumerate(timeline.clocks):
        if clock is None:
            continue
        if last is not None and clock + added < last - _YEAR / 2:
            added += _YEAR
        last = timeline.clocks[index] = clock + added


def _same_year(timelines: Sequence[Timeline]) -> None:
    """An input that only begins after New Year belongs after one that ends before it."""
    ends = [(next((c for c in reversed(t.clocks) if c is not None), None), t) for t in timelines]
    known = [end for end, _ in ends if end is not None]
    if not known or max(known) - min(known) < _YEAR / 2:
        return
    for end, timeline in ends:
        if end is not None and end < max(known) - _YEAR / 2:
            _shift(timeline, _YEAR)


def _events(parsed: ParsedInput, timeline: Timeline) -> dict[str, Interval]:
    """When each event that all nodes share took place, by the input's own clock; the last one of a name counts."""
    found: dict[str, Interval] = {}
    for index, line in enumerate(parsed.lines):
        message = line.header.message
        if "Init COMPLETE" in message:
            match, kind = _COMPLETE.search(message), "communicator"
        elif "is assigned as" in message:
            match, kind = _ASSIGNED.search(message), "ranks"
        else:
            continue
        interval = _around(timeline, index) if match else None
        if match and interval:
            found[f"{kind} {match[1]}"] = interval
    return found


def _around(timeline: Timeline, index: int) -> Interval | None:
    """The clocks before and after a line."""
    before = timeline.clocks[index]
    if before is None:
        return None
    after = next((c for c in timeline.clocks[index + 1 : index + 200] if c is not None and c > before), None)
    if timeline.own[index]:
        return before, before
    return before, after if after is not None and after - before < _NEAR else before + _NEAR


def _offsets(events: Sequence[dict[str, Interval]]) -> dict[int, Offset]:
    """Offsets to the input that shares the most events, by way of others where need be."""
    shared = [number for number, found in enumerate(events) if found]
    if len(shared) < 2:
        return {}

    def common(a: int, b: int) -> list[str]:
        return sorted(events[a].keys() & events[b].keys())

    reference = max(shared, key=lambda n: (sum(len(common(n, m)) for m in shared if m != n), -n))
    offsets = {reference: Offset(reference, 0.0, len(events[reference]))}
    waiting = [reference]
    while waiting:
        base = waiting.pop(0)
        for number in shared:
            if number in offsets or not (keys := common(base, number)):
                continue
            low = max(events[base][k][0] - events[number][k][1] - _SLACK for k in keys)
            high = min(events[base][k][1] - events[number][k][0] + _SLACK for k in keys)
            if low > high:
                continue  # the events contradict each other: no clock to rely on
            seconds = 0.0 if low <= 0.0 <= high or abs(low + high) / 2 < _SAME else round((low + high) / 2, 1)
            offsets[number] = Offset(number, offsets[base].seconds + seconds, len(keys))
            waiting.append(number)
    return offsets

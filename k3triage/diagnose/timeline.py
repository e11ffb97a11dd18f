"""When and where: attempts, phases and clocks of one input, from its markers."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime

from k3triage.diagnose.attempts import Attempt, Cutter, Speaker, speaker
from k3triage.diagnose.parsed import ParsedInput, process_of
from k3triage.model.enums import Phase
from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field
from k3triage.rules.match import Matches

_ORDER = {
    Phase.UNKNOWN: 0,
    Phase.CONTAINER_START: 1,
    Phase.IMPORT: 2,
    Phase.ENGINE_INIT: 3,
    Phase.WEIGHT_LOAD: 4,
    Phase.MEMORY_PROFILE: 5,
    Phase.GRAPH_CAPTURE: 6,
    Phase.SERVING: 7,
    Phase.SHUTDOWN: 8,
}
_LEAP_YEAR = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class Timeline:
    """Attempts, phases and clocks by index of a line; hints are lines that give a phase away without marking it.

    speakers: containers or pods that started a server of their own, where a file holds several (see `same_server`).
    own: whether a line has a clock of its own; the others carry on that of a line before. added: seconds by which the
    clocks were moved to the time base of the incident.
    """

    attempts: list[Attempt]
    version: tuple[int, ...] | None
    marks: list[tuple[int, Phase]]
    hints: list[tuple[int, Phase]]
    phase_starts: list[tuple[int, Phase, str]]
    clocks: list[float | None]
    own: list[bool] = field(default_factory=list)
    added: float = 0.0
    speakers: frozenset[Speaker] = frozenset()

    def attempt_of(self, index: int) -> int:
        """Number of the attempt that a line belongs to."""
        return max(bisect_right(self.attempts, index, key=lambda attempt: attempt.start) - 1, 0)

    def phase_at(self, index: int) -> Phase:
        """Phase at a line, from the markers before it in its attempt."""
        position = bisect_right(self.marks, index, key=lambda mark: mark[0]) - 1
        return self.marks[position][1] if position >= 0 else Phase.UNKNOWN

    def hint_for(self, index: int) -> Phase | None:
        """Phase that the first telling line after (else the last before) a line of the same attempt gives away."""
        attempt = self.attempts[self.attempt_of(index)]
        first, end, later = (
            bisect_left(self.hints, at, key=lambda hint: hint[0]) for at in (attempt.start, attempt.end, index)
        )
        if first == end:
            return None
        return self.hints[min(later, end - 1)][1]

    def phase_by(self, clock: float | None) -> Phase | None:
        """Last known phase at a time of another input; at the end where clocks do not compare. None where not known."""
        known = [(index, phase) for index, phase in self.marks if phase is not Phase.UNKNOWN]
        if clock is not None:
            known = [(index, phase) for index, phase in known if (at := self.clocks[index]) is None or at <= clock]
        elif len(known) > 1 and known[-1][1] is Phase.SHUTDOWN:
            # What ended it came before it shut down.
            known.pop()
        if known:
            return known[-1][1]
        return self.hints[-1][1] if self.hints and clock is None else None

    def same_server(self, one: Line, other: Line) -> bool:
        """Whether a line can speak of the server of another one: not if both began servers of their own."""
        pair = {speaker(one), speaker(other)}
        return len(pair) == 1 or not pair <= self.speakers

    def clock_at(self, index: int) -> float | None:
        """Clock of a line, or of the last one before it that has one; seconds into a leap year."""
        return self.clocks[index] if index < len(self.clocks) else None


def build_timeline(parsed: ParsedInput, matches: Matches, trouble: set[int]) -> Timeline:
    """Attempts, phases and clocks.

    trouble: indices of lines that show a failure; a start marker after one begins a new attempt.
    """
    clocks, own = line_clocks(parsed.lines)
    cutter = Cutter(parsed.lines, trouble, clocks)
    marks: list[tuple[int, Phase]] = [(0, Phase.UNKNOWN)]
    hints: list[tuple[int, Phase]] = []
    starts: list[tuple[int, Phase, str]] = []
    reached: dict[str, Phase] = {}
    for index in sorted(matches.markers):
        for marker in matches.markers[index]:
            if cutter.take(marker, index, beyond_init=_ORDER[marks[-1][1]] > _ORDER[Phase.ENGINE_INIT]):
                reached = {}
                marks.append((index, Phase.UNKNOWN))
            phase = Phase(marker.phase) if marker.phase else None
            if phase is None:
                continue
            if marker.event == "hint":
                hints.append((index, phase))
                continue
            if _ORDER[phase] > _ORDER[marks[-1][1]]:
                marks.append((index, phase))
            name = process_of(parsed.lines[index]).name or ""
            if reached.get(name) != phase:
                reached[name] = phase
                starts.append((index, phase, name))
    speakers = frozenset(cutter.speakers)
    return Timeline(cutter.close(), cutter.version, marks, hints, starts, clocks, own, speakers=speakers)


def share_readiness(timelines: Sequence[Timeline]) -> None:
    """Let every input know when the service was ready: only the head of several nodes or ranks prints it."""
    ready = [
        clock
        for timeline in timelines
        for index, phase in timeline.marks
        if phase is Phase.SERVING and index >= timeline.attempts[-1].start and (clock := timeline.clocks[index])
    ]
    if not ready:
        return
    for timeline in timelines:
        if any(phase is Phase.SERVING for _, phase in timeline.marks) or len(timeline.marks) < 2:
            continue
        first = timeline.attempts[-1].start
        after = (
            n for n in range(first, len(timeline.clocks)) if (c := timeline.clocks[n]) is not None and c > min(ready)
        )
        if (index := next(after, None)) is not None:
            timeline.marks = [mark for mark in timeline.marks if mark[0] < index] + [(index, Phase.SERVING)]


def leap_clock(time: float) -> float:
    """Seconds since 1970 as seconds into a leap year: comparable with clocks that print no year."""
    moment = datetime.fromtimestamp(time, UTC)
    return (moment.replace(year=2020) - _LEAP_YEAR).total_seconds()


def line_clocks(lines: Sequence[Line]) -> tuple[list[float | None], list[bool]]:
    """A clock a line (the envelope's where there is one, else the header's, carried on), and whether it is its own."""
    wrapped = any(line.record.time is not None for line in lines[:200])
    clocks: list[float | None] = []
    owned: list[bool] = []
    last: float | None = None
    for line in lines:
        own = line.header.clock
        if wrapped and line.record.time is not None:
            own = leap_clock(line.record.time)
        elif wrapped:
            own = None
        if own is not None:
            last = own
        owned.append(own is not None)
        clocks.append(last)
    return clocks, owned

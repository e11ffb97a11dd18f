"""Where one run of a server ends and the next begins, from the markers of an input."""

from bisect import bisect_right
from collections.abc import Sequence

from k3triage.diagnose.restarts import Joiners, late
from k3triage.model.enums import Phase
from k3triage.model.lazy import lazy
from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field
from k3triage.rules.pack import Marker

Speaker = tuple[str | None, str | None]
_VERSION = lazy(r"(?:API server version|LLM engine \(v?|\bversion)\s*v?(\d+\.\d+(?:\.\d+)?)")


@dataclass
class Attempt:
    """One run of the server: indices into the input's lines, the end not included.

    starts: whether a line of it shows a server starting. stop: first line of a stop on request. end_mark: first line of
    the server's own shutting down, on request or not.
    """

    start: int
    end: int = 0
    ready: int | None = None
    starts: bool = False
    stop: int | None = None
    end_mark: int | None = None
    progress: list[int] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether a start line after this can only be of another run."""
        return self.ready is not None or self.stop is not None or self.end_mark is not None


def speaker(line: Line) -> Speaker:
    """Node or pod, and container, as far as the envelope names them."""
    return line.record.process.node, line.record.process.container


class Cutter:
    """Takes the markers of one input in order and cuts it into attempts.

    trouble: indices of lines that show a failure. clocks: of each line.
    speakers: who printed lines with which a server starts. version: of the server that started last.
    """

    def __init__(self, lines: Sequence[Line], trouble: set[int], clocks: Sequence[float | None]) -> None:
        self._lines = lines
        self._trouble = sorted(trouble)
        self._clocks = clocks
        self._joiners: Joiners | None = None
        self._seen: set[str] = set()
        # Whether a server, and not only its container or shell, has begun, and from where on trouble is its own.
        self._served, self._since = False, 0
        self.attempts = [Attempt(0)]
        self.speakers: set[Speaker] = set()
        self.version: tuple[int, ...] | None = None

    def take(self, marker: Marker, index: int, *, beyond_init: bool) -> bool:
        """Take the next marker; returns whether a new attempt begins with it.

        beyond_init: whether the attempt so far was seen in a phase later than engine_init.
        """
        attempt = self.attempts[-1]
        if marker.event == "start":
            return self._start(marker, index, beyond_init)
        if marker.event == "join":
            return self._join(index)
        if marker.event == "ready" and attempt.ready is None:
            attempt.ready = index
        elif marker.event == "stop" and attempt.stop is None:
            attempt.stop = index
        elif marker.event == "end" and attempt.end_mark is None:
            attempt.end_mark = index
        elif marker.event == "progress":
            attempt.progress.append(index)
        return False

    def close(self) -> list[Attempt]:
        """The attempts; the input has ended."""
        self.attempts[-1].end = len(self._lines)
        return self.attempts

    def _start(self, marker: Marker, index: int, beyond_init: bool) -> bool:
        line, attempt = self._lines[index], self.attempts[-1]
        found = _VERSION.search(line.header.message)
        if found:
            self.version = tuple(int(part) for part in found.group(1).split("."))
        again = marker.id in self._seen and beyond_init
        # A supervisor, a banner, a shell and the server announce one start after another: what the shell met before
        # the server began does not make it a new one.
        inner = bool(self._seen) and marker.id not in self._seen and not self._served
        cut = index > attempt.start and (attempt.over or again or (self._failures(index) > 0 and not inner))
        if cut:
            self._cut(index)
        self.attempts[-1].starts = True
        self._seen.add(marker.id)
        self.speakers.add(speaker(line))
        if not self._served:
            self._served, self._since = marker.phase != Phase.CONTAINER_START, index
        return cut

    def _join(self, index: int) -> bool:
        if not self._failures(index):
            return False
        last = self._trouble[bisect_right(self._trouble, index - 1) - 1]
        if not late(self._clocks[last], self._clocks[index]):
            return False
        self._joiners = self._joiners or Joiners(self._lines)
        if not self._joiners.again(index, self._lines[index], self.attempts[-1].start):
            return False
        self._cut(index)
        return True

    def _failures(self, index: int) -> int:
        """Lines before this one that show a failure of the attempt."""
        return bisect_right(self._trouble, index - 1) - bisect_right(self._trouble, self._since - 1)

    def _cut(self, index: int) -> None:
        self.attempts[-1].end = index
        self.attempts.append(Attempt(index))
        self._seen, self._served, self._since = set(), False, index

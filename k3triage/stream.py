"""A live stream, scanned piece by piece, whose state can be read at any time."""

from k3triage.pipeline import HEAD, Scan
from k3triage.rules import Pack
from k3triage.scan import EngineName, Partial, Scanner

_PIECE = 1 << 20
_LONGEST = 32 << 20


class Stream:
    """What was fed so far, as a scan.

    Whole lines are scanned a mebibyte at a time and merged; the rest waits. Of a line that never ends the middle is
    dropped, so memory stays bounded.
    """

    def __init__(self, name: str, pack: Pack, *, engine: EngineName = "auto") -> None:
        self._name = name
        self._pack = pack
        self._engine = engine
        self._head = bytearray()
        self._done = Partial()
        self._waiting = bytearray()
        self._lost = 0
        self._cut = 0  # behind the last whole line of what waits

    def feed(self, chunk: bytes) -> None:
        """Add bytes, cut anywhere."""
        if len(self._head) < HEAD:
            self._head += chunk[: HEAD - len(self._head)]
        self._waiting += chunk
        # Only what is new is searched: a line that grows by small pieces must not be read again for each of them.
        newest = chunk.rfind(b"\n")
        if newest >= 0:
            self._cut = len(self._waiting) - len(chunk) + newest + 1
        if len(self._waiting) < _PIECE:
            return
        cut = self._cut
        if cut:
            self._cut = 0
            self._done = self._done.merge(self._scan(bytes(self._waiting[:cut])))
            del self._waiting[:cut]
            self._lost = 0
        elif len(self._waiting) > _LONGEST:
            self._lost += _LONGEST // 2
            del self._waiting[_LONGEST // 4 : _LONGEST // 4 + _LONGEST // 2]

    def scan(self) -> Scan:
        """Everything fed so far."""
        partial = self._done
        if self._waiting:
            partial = partial.merge(self._scan(bytes(self._waiting)))
        return Scan(self._name, bytes(self._head), partial)

    def _scan(self, data: bytes) -> Partial:
        scanner = Scanner(self._pack.anchors, engine=self._engine, jobs=1)
        scanner.feed(data)
        partial = scanner.close()
        partial.bytes += self._lost
        return partial

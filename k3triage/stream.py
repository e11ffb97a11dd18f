"""A live stream, scanned piece by piece, whose state can be read at any time."""

from functools import reduce

from k3triage.evidence import LIMIT as EVIDENCE_LIMIT
from k3triage.evidence import may_hold_evidence
from k3triage.ingest.whole import DOCUMENT_LIMIT, may_be_document
from k3triage.pipeline import HEAD, TAIL, Scan, read_document, whole_lines
from k3triage.rules import Pack
from k3triage.scan import EngineName, Partial, Scanner

_PIECE = 4 << 20
_LONGEST = 32 << 20
_BOM = b"\xef\xbb\xbf"


class Stream:
    """What was fed so far, as a scan.

    Whole lines are scanned a few mebibytes at a time; the rest waits. Of a line that never ends the middle is dropped,
    so memory stays bounded. size: bytes fed, without a byte order mark.
    """

    def __init__(self, name: str, pack: Pack, *, engine: EngineName = "auto") -> None:
        self.size = 0
        self._name = name
        self._pack = pack
        self._engine = engine
        self._start: bytes | None = b""  # what may become a byte order mark; None once that is settled
        self._head = bytearray()
        self._first: bytearray | None = bytearray()  # output of commands, which may be longer than the head
        self._whole = True  # all of it waits: it may be one JSON document
        self._tail = b""
        self._done: list[Partial] = []
        self._waiting = bytearray()
        self._lost = 0
        self._cut = 0  # behind the last whole line of what waits
        self._alarm = False

    def feed(self, chunk: bytes) -> None:
        """Add bytes, cut anywhere."""
        if self._start is not None:
            chunk = self._start + chunk
            self._start = chunk if len(chunk) < len(_BOM) and _BOM.startswith(chunk) else None
            if self._start is not None:
                return
            chunk = chunk.removeprefix(_BOM)
        self.size += len(chunk)
        self._tail = chunk[-TAIL:] if len(chunk) >= TAIL else (self._tail + chunk)[-TAIL:]
        self._waiting += chunk
        # Only what is new is searched: a line that grows by small pieces must not be read again for each of them.
        newest = chunk.rfind(b"\n")
        if newest >= 0:
            self._cut = len(self._waiting) - len(chunk) + newest + 1
        self._begin(chunk)
        if len(self._waiting) < _PIECE or self._whole:
            return
        if self._cut:
            self._take()
        elif len(self._waiting) > _LONGEST:
            self._lost += _LONGEST // 2
            del self._waiting[_LONGEST // 4 : _LONGEST // 4 + _LONGEST // 2]

    def _begin(self, chunk: bytes) -> None:
        """Keep what is wanted of the beginning."""
        if self._first is not None and len(self._first) < EVIDENCE_LIMIT:
            self._first += chunk[: EVIDENCE_LIMIT - len(self._first)]
        if len(self._head) < HEAD:
            self._head += chunk[: HEAD - len(self._head)]
            if len(self._head) == HEAD:
                head = bytes(self._head)
                self._whole = may_be_document(head)
                self._first = self._first if may_hold_evidence(head) else None
        if self._whole and self.size > DOCUMENT_LIMIT:
            self._whole = False

    def alarmed(self) -> bool:
        """Whether a line that may tell of a fault has come since this was last asked; True for a short input."""
        if self._whole:
            return True
        self._take()
        alarm, self._alarm = self._alarm, False
        return alarm

    def _take(self) -> None:
        """Scan the whole lines that wait.

        Parts are merged when they cost about the same, so that a few new lines do not make those of days be gone
        through again, and all parts together keep at most twice what one may.
        """
        if not self._cut:
            return
        partial = self._scan(bytes(self._waiting[: self._cut]))
        del self._waiting[: self._cut]
        self._cut = self._lost = 0
        self._alarm = self._alarm or partial.has_fault()
        while self._done and _cost(self._done[-1]) <= 2 * _cost(partial):
            partial = self._done.pop().merge(partial)
        self._done.append(partial)

    def scan(self) -> Scan:
        """Everything fed so far."""
        waiting = bytes(self._waiting) + (self._start or b"")
        head = bytes(self._head) or waiting
        tail = self._tail if self.size < TAIL else whole_lines(self._tail)
        evidence = bytes(self._first) if self._first is not None and self.size > HEAD else b""
        if self._whole and may_be_document(head):
            records = read_document(self._name, head, waiting)
            if records is not None:
                partial = Partial(bytes=len(waiting), newlines=waiting.count(b"\n"))
                return Scan(self._name, head, partial, records, None, tail, evidence)
        if not self._whole:
            self._take()
            waiting = bytes(self._waiting)
        parts = [*self._done, self._scan(waiting)]
        # From the end on, where the parts are small.
        partial = reduce(lambda later, earlier: earlier.merge(later), reversed(parts))
        return Scan(self._name, head, partial, None, None, tail, evidence)

    def _scan(self, data: bytes) -> Partial:
        scanner = Scanner(self._pack.anchors, engine=self._engine, jobs=1, cover=self._pack.cover)
        scanner.feed(data)
        partial = scanner.close()
        partial.bytes += self._lost
        return partial


def _cost(partial: Partial) -> int:
    return 1 + sum(len(line.data) for line in partial.lines)

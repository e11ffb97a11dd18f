"""Joins ingest, scan and grammar: from a source to the lines and tracebacks that the diagnosis reads."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

from k3triage.diagnose import ParsedInput
from k3triage.evidence import LIMIT as EVIDENCE_LIMIT
from k3triage.evidence import may_hold_evidence, read_evidence
from k3triage.grammar import Tracebacks, to_line
from k3triage.grammar.strangers import without_texts
from k3triage.ingest import Source, Unwrapper, explode
from k3triage.ingest.whole import DOCUMENT_LIMIT, LINE_LIMIT, may_be_document, up_to
from k3triage.model.records import Line, RawLine, Record, TracebackBlock
from k3triage.model.shapes import dataclass, replace
from k3triage.rules import Pack
from k3triage.scan import EngineName, Limits, Partial, Scanner

HEAD = 64 << 10
# JSON about something else than log entries is kept whole up to this size.
STATE_LIMIT = 256 << 10
# What is read of an input's end to tell when it ended.
TAIL = 4 << 10
# So many inputs have the full budget each.
_FEW = 4
# Fewer lines do not show an order.
_ORDER_LEAST = 4


@dataclass
class Scan:
    """One input, scanned: its head (for telling envelopes apart) and the lines worth reading.

    records: set instead of the lines where the input was a JSON document: a log export in time order, or the lines of a
    small one about something else, such as `docker inspect` prints. tail: the last bytes, from the start of a line.
    evidence: the start of an input that may hold output of commands, where that is more than the head.
    start, stop: the bytes of a slice; stop is None for an input that was read as a whole. total: bytes of its file.
    """

    name: str
    head: bytes
    partial: Partial
    records: list[Record] | None = None
    error: str | None = None
    tail: bytes = b""
    evidence: bytes = b""
    start: int = 0
    stop: int | None = None
    total: int | None = None

    def merge(self, other: "Scan") -> "Scan":
        """This slice of an input and the one that follows it."""
        return replace(
            self,
            partial=self.partial.merge(other.partial) if other.partial.bytes else self.partial,
            error=self.error or other.error,
            tail=other.tail or self.tail,
            stop=other.stop,
            total=other.total,
        )


def limits_for(inputs: int) -> Limits:
    """What one of so many inputs of an incident may cost: together they stay within a few inputs' bounds."""
    whole = Limits()
    if inputs <= _FEW:
        return whole
    kept = max(1 << 20, whole.kept_bytes * _FEW // inputs)
    return replace(
        whole,
        first=max(100, whole.first * _FEW // inputs),
        last=max(10, whole.last * _FEW // inputs),
        marker_first=max(100, whole.marker_first * _FEW // inputs),
        stat_first=max(50, whole.stat_first * _FEW // inputs),
        attempt_lines=max(800, whole.attempt_lines * _FEW // inputs),
        tight=max(10, whole.tight * _FEW // inputs),
        kept_bytes=kept,
        head_bytes=kept // 4,
    )


def read(
    source: Source,
    pack: Pack,
    *,
    engine: EngineName = "auto",
    jobs: int | None = None,
    limits: Limits | None = None,
) -> Scan:
    """One input, read to its end; what could not be read is said in `error`. limits: see `limits_for`."""
    scanner = Scanner(pack.anchors, engine=engine, jobs=jobs, limits=limits, cover=pack.cover)
    head = source.head
    records: list[Record] | None = None
    if may_be_document(head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        blocks = source.blocks()
        data = up_to(blocks, DOCUMENT_LIMIT)
        size = len(data)
        tail = whole_lines(data)
        records = read_document(source.name, head, data)
        if records is not None:
            partial = Partial(bytes=size, newlines=data.count(b"\n"))
        else:
            for block in chain((data,), blocks):
                scanner.feed(block)
            partial = scanner.close()
    else:
        watched = _Watched(source, keep=len(head) == HEAD and may_hold_evidence(head))
        partial = scanner.scan(watched)
        tail, data = watched.tail(), watched.start()
    evidence = data[:EVIDENCE_LIMIT] if len(data) > len(head) else b""
    return Scan(source.name, head, partial, records, source.error, tail, evidence)


def read_document(name: str, head: bytes, data: bytes) -> list[Record] | None:
    """The records of an input that `may_be_document`, all of it in `data`; None where it is read line by line."""
    records = explode(name, data) if len(data) <= DOCUMENT_LIMIT else None
    if records is None and len(data) <= STATE_LIMIT:
        records = list(_unwrapped(Unwrapper(name, head), _lines([data])))
    return records


class _Watched:
    """A source whose last bytes, and on demand also the first ones, are remembered while it is scanned."""

    def __init__(self, source: Source, *, keep: bool) -> None:
        self._source = source
        self._last = b""
        self._wanted = EVIDENCE_LIMIT if keep and (source.size_hint or 0) <= EVIDENCE_LIMIT else 0
        self._first: list[bytes] = []

    @property
    def path(self) -> Path | None:
        """See `Source`."""
        return self._source.path

    def blocks(self) -> Iterator[bytes]:
        """See `Source`."""
        for block in self._source.blocks():
            self._last = (self._last + block)[-TAIL:] if len(block) < TAIL else block[-TAIL:]
            if self._wanted > 0:
                self._first.append(block)
                self._wanted -= len(block)
            yield block

    def start(self) -> bytes:
        """The first bytes, where they were to be kept."""
        path = self.path
        if self._wanted > 0 and not self._first and path is not None:
            with contextlib.suppress(OSError), path.open("rb") as file:
                return file.read(EVIDENCE_LIMIT)
        return b"".join(self._first)

    def tail(self) -> bytes:
        """Whole lines at the end."""
        path = self.path
        if not self._last and path is not None:
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - TAIL))
                self._last = file.read(TAIL)
        return whole_lines(self._last)


def whole_lines(data: bytes) -> bytes:
    """The end of an input, at most `TAIL` bytes, from the start of a line."""
    last = data[-TAIL:]
    return last if len(last) == len(data) < TAIL else last.partition(b"\n")[2]


def parse(scan: Scan) -> ParsedInput:
    """A scanned input, unwrapped and read by the grammars."""
    if scan.records is not None:
        parsed = parse_records(scan.name, scan.records)
        parsed.envelope = next((r.envelopes[0] for r in scan.records if r.envelopes), "json-document")
    else:
        parsed = parse_lines(scan.name, scan.head, scan.partial.lines)
    parsed.size, parsed.newlines, parsed.error = scan.partial.bytes, scan.partial.newlines, scan.error
    parsed.skipped = sum(scan.partial.dropped.values())
    if scan.tail and scan.records is None:
        parsed.tail = [to_line(record) for record in _unwrapped(Unwrapper(scan.name, scan.head), _lines([scan.tail]))]
    if may_hold_evidence(scan.head):
        parsed.evidence = read_evidence(scan.name, (scan.evidence or scan.head).decode("utf-8", "replace"))
    return parsed


def parse_lines(name: str, head: bytes, lines: Iterable[RawLine]) -> ParsedInput:
    """Physical lines, unwrapped and read by the grammars."""
    unwrapper = Unwrapper(name, head)
    records = list(_unwrapped(unwrapper, lines))
    if is_newest_first(records):
        records.reverse()
    parsed = parse_records(name, records)
    parsed.envelope = unwrapper.envelope
    return parsed


def is_newest_first(records: Sequence[Record]) -> bool:
    """Whether an export was written backwards: every record has a time and the times only ever fall."""
    times = [record.time for record in records]
    if len(times) < _ORDER_LEAST or None in times:
        return False
    steps = [later - earlier for earlier, later in pairwise(time for time in times if time is not None)]
    return min(steps) < 0 and max(steps) <= 0


def _unwrapped(unwrapper: Unwrapper, lines: Iterable[RawLine]) -> Iterator[Record]:
    for line in lines:
        yield from unwrapper.feed(line)
    yield from unwrapper.close()


def parse_records(name: str, records: Iterable[Record]) -> ParsedInput:
    """Records read by the grammars."""
    tracebacks = Tracebacks()
    lines = without_texts([to_line(record) for record in records])
    blocks: list[TracebackBlock] = []
    for line in lines:
        blocks.extend(tracebacks.feed(line))
    blocks.extend(tracebacks.close())
    return ParsedInput(name, lines, blocks)


def every_line(source: Source) -> Iterator[Line | TracebackBlock]:
    """All lines of a source, and its tracebacks after their last line."""
    records: Iterable[Record] | None = None
    head, blocks = source.head, source.blocks()
    if may_be_document(head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        data = up_to(blocks, DOCUMENT_LIMIT)
        records = explode(source.name, data) if len(data) <= DOCUMENT_LIMIT else None
        blocks = chain((data,), blocks)
    if records is None:
        records = _unwrapped(Unwrapper(source.name, head), _lines(blocks))
    tracebacks = Tracebacks()
    for record in records:
        line = to_line(record)
        yield line
        yield from tracebacks.feed(line)
    yield from tracebacks.close()


def _lines(blocks: Iterable[bytes]) -> Iterator[RawLine]:
    """All lines; of one that is longer than `LINE_LIMIT` only its beginning, so that memory stays bounded."""
    offset, number = 0, 1
    rest = bytearray()
    length = 0
    for block in blocks:
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            room = LINE_LIMIT - len(rest)
            yield RawLine(offset, number, bytes(rest) + block[start : min(end, start + room)])
            offset += length + end - start + 1
            number += 1
            length, start = 0, end + 1
            rest.clear()
        length += len(block) - start
        rest += block[start : start + LINE_LIMIT - len(rest)]
    if length:
        yield RawLine(offset, number, bytes(rest))

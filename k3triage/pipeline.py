"""Joins ingest, scan and grammar: from a source to the lines and tracebacks that the diagnosis reads."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO

from k3triage.diagnose import ParsedInput
from k3triage.grammar import Tracebacks, to_line
from k3triage.ingest import Source, Unwrapper, explode
from k3triage.model.records import Line, RawLine, Record, TracebackBlock
from k3triage.rules import Pack
from k3triage.scan import EngineName, Partial, Scanner

# A pretty-printed JSON export has to be read as a whole; larger ones are read as plain lines.
DOCUMENT_LIMIT = 64 << 20
HEAD = 64 << 10


@dataclass
class Scan:
    """One input, scanned: its head (for telling envelopes apart) and the lines worth reading.

    records: set instead of the lines where the input was a JSON document, in time order.
    """

    name: str
    head: bytes
    partial: Partial
    records: list[Record] | None = None
    error: str | None = None

    def merge(self, other: "Scan") -> "Scan":
        """This slice of an input and the one that follows it."""
        return replace(self, partial=self.partial.merge(other.partial), error=self.error or other.error)


def read(source: Source, pack: Pack, *, engine: EngineName = "auto", jobs: int | None = None) -> Scan:
    """One input, read to its end; what could not be read is said in `error`."""
    scanner = Scanner(pack.anchors, engine=engine, jobs=jobs)
    head = source.head
    records: list[Record] | None = None
    if may_be_document(head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        kept: list[bytes] = []
        size = 0
        blocks = source.blocks()
        for block in blocks:
            kept.append(block)
            size += len(block)
            if size > DOCUMENT_LIMIT:
                break
        data = b"".join(kept)
        records = explode(source.name, data) if size <= DOCUMENT_LIMIT else None
        if records is not None:
            partial = Partial(bytes=size, newlines=data.count(b"\n"))
        else:
            for block in chain((data,), blocks):
                scanner.feed(block)
            partial = scanner.close()
    else:
        partial = scanner.scan(source)
    return Scan(source.name, head, partial, records, source.error)


def read_slice(path: Path, start: int, stop: int, pack: Pack) -> Scan:
    """The lines of a plain file that begin in bytes start to stop; OSError where it cannot be read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(HEAD)
        first, last = _line_start(file, start, size), _line_start(file, stop, size)
    return Scan(str(path), head, Scanner(pack.anchors).scan_slice(path, first, last))


def _line_start(file: IO[bytes], at: int, size: int) -> int:
    if at <= 0 or at >= size:
        return max(0, min(at, size))
    file.seek(at - 1)
    while block := file.read(1 << 20):
        cut = block.find(b"\n")
        if cut >= 0:
            return file.tell() - len(block) + cut + 1
    return size


def may_be_document(head: bytes) -> bool:
    """Whether an input may be one JSON document, not a JSON object a line."""
    text = head.lstrip()
    if text[:1] not in (b"{", b"["):
        return False
    first, _, rest = text.partition(b"\n")
    return not first.rstrip().endswith(b"}") or not rest.strip() or first.startswith(b"[")


def parse(scan: Scan) -> ParsedInput:
    """A scanned input, unwrapped and read by the grammars."""
    if scan.records is not None:
        parsed = parse_records(scan.name, scan.records)
        parsed.envelope = next((r.envelopes[0] for r in scan.records if r.envelopes), "json-document")
    else:
        parsed = parse_lines(scan.name, scan.head, scan.partial.lines)
    parsed.size, parsed.newlines, parsed.error = scan.partial.bytes, scan.partial.newlines, scan.error
    parsed.skipped = sum(scan.partial.dropped.values())
    return parsed


def parse_lines(name: str, head: bytes, lines: Iterable[RawLine]) -> ParsedInput:
    """Physical lines, unwrapped and read by the grammars."""
    unwrapper = Unwrapper(name, head)
    parsed = parse_records(name, _unwrapped(unwrapper, lines))
    parsed.envelope = unwrapper.envelope
    return parsed


def _unwrapped(unwrapper: Unwrapper, lines: Iterable[RawLine]) -> Iterator[Record]:
    for line in lines:
        yield from unwrapper.feed(line)
    yield from unwrapper.close()


def parse_records(name: str, records: Iterable[Record]) -> ParsedInput:
    """Records read by the grammars."""
    tracebacks = Tracebacks()
    lines: list[Line] = []
    blocks: list[TracebackBlock] = []
    for record in records:
        line = to_line(record)
        lines.append(line)
        blocks.extend(tracebacks.feed(line))
    blocks.extend(tracebacks.close())
    return ParsedInput(name, lines, blocks)


def every_line(source: Source) -> Iterator[Line | TracebackBlock]:
    """All lines of a source, and its tracebacks after their last line."""
    if may_be_document(source.head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        data = b"".join(source.blocks())
        records: Iterable[Record] | None = explode(source.name, data)
        if records is None:
            records = _unwrapped(Unwrapper(source.name, data[:HEAD]), _lines([data]))
    else:
        records = _unwrapped(Unwrapper(source.name, source.head), _lines(source.blocks()))
    tracebacks = Tracebacks()
    for record in records:
        line = to_line(record)
        yield line
        yield from tracebacks.feed(line)
    yield from tracebacks.close()


def _lines(blocks: Iterable[bytes]) -> Iterator[RawLine]:
    offset, number, rest = 0, 0, b""
    for block in blocks:
        parts = (rest + block).split(b"\n")
        rest = parts.pop()
        for data in parts:
            number += 1
            yield RawLine(offset, number, data)
            offset += len(data) + 1
    if rest:
        yield RawLine(offset, number + 1, rest)

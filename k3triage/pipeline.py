"""Joins ingest, scan and grammar: from a source to the lines and tracebacks that the diagnosis reads."""

from collections.abc import Iterable

from k3triage.diagnose import ParsedInput
from k3triage.grammar import Tracebacks, to_line
from k3triage.ingest import Source, Unwrapper, explode
from k3triage.model.records import Line, RawLine, Record, TracebackBlock
from k3triage.rules import Pack
from k3triage.scan import Scanner

# A pretty-printed JSON export has to be read as a whole; larger ones are read as plain lines.
DOCUMENT_LIMIT = 64 << 20


def read_source(source: Source, pack: Pack, *, engine: str = "auto", jobs: int | None = None) -> ParsedInput:
    """One input, read to its end; what could not be read is said in `error`."""
    if looks_like_document(source.head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        data = b"".join(source.blocks())
        records = explode(source.name, data)
        if records is not None:
            parsed = parse_records(source.name, records)
            parsed.size, parsed.newlines, parsed.envelope = len(data), data.count(b"\n"), _outer(records)
        else:
            scanner = Scanner(pack.anchors, engine=engine, jobs=jobs)
            scanner.feed(data)
            parsed = parse_lines(source.name, source.head, scanner.close().lines)
            parsed.size, parsed.newlines = len(data), data.count(b"\n")
    else:
        partial = Scanner(pack.anchors, engine=engine, jobs=jobs).scan(source)
        parsed = parse_lines(source.name, source.head, partial.lines)
        parsed.size, parsed.newlines = partial.bytes, partial.newlines
    parsed.error = source.error
    return parsed


def looks_like_document(head: bytes) -> bool:
    """Whether an input may be one JSON document over several lines, not a JSON object a line."""
    start = head.lstrip()[:1]
    if start not in (b"{", b"["):
        return False
    first = head.lstrip().split(b"\n", 1)[0].strip()
    return first in (b"{", b"[") or not first.endswith(b"}") or first.startswith(b"[") or b"\n" not in head.strip()


def parse_lines(name: str, head: bytes, lines: Iterable[RawLine]) -> ParsedInput:
    """Physical lines, unwrapped and read by the grammars."""
    unwrapper = Unwrapper(name, head)
    records: list[Record] = []
    for line in lines:
        records.extend(unwrapper.feed(line))
    records.extend(unwrapper.close())
    parsed = parse_records(name, records)
    parsed.envelope = unwrapper.envelope
    return parsed


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


def _outer(records: list[Record]) -> str:
    return next((record.envelopes[0] for record in records if record.envelopes), "json-document")

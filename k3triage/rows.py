"""Events as lines of JSON: every line of an input, without a model for any of them."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from k3triage.grammar import Tracebacks, to_line
from k3triage.grammar.events import event_row, traceback_row
from k3triage.ingest import Source, Unwrapper, explode
from k3triage.ingest.inputs import Readable, openers
from k3triage.ingest.whole import DOCUMENT_LIMIT, LINE_LIMIT, may_be_document, up_to
from k3triage.lane import Lane
from k3triage.model.records import Line, RawLine, Record, TracebackBlock
from k3triage.report.clean import escape_json

# So much is read, written out and handed on at once that all of it stays in the processor's cache.
_PIECE = 256 << 10


def event_lines(*inputs: Readable, unread: Callable[[str, str], object] | None = None) -> Iterator[bytes]:
    """See `k3triage.api.event_lines`."""
    for open_ in openers(inputs):
        source = open_()
        yield from rows(source)
        if source.error is not None and unread is not None:
            unread(source.name, source.error)


def rows(source: Source) -> Iterator[bytes]:
    """JSON lines of all events of a source, many at a time; a traceback stands after its last line."""
    head, blocks = source.head, source.blocks()
    if may_be_document(head) and (source.size_hint is None or source.size_hint <= DOCUMENT_LIMIT):
        data = up_to(blocks, DOCUMENT_LIMIT)
        records = explode(source.name, data) if len(data) <= DOCUMENT_LIMIT else None
        if records is not None:
            writer = _Writer(source.name, head)
            for record in records:
                writer.write(record)
                yield writer.taken()
            yield writer.close()
            return
        blocks = chain((data,), blocks)
    writer = _Writer(source.name, head)
    for offset, lines in _whole_lines(_pieces(blocks)):
        writer.lines(lines, offset)
        yield writer.taken()
    yield writer.close()


def dump_row(row: dict[str, Any]) -> bytes:
    """A row as JSON in UTF-8, as `escape_json` leaves it: invisible characters escaped, no lone surrogates."""
    try:
        data = orjson.dumps(row)
    except TypeError:  # a number or a character that orjson has no form for
        text = json.dumps(_finite(row), ensure_ascii=False, separators=(",", ":"))
        return escape_json(text).encode()
    if data.isascii() and b"\x7f" not in data:
        return data
    return escape_json(data.decode()).encode()


def _finite(value: Any) -> Any:
    """JSON has no infinity: it becomes null, as in the models' JSON."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


class _Writer:
    """Takes the lines of one source and gives JSON."""

    def __init__(self, name: str, head: bytes) -> None:
        self._unwrapper = Unwrapper(name, head)
        self._tracebacks = Tracebacks()
        self._out: list[bytes] = []
        self._number = 1
        self._lane: Lane | None = None
        if self._unwrapper.bare:
            self._lane = Lane(name, head, dump_row, self._tracebacks, self._slow, self._tell)

    def lines(self, data: bytes, offset: int) -> None:
        """The next whole lines, of which the first begins at `offset`."""
        if self._lane is not None and self._lane.pays:
            done, count = self._lane.run(data, offset, self._number)
            self._out.append(done)
            self._number += count
            return
        for line in data.removesuffix(b"\n").split(b"\n"):
            self._feed(RawLine(offset, self._number, line))
            offset += len(line) + 1
            self._number += 1

    def _slow(self, line: RawLine) -> tuple[bytes, bool]:
        """The JSON of a line that the lane left, and whether the next line may belong to it."""
        if self._lane is not None and self._lane.took_docker:
            self._unwrapper.passed_over()
            self._lane.took_docker = False
        kept, self._out = self._out, []
        self._feed(line)
        kept, self._out = self._out, kept
        return b"".join(kept), self._unwrapper.waiting

    def _tell(self, line: Line) -> bytes:
        """The JSON of the tracebacks that a line of the lane shows to be complete."""
        blocks = self._tracebacks.feed(line)
        return b"".join([dump_row(traceback_row(block)) + b"\n" for block in blocks]) if blocks else b""

    def _feed(self, line: RawLine) -> None:
        for record in self._unwrapper.feed(line):
            self.write(record)

    def write(self, record: Record) -> None:
        """The event of a record, and the tracebacks that it shows to be complete."""
        line = to_line(record)
        self._out.append(dump_row(event_row(line)) + b"\n")
        blocks = self._tracebacks.feed(line)
        if blocks:
            self._blocks(blocks)

    def _blocks(self, blocks: Iterable[TracebackBlock]) -> None:
        self._out += [dump_row(traceback_row(block)) + b"\n" for block in blocks]

    def taken(self) -> bytes:
        """What was written since the last call."""
        out, self._out = self._out, []
        return b"".join(out)

    def close(self) -> bytes:
        """The end of the source."""
        for record in self._unwrapper.close():
            self.write(record)
        self._blocks(self._tracebacks.close())
        return self.taken()


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        for at in range(0, len(block), _PIECE):
            yield block[at : at + _PIECE]


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Offset of the first line, and whole lines; of one longer than `LINE_LIMIT` only its beginning."""
    offset = 0
    rest = bytearray()
    lost = 0
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if not cut:
            room = LINE_LIMIT - len(rest)
            rest += block[: max(0, room)]
            lost += max(0, len(block) - max(0, room))
            continue
        if lost:
            end = block.find(b"\n") + 1
            yield offset, bytes(rest) + b"\n"
            offset += len(rest) + lost + end
            block, cut = block[end:], cut - end
            rest.clear()
            lost = 0
        if cut:
            lines = bytes(rest) + block[:cut] if rest else block[:cut]
            yield offset, lines
            offset += len(lines)
            rest.clear()
        rest += block[cut:]
    if rest or lost:
        yield offset, bytes(rest)

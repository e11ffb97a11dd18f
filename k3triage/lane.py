"""The fast lane of `events`: the lines of a healthy server, of which there are most.

A line of a logger is its header, which many lines share, and a message. What the grammars say about a header is asked
once, with a message that means nothing, and kept as the JSON around the message. A line takes the lane only where
nothing in its message can matter to the stages it skips: no envelope, no second record, no traceback, no sentence that
makes it an event of another type. Everything else is left to the caller, and a test holds both ways against each other.
"""

import re
from collections.abc import Callable, Collection
from typing import Any

import orjson

from k3triage.grammar import to_line
from k3triage.grammar.events import event_row, stats_row
from k3triage.grammar.sentences import access, engine_stats
from k3triage.ingest import Unwrapper
from k3triage.model.anchors import Anchor
from k3triage.model.records import Process, RawLine
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engines

# A message that holds one of these is not for the lane.
_SPECIAL = (
    "|",
    "\\",
    "[repeated ",
    "Traceback",
    'File "',
    "out of memory",
    "NCCL error in",
    "CUDA error: ",
    "with config: ",
    "args: ",
    "Prefix cache hit rate: GPU",
    "it/s]",
    "s/it]",
    "]8;",
    "^[",
    "#033",
)
_COLOUR = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3})*)?m")
_SECOND_HEADER = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d ")
_LEVELS = frozenset(("DEBUG", "INFO", "WARNING"))
_KINDS = frozenset(("vllm", "nccl", "uvicorn"))
_HEADER_WITHIN = 240
_LONGEST = 16_000
_MOST = 20_000
_ENOUGH = 5_000
_PROBE = "k3x"
_NCCL = "NCCL INFO "

Slow = Callable[[RawLine], tuple[bytes, bool]]


class _Head:
    """The JSON between byte offset and message, and behind the message, of all lines with one header."""

    __slots__ = ("after", "before", "kind", "speaker")

    def __init__(self, kind: str, before: str, after: str, speaker: tuple[str, Process]) -> None:
        self.kind, self.before, self.after, self.speaker = kind, before, after, speaker


class Lane:
    """The lane of one source that has no envelope.

    head: the first bytes of the source. dump: makes the JSON of a row. speakers: who has a traceback open, now.
    pays: False once most lines do not take it.
    """

    def __init__(
        self,
        name: str,
        head: bytes,
        dump: Callable[[dict[str, Any]], bytes],
        speakers: Collection[tuple[str, Process]],
    ) -> None:
        self._speakers = speakers
        self.pays = True
        self._probe = Unwrapper(name, head)
        self._dump = dump
        self._start = '{"source":' + dump({"source": name}).decode()[len('{"source":') : -1] + ',"line":'
        self._heads: dict[str, _Head | None] = {}
        self._requests: dict[str, tuple[str, str] | None] = {}
        self._missed = self._taken = 0
        self._busy = False
        self._engines = Engines(AnchorSet([Anchor(word.encode(), "fault") for word in _SPECIAL]), "auto")

    def run(self, data: bytes, offset: int, number: int, slow: Slow) -> bytes:
        """The JSON of whole lines, of which the first is line `number` and begins at `offset`.

        slow: called with every line that does not take the lane; gives its JSON and whether the next line must follow.
        """
        out: list[str] = []
        add = out.append
        heads, start, speakers = self._heads, self._start, self._speakers
        self._engines.expect(offset + len(data))
        present = [_SPECIAL[i] for i in self._engines.get().present(data, 0, len(data))]
        busy = self._busy
        missed = 0
        # One character a byte, so that lengths are those of the bytes; only ASCII lines take the lane.
        lines = data.decode("latin-1").split("\n")
        if lines[-1] == "":
            lines.pop()
        for text in lines:
            row = None
            if not busy and text.isascii() and text.isprintable():
                end = text.find("] ", 0, _HEADER_WITHIN) + 2
                if end == 1:
                    end = text.find(":     ", 0, _HEADER_WITHIN) + 6
                key = text[:end]
                try:
                    head = heads[key]
                except KeyError:
                    head = self._learn(key)
                if head is None and text.startswith(_NCCL, end):
                    end += len(_NCCL)
                    key = text[:end]
                    try:
                        head = heads[key]
                    except KeyError:
                        head = self._learn(key)
                if head is not None and not (speakers and head.speaker in speakers):
                    message = text[end:]
                    if not present or not any(word in message for word in present):
                        row = self._message(head, message)
            if row is None:
                missed += 1
                done, busy = slow(RawLine(offset, number, text.encode("latin-1")))
                # The same one character a byte, until the end.
                add(done.decode("latin-1"))
            else:
                add(f'{start}{number},"byte_offset":{offset}{row}')
            offset += len(text) + 1
            number += 1
        self._busy = busy
        self._missed += missed
        self._taken += len(lines) - missed
        if self._missed + self._taken > _ENOUGH:
            self.pays = busy or self._taken > self._missed
            self._missed //= 2
            self._taken //= 2
        return "".join(out).encode("latin-1")

    def _message(self, head: _Head, message: str) -> str | None:
        """The rest of the row from the time on; None where the message is not for the lane."""
        if (
            not message
            or message[0] == " "
            or len(message) > _LONGEST
            or " pid=" in message
            or ("[" in message and _COLOUR.search(message) is not None)
            or (message.count(":") > 1 and _SECOND_HEADER.search(message) is not None)
        ):
            return None
        if head.kind == "uvicorn":
            if " HTTP/" in message:
                return self._request(head, message)
            # Short headers: a place that some envelopes have within the first columns.
            if "[" in message:
                return None
        elif head.kind == "vllm":
            if "throughput: " in message:
                found = engine_stats(message)
                if found is None:
                    return None
                fields = orjson.dumps(stats_row(found)).decode()
                return f'{head.before}"{message}",{fields[1:]}\n' if '"' not in message else None
        elif message[2:3] == "-" or " NCCL " in message:
            return None
        if '"' in message:
            message = message.replace('"', '\\"')
        return f'{head.before}"{message}"{head.after}'

    def _request(self, head: _Head, message: str) -> str | None:
        client, _, request = message.partition(' - "')
        try:
            found = self._requests[request]
        except KeyError:
            found = self._learn_request(request)
        if found is None or '"' in client or " " in client or not client:
            return None
        escaped, after = found
        return f'{head.before}"{client} - \\"{escaped}","kind":"access","client":"{client}",{after}'

    def _learn(self, key: str) -> _Head | None:
        """What the grammars say about a header."""
        if len(self._heads) >= _MOST:
            self._heads.clear()
        self._heads[key] = head = self._asked(key) if key[-2:] in ("] ", "  ", "O ") else None
        return head

    def _asked(self, key: str) -> _Head | None:
        if any(word in key for word in _SPECIAL) or _COLOUR.search(key) is not None:
            return None
        records = self._probe.feed(RawLine(0, 1, (key + _PROBE).encode()))
        if self._probe.waiting:
            self._probe.close()
            return None
        if len(records) != 1 or records[0].count != 1:
            return None
        line = to_line(records[0])
        header = line.header
        if header.kind not in _KINDS or header.level not in _LEVELS or header.message != _PROBE:
            return None
        text = self._dump(event_row(line)).decode()
        before, found, after = text.partition(f'"message":"{_PROBE}"')
        _, place, before = before.partition('"byte_offset":0')
        if not found or not place:
            return None
        speaker = (records[0].source, records[0].process)
        return _Head(header.kind, before + '"message":', after + "\n", speaker)

    def _learn_request(self, request: str) -> tuple[str, str] | None:
        if len(self._requests) >= _MOST:
            self._requests.clear()
        found = access(f'c - "{request}')
        known = None
        if found is not None and request.count('"') == 1:
            del found["client"]
            known = request.replace('"', '\\"'), orjson.dumps(found).decode()[1:] + "\n"
        self._requests[request] = known
        return known

"""What the fast lane of `events` knows of headers."""

import json
import re
from collections.abc import Callable
from typing import Any

from k3triage.grammar import to_line
from k3triage.grammar.events import event_row
from k3triage.ingest import Unwrapper
from k3triage.laneopen import CRI, DOCKER, OPENING, PLAIN, TIME
from k3triage.model.records import Line, Process, RawLine

_LEVELS = frozenset(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
_KINDS = frozenset(("vllm", "nccl", "uvicorn"))
_MOST = 20_000
_PROBE = "k3x"
_TIME, _TIME_JSON = "2026-12-01T00:00:00.5Z", "1796083200.5"

# What ends a header, but for NCCL's, behind which its name and level follow.
BRACKET, COLON = "] ", ":     "
NCCL = "NCCL INFO "
_WITHIN = 240


class Head:
    """All lines with one header: the JSON around their message, and what tracebacks ask of a line.

    before: the JSON behind the offset, up to the message, without the time where an envelope holds it. loud: such a
    line alone may show an exception.
    """

    __slots__ = (
        "after",
        "before",
        "clock",
        "kind",
        "level",
        "location",
        "loud",
        "nccl",
        "process",
        "seconds",
        "speaker",
    )

    def __init__(self, row: str, line: Line, time: str) -> None:
        record, header = line.record, line.header
        self.kind: str = header.kind
        self.nccl = self.kind == "nccl"
        self.level: str | None = header.level
        self.clock: float | None = header.clock
        self.location: str | None = header.location
        self.process: Process = header.process
        self.seconds: float | None = record.time
        self.speaker: tuple[str, Process] = (record.source, record.process)
        self.loud = header.level in ("ERROR", "CRITICAL")
        before, _, after = row.partition(f'"message":"{_PROBE}"')
        before = before.partition(f'"byte_offset":0{time}')[2]
        self.before = before and f'{before}"message":"'
        self.after = f'"{after}\n'


class Heads:
    """The headers seen so far, by envelope.

    probe: an unwrapper of the source, for this alone. unusable: what a header for the lane does not hold.
    near: the known headers as they stand in an opened line of an envelope, up to the mark that ends them: `BRACKET` or
    `COLON`.
    """

    def __init__(self, probe: Unwrapper, dump: Callable[[dict[str, Any]], bytes], unusable: re.Pattern[str]) -> None:
        self.near: dict[str, dict[str, dict[str, Head]]] = {
            envelope: {BRACKET: {}, COLON: {}} for envelope in (PLAIN, DOCKER, CRI)
        }
        self._known: dict[str, dict[str, Head | None]] = {PLAIN: {}, DOCKER: {}, CRI: {}}
        self._probe = probe
        self._dump = dump
        self._unusable = unusable

    def split(self, text: str, envelope: str) -> tuple[Head, str] | None:
        """Header and message of a text; None where its header is not for the lane."""
        mark = BRACKET
        at = text.find(mark, 0, _WITHIN)
        if at < 0:
            mark = COLON
            at = text.find(mark, 0, _WITHIN)
            if at < 0:
                return None
        end = at + len(mark)
        head = self._find(text[:end], envelope)
        if head is None and mark == BRACKET and text.startswith(NCCL, end):
            end += len(NCCL)
            head = self._find(text[:end], envelope)
        if head is None:
            return None
        if '"' not in text[:at] and (mark == COLON) == (head.kind == "uvicorn"):
            near = self.near[envelope][mark]
            if len(near) >= _MOST:
                near.clear()
            near[OPENING[envelope] + text[:at]] = head
        return head, text[end:]

    def _find(self, key: str, envelope: str) -> Head | None:
        known = self._known[envelope]
        try:
            return known[key]
        except KeyError:
            pass
        if len(known) >= _MOST:
            known.clear()
        known[key] = head = self._learn(key, envelope) if self._unusable.search(key) is None else None
        return head

    def _learn(self, key: str, envelope: str) -> Head | None:
        text = key + _PROBE
        if envelope == DOCKER:
            text = json.dumps({"log": text + "\n", "stream": "stderr", "time": _TIME})
        elif envelope == CRI:
            text = f"{_TIME} stderr F {text}"
        records = self._probe.feed(RawLine(0, 1, text.encode()))
        if self._probe.waiting:
            self._probe.close()
            return None
        # A column of a CSV row ends with a quote, which the lane would take for part of the message.
        if len(records) != 1 or records[0].count != 1 or "csv" in records[0].envelopes:
            return None
        line = to_line(records[0])
        header = line.header
        if header.kind not in _KINDS or header.level not in _LEVELS or header.message != _PROBE:
            return None
        time = "" if envelope == PLAIN else TIME + _TIME_JSON
        head = Head(self._dump(event_row(line)).decode(), line, time)
        return head if head.before else None

"""What the fast lane of `events` knows of headers and of the two envelopes that it takes off by itself."""

import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from k3triage.grammar import to_line
from k3triage.grammar.events import event_row
from k3triage.ingest import Unwrapper
from k3triage.ingest.times import stamp
from k3triage.model.records import Process, RawLine

PLAIN, DOCKER, CRI = "", "docker-json", "cri"

_LEVELS = frozenset(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
_KINDS = frozenset(("vllm", "nccl", "uvicorn"))
_MOST = 20_000
_PROBE = "k3x"
_TIME, _TIME_JSON = "2026-12-01T00:00:00.5Z", "1796083200.5"
_NOTHING: tuple[str, str | None] = ("", None)


class Head:
    """All lines with one header: the JSON around their message, and what tracebacks ask of a line.

    time: the JSON of the envelope's time where the header holds it. before: from the clock to the message. loud: such a
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
        "process",
        "seconds",
        "speaker",
        "time",
    )

    def __init__(self, row: str, line: Any) -> None:
        record, header = line.record, line.header
        self.kind: str = header.kind
        self.level: str | None = header.level
        self.clock: float | None = header.clock
        self.location: str | None = header.location
        self.process: Process = header.process
        self.seconds: float | None = record.time
        self.speaker: tuple[str, Process] = (record.source, record.process)
        self.loud = header.level in ("ERROR", "CRITICAL")
        before, _, after = row.partition(f'"message":"{_PROBE}"')
        self.time, _, clock = before.partition('"byte_offset":0,"time":')[2].partition(',"clock":')
        self.before = f',"clock":{clock}"message":'
        self.after = after + "\n"


class Heads:
    """The headers seen so far, by envelope.

    probe: an unwrapper of the source, for this alone. unusable: what a header for the lane does not hold.
    """

    def __init__(self, probe: Unwrapper, dump: Callable[[dict[str, Any]], bytes], unusable: re.Pattern[str]) -> None:
        self.known: dict[str, dict[str, Head | None]] = {PLAIN: {}, DOCKER: {}, CRI: {}}
        self._probe = probe
        self._dump = dump
        self._unusable = unusable

    def find(self, key: str, envelope: str) -> Head | None:
        """What is known of a header, all of the line before the message; None where it is not for the lane."""
        known = self.known[envelope]
        try:
            return known[key]
        except KeyError:
            pass
        if len(known) >= _MOST:
            known.clear()
        usable = key[-2:] in ("] ", "  ", "O ") and self._unusable.search(key) is None
        known[key] = head = self._learn(key, envelope) if usable else None
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
        if len(records) != 1 or records[0].count != 1:
            return None
        line = to_line(records[0])
        header = line.header
        if header.kind not in _KINDS or header.level not in _LEVELS or header.message != _PROBE:
            return None
        head = Head(self._dump(event_row(line)).decode(), line)
        return head if envelope == PLAIN or head.time == _TIME_JSON else None


_seconds: dict[str, int | None] = {}


def _time(text: str) -> str | None:
    """The JSON of a time as container runtimes write it; None for any other."""
    fraction = text[20:-1]
    if (
        text[10:11] != "T"
        or text[19:20] != "."
        or text[-1:] != "Z"
        or not 0 < len(fraction) < 10
        or not fraction.isdigit()
    ):
        return None
    second = text[:19]
    try:
        whole = _seconds[second]
    except KeyError:
        if len(_seconds) >= _MOST:
            _seconds.clear()
        found = stamp(second + "Z")
        whole = _seconds[second] = found[0] if found is not None and found[1] == 20 else None
    return None if whole is None else repr((whole + int(fraction.ljust(9, "0"))) / 1e9)


def open_docker(line: str) -> tuple[str, str | None]:
    """Text and time of a whole line of Docker's json-file; nothing for any other."""
    try:
        item = orjson.loads(line)
    except ValueError:
        return _NOTHING
    if len(item) != 3 or not isinstance(item, dict):
        return _NOTHING
    text, time, stream = item.get("log"), item.get("time"), item.get("stream")
    if not isinstance(text, str) or not isinstance(time, str) or stream not in ("stdout", "stderr"):
        return _NOTHING
    text = text[:-1] if text[-1:] == "\n" else ""
    # What the lane asks of a plain line.
    known = _time(time) if text.isascii() and text.isprintable() else None
    return (text, known) if known is not None else _NOTHING


def open_cri(line: str) -> tuple[str, str | None]:
    """Text and time of a whole line of containerd or CRI-O; nothing for any other."""
    end = line.find(" ", 20, 36)
    if not line.startswith((" stderr F ", " stdout F "), end):
        return _NOTHING
    time = _time(line[:end])
    return (line[end + 10 :], time) if time is not None else _NOTHING

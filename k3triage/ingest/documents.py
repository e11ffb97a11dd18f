"""Whole-file JSON exports of collectors: many entries in one document, often newest first."""

import re
from collections.abc import Iterator
from itertools import pairwise
from json import JSONDecodeError, JSONDecoder
from typing import Any

from k3triage.ingest import quickjson
from k3triage.ingest.draft import Draft, Entry
from k3triage.ingest.envelopes import azure, cloudwatch, datadog, elastic, gcp, jsonlines, loki, otlp
from k3triage.ingest.unwrap import Unwrapper
from k3triage.model.lazy import lazy
from k3triage.model.records import Record

_KEYED_STRING = lazy(
    rb'"(log|message|MESSAGE|msg|event|textPayload|line|value|original|LogMessage|LogEntry|short_message|full_message'
    rb'|stringValue|string_value|data)"\s*:\s*("(?:[^"\\]|\\.)*"|\[)'
)
_LISTED_STRING = lazy(rb'[\[,]\s*("(?:[^"\\]|\\.)*")\s*(?=[\],])')
_HEAD = 64 << 10
_RAW = 64 << 10


def explode(name: str, data: bytes) -> list[Record] | None:
    """The records of a JSON document of log entries, oldest first, each with the physical line its text stands on.

    data: the whole document as UTF-8. None where it is no such document: no JSON, one JSON object a line (the
    Unwrapper reads those), or JSON about something else, such as `docker inspect` and `kubectl get -o json` print.
    """
    start = data[:64].lstrip()[:1]
    if start not in (b"{", b"[") or _is_lines(data):
        return None
    entries: list[Entry] = []
    for document in _documents(data):
        found = _entries(document)
        if found is None:
            return None
        entries.extend(found)
    if not entries:
        return None
    positions = _positions(data, entries)
    order = _time_order(entries)
    texts = "\n".join(entries[index].text for index in order[:400])
    unwrapper = Unwrapper(name, texts.encode("utf-8", "replace")[:_HEAD])
    rows = _rows_of(data, positions)
    records: list[Record] = []
    for index in order:
        begin = data.rfind(b"\n", 0, positions[index]) + 1
        end = data.find(b"\n", begin, begin + _RAW)
        raw = data[begin : end if end >= 0 else begin + _RAW].decode("utf-8", "replace").removesuffix("\r")
        draft = Draft(rows[index], begin, raw)
        entries[index].onto(draft)
        records.extend(unwrapper.feed_text(entries[index].text, draft))
    records.extend(unwrapper.close())
    return records


def _is_lines(data: bytes) -> bool:
    """Whether the first line is a whole JSON value and more lines follow."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest.strip():
        return False
    try:
        quickjson.loads(first)
    except quickjson.JSONDecodeError:
        return False
    return True


def _documents(data: bytes) -> Iterator[Any]:
    """The document, or pretty-printed ones one after another (`journalctl -o json-pretty`); none if it is no JSON."""
    try:
        yield quickjson.loads(data)
        return
    except quickjson.JSONDecodeError:
        pass
    # Decoding all the text for a second try only pays where objects do follow each other.
    if re.search(rb"^[}\]],?\s*[{\[]", data, re.MULTILINE) is None:
        return
    text = data.decode("utf-8", "replace")
    decoder = JSONDecoder(strict=False)
    at = 0
    documents: list[Any] = []
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text):
            break
        try:
            value, at = decoder.raw_decode(text, at)
        except (JSONDecodeError, RecursionError):
            # The last one may be cut; one that begins with something else is no export.
            if not documents:
                return
            break
        documents.append(value)
    yield from documents


def _entries(document: Any) -> list[Entry] | None:
    """All entries in the order of the document; None where it is not a log export."""
    if isinstance(document, list):
        return _rows(document)
    if not isinstance(document, dict):
        return None
    for many in (loki.streams, otlp.requests):
        found = many(document)
        if found is not None:
            return found
    for opened in (elastic.document, cloudwatch.document, gcp.document, datadog.document, azure.tables):
        rows = opened(document)
        if rows is not None:
            return _rows(rows)
    return jsonlines.entries(document)


def _rows(rows: list[Any]) -> list[Entry] | None:
    found: list[Entry] = []
    known = 0
    for row in rows:
        inner = _entries(row) if isinstance(row, dict) else cloudwatch.insights(row)
        if inner:
            known += 1
            found.extend(inner)
    # A stray row without text (an audit entry) is no reason to read nothing; mostly strange rows are.
    return found if found and known * 2 >= len(rows) else None


def _positions(data: bytes, entries: list[Entry]) -> list[int]:
    """Byte offset of each entry's text, found by walking over the document's strings in step with the entries."""
    keyed = all(entry.key for entry in entries)
    strings = _KEYED_STRING.finditer(data) if keyed else _LISTED_STRING.finditer(data)
    positions: list[int] = []
    last = 0
    for entry in entries:
        for match in strings:
            if keyed and (match[1].decode() != entry.key or (match[2] == b"[" and entry.key != "MESSAGE")):
                continue
            span = match.span(2 if keyed else 1)
            if _equals(data[span[0] : span[1]], entry.text):
                last = span[0]
                break
        positions.append(last)
    return positions


def _rows_of(data: bytes, positions: list[int]) -> list[int]:
    """Physical lines, from 1, of offsets that never fall."""
    rows: list[int] = []
    row, last = 1, 0
    for position in positions:
        row += data.count(b"\n", last, position)
        last = position
        rows.append(row)
    return rows


def _equals(literal: bytes, text: str) -> bool:
    if literal == b"[":  # an array of bytes, of journald
        return True
    # The escapes only lengthen a string, so a shorter literal need not be decoded.
    if len(literal) - 2 < len(text):
        return False
    try:
        value = quickjson.loads(literal)
    except quickjson.JSONDecodeError:
        return False
    return isinstance(value, str) and (value == text or text.startswith(f"{value}\n"))


def _time_order(entries: list[Entry]) -> list[int]:
    """Indices of the entries, oldest first; equal times keep the order in which they were written."""
    order = list(range(len(entries)))
    times = [entry.ns for entry in entries]
    known = [ns for ns in times if ns is not None]
    if len(known) < len(times):
        return order
    falls = sum(1 for earlier, later in pairwise(known) if later < earlier)
    rises = sum(1 for earlier, later in pairwise(known) if later > earlier)
    if falls > rises or (falls == rises == 0 and _upside_down(entries)):
        order.reverse()
    order.sort(key=lambda index: known[index])
    return order


def _upside_down(entries: list[Entry]) -> bool:
    """Whether tracebacks stand head down, which tells the order where all times are equal."""
    score = 0
    for above, below in pairwise(entries):
        if "Traceback (most recent call last)" in below.text and '  File "' in above.text:
            score += 1
        elif "Traceback (most recent call last)" in above.text and '  File "' in below.text:
            score -= 1
    return score > 0

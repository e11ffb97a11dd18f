"""Docker's json-file driver, its fluentd and splunk forms, and the raw frames of the Engine API."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import word
from k3triage.ingest.times import any_time

FRAME = 8
"""Bytes of a raw stream's frame header: stream number, three NULs, length as 32 bits big-endian."""

_PLAIN_KEYS = frozenset(("log", "stream", "time", "attrs"))


def json_file(item: dict[str, Any]) -> list[Entry] | None:
    """`{"log": "text\\n", "stream": "stderr", "time": "..."}`; a log without its newline goes on in the next record."""
    log = item.get("log")
    if not isinstance(log, str) or not _PLAIN_KEYS.issuperset(item) or len(item) < 2:
        return None
    attrs = item.get("attrs")
    tag = attrs.get("tag") if isinstance(attrs, dict) else None
    return [
        Entry(
            "docker-json",
            log,
            "log",
            any_time(item.get("time")),
            word(item.get("stream")),
            container=word(tag),
            partial=not log.endswith("\n"),
        )
    ]


def fluentd_driver(item: dict[str, Any]) -> list[Entry] | None:
    """What the fluentd driver sends: `container_id`, `container_name`, `source`, `log`."""
    log = item.get("log")
    if not isinstance(log, str) or "container_id" not in item or "source" not in item:
        return None
    partial = item.get("partial_message") == "true" and item.get("partial_last") != "true"
    name = word(item.get("container_name"))
    when = any_time(item.get("time") or item.get("@timestamp") or item.get("date"))
    return [
        Entry(
            "docker-fluentd",
            log,
            "log",
            when,
            word(item["source"]),
            container=name.lstrip("/") if name else None,
            partial=partial,
        )
    ]


def splunk(item: dict[str, Any]) -> list[Entry] | None:
    """What the splunk driver sends: `{"event": {"line": ..., "source": ...}, "time": ...}`."""
    event = item.get("event")
    if not isinstance(event, dict) or not isinstance(event.get("line"), str):
        return None
    return [
        Entry(
            "docker-splunk",
            event["line"],
            "line",
            any_time(item.get("time")),
            word(event.get("source")),
            node=word(item.get("host")),
            container=word(event.get("tag")),
        )
    ]


def gelf(item: dict[str, Any]) -> list[Entry] | None:
    """GELF, of Docker's driver or out of Graylog: `short_message`, or `full_message` where it is longer."""
    short = item.get("short_message")
    if not isinstance(short, str):
        return None
    full = item.get("full_message")
    text, key = (full, "full_message") if isinstance(full, str) and len(full) > len(short) else (short, "short_message")
    container = item.get("_container_name") or item.get("container_name")
    return [
        Entry(
            "gelf", text, key, any_time(item.get("timestamp")), node=word(item.get("host")), container=word(container)
        )
    ]


def frame(data: bytes) -> tuple[str, int] | None:
    """Stream and length of the raw frame header at the start of a line; None where there is none.

    A length whose bytes hold an LF tears the header: the length of what stands on this line is then below 8.
    """
    if len(data) < 4 or data[0] not in (1, 2) or data[1:4] != b"\0\0\0":
        return None
    return ("stdout" if data[0] == 1 else "stderr"), min(len(data), FRAME)

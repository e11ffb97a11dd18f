"""Google Cloud Logging's LogEntry. Its severity follows the stream, not the text, so it is not taken over."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import at, first, text_of, word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One LogEntry with a text payload, or a JSON payload that holds a text."""
    text, key = text_of(item.get("textPayload")), "textPayload"
    if text is None:
        payload = item.get("jsonPayload")
        if not isinstance(payload, dict):
            return None
        for key in ("message", "log", "msg", "MESSAGE"):
            text = text_of(payload.get(key))
            if text is not None:
                break
        else:
            return None
    name = item.get("logName")
    stream = name.rpartition("/")[2] if isinstance(name, str) else None
    labels = at(item, "resource", "labels")
    return [
        Entry(
            "gcp",
            text,
            key,
            any_time(first(item, "timestamp", "receiveTimestamp")),
            stream if stream in ("stdout", "stderr") else None,
            word(at(labels, "pod_name")) or word(at(labels, "instance_id")),
            word(at(labels, "container_name")),
        )
    ]


def document(item: Any) -> list[Any] | None:
    """The entries of an API answer."""
    entries = item.get("entries") if isinstance(item, dict) else None
    return entries if isinstance(entries, list) else None

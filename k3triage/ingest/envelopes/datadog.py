"""Datadog's log search answers: `{"data": [{"type": "log", "attributes": {"message": ...}}]}`."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import text_of, word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One log event (v2 with `attributes`, v1 with `content`)."""
    body = item.get("attributes") if item.get("type") == "log" else item.get("content")
    if not isinstance(body, dict):
        return None
    text = text_of(body.get("message"))
    if text is None:
        return None
    tags = body.get("tags")
    container = next(
        (
            tag.partition(":")[2]
            for tag in (tags if isinstance(tags, list) else ())
            if isinstance(tag, str) and tag.startswith(("container_name:", "kube_container_name:"))
        ),
        None,
    )
    return [
        Entry(
            "datadog",
            text,
            "message",
            any_time(body.get("timestamp")),
            node=word(body.get("host")),
            container=container or word(body.get("service")),
        )
    ]


def document(item: Any) -> list[Any] | None:
    """The events of an answer."""
    if not isinstance(item, dict):
        return None
    found = item.get("data", item.get("logs"))
    return found if isinstance(found, list) else None

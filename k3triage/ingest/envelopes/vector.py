"""Vector's docker_logs, kubernetes_logs and file sources, and stern's and logcli's JSON, which look alike."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import at, text_of, word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """An event of Vector: `message`, `timestamp` and what names the source."""
    if not ("container_name" in item or "source_type" in item or ("kubernetes" in item and "@timestamp" not in item)):
        return None
    text = text_of(item.get("message"))
    if text is None:
        return None
    return [
        Entry(
            "vector",
            text,
            "message",
            any_time(item.get("timestamp")),
            word(item.get("stream")),
            word(at(item, "kubernetes", "pod_name")) or word(item.get("host")),
            word(item.get("container_name")) or word(at(item, "kubernetes", "container_name")),
            partial=item.get("_partial") is True,
        )
    ]


def stern(item: dict[str, Any]) -> list[Entry] | None:
    """`stern -o json`."""
    text = text_of(item.get("message"))
    if text is None or "podName" not in item:
        return None
    return [Entry("stern", text, "message", node=word(item["podName"]), container=word(item.get("containerName")))]

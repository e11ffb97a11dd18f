"""Amazon CloudWatch: `{"events": [{"timestamp": ..., "message": ...}]}`; the message may be JSON once more."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One event of get-log-events, filter-log-events or a subscription."""
    text = item.get("message")
    if not isinstance(text, str) or not isinstance(item.get("timestamp"), int):
        return None
    if not ("ingestionTime" in item or "eventId" in item or "logStreamName" in item or "id" in item or len(item) == 2):
        return None
    return [Entry("cloudwatch", text, "message", any_time(item["timestamp"]), node=word(item.get("logStreamName")))]


def insights(item: Any) -> list[Entry] | None:
    """One row of a Logs Insights result: a list of `{"field": "@message", "value": ...}`."""
    if not isinstance(item, list) or not item:
        return None
    row = {cell.get("field"): cell.get("value") for cell in item if isinstance(cell, dict)}
    text = row.get("@message")
    if not isinstance(text, str):
        return None
    return [Entry("cloudwatch", text, "value", any_time(row.get("@timestamp")), node=word(row.get("@logStream")))]


def document(item: Any) -> list[Any] | None:
    """The events of an answer."""
    if not isinstance(item, dict):
        return None
    for key in ("events", "logEvents", "results"):
        if isinstance(item.get(key), list):
            found: list[Any] = item[key]
            return found
    return None

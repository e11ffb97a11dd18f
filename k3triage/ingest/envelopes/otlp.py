"""OpenTelemetry logs as JSON: requests with `resourceLogs`, one a line or one a file."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import first, word
from k3triage.ingest.times import any_time


def requests(item: dict[str, Any]) -> list[Entry] | None:
    """All log records of one request, in its order."""
    resources = first(item, "resourceLogs", "resource_logs")
    if not isinstance(resources, list):
        return None
    found: list[Entry] = []
    for resource in _dicts(resources):
        holder = resource.get("resource")
        origin = _attributes(holder.get("attributes") if isinstance(holder, dict) else None)
        for scope in _dicts(first(resource, "scopeLogs", "scope_logs", "instrumentationLibraryLogs")):
            for record in _dicts(first(scope, "logRecords", "log_records")):
                entry = _record(record, origin)
                if entry is not None:
                    found.append(entry)
    return found


def _record(record: dict[str, Any], origin: dict[str, str]) -> Entry | None:
    body = record.get("body")
    text = _value(body)
    snake = isinstance(body, dict) and ("string_value" in body or "kvlist_value" in body)
    if text is None and isinstance(body, dict):
        pairs = first(body, "kvlistValue", "kvlist_value")
        values = _attributes(pairs.get("values") if isinstance(pairs, dict) else None)
        text = next((values[name] for name in ("log", "message", "msg", "MESSAGE") if name in values), None)
    if text is None:
        return None
    own = _attributes(record.get("attributes"))
    when = first(record, "timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
    return Entry(
        "otlp",
        text,
        "string_value" if snake else "stringValue",
        any_time(when),
        word(own.get("log.iostream") or own.get("stream")),
        word(origin.get("k8s.pod.name") or origin.get("host.name")),
        word(origin.get("k8s.container.name") or origin.get("container.name")),
        partial=own.get("logtag") == "P",
    )


def _value(value: Any) -> str | None:
    if not isinstance(value, dict):
        return value if isinstance(value, str) else None
    return word(first(value, "stringValue", "string_value"))


def _attributes(pairs: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in _dicts(pairs):
        text = _value(pair.get("value"))
        if text is not None and isinstance(pair.get("key"), str):
            found[pair["key"]] = text
    return found


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

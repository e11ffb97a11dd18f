"""Which collector an object on a line of JSON comes from."""

from collections.abc import Callable
from typing import Any

from k3triage.ingest import quickjson
from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes import (
    azure,
    cloudwatch,
    datadog,
    docker,
    elastic,
    fluent,
    gcp,
    journald,
    loki,
    otlp,
    own_json,
    vector,
)
from k3triage.model.lazy import lazy

# Narrow shapes first; the program's own JSON last but one, as a collector may have added fields to it.
_SHAPES: tuple[Callable[[dict[str, Any]], list[Entry] | None], ...] = (
    docker.json_file,
    docker.fluentd_driver,
    journald.entry,
    docker.gelf,
    gcp.entry,
    otlp.requests,
    loki.streams,
    loki.entry,
    vector.stern,
    fluent.entry,
    vector.entry,
    azure.entry,
    datadog.entry,
    docker.splunk,
    elastic.entry,
    own_json.entry,
    cloudwatch.entry,
)
_TORN = lazy(r'"(?:log|message|MESSAGE|textPayload|msg|line)"\s*:\s*"((?:[^"\\]|\\.)*)')
_TORN_ESCAPE = lazy(r"\\(?:u[0-9A-Fa-f]{0,3})?$")


def entries(item: dict[str, Any]) -> list[Entry] | None:
    """The log entries in an object; None where it is not of a known wrapper."""
    for shape in _SHAPES:
        found = shape(item)
        if found is not None:
            return found
    return None


def torn(text: str) -> str | None:
    """The message in an object that the end of the file cut, as far as it goes."""
    match = _TORN.search(text)
    if match is None:
        return None
    try:
        value = quickjson.loads(f'"{_TORN_ESCAPE.sub("", match[1])}"')
    except quickjson.JSONDecodeError:
        return None
    return value if isinstance(value, str) and value else None

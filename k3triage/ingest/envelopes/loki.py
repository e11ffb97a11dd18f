"""Grafana Loki: API answers with streams, Grafana's download, logcli's jsonl and its default form."""

from typing import Any

from k3triage.ingest.draft import Draft, Entry
from k3triage.ingest.envelopes.fields import at, text_of, word
from k3triage.ingest.times import any_time
from k3triage.model.lazy import lazy

_LABELS = lazy(r'\{[A-Za-z_]\w*="(?:[^"\\]|\\.)*"(?:, ?[A-Za-z_]\w*="(?:[^"\\]|\\.)*")*\} ?')


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One line of `logcli -o jsonl` or of Grafana's JSON download."""
    text = text_of(item.get("line"))
    if text is None or "timestamp" not in item:
        return None
    labels = item.get("labels") or item.get("fields")
    return [_entry(text, "line", any_time(item["timestamp"]), labels)]


def streams(item: dict[str, Any]) -> list[Entry] | None:
    """All entries of an API answer or of a push request, in the order of the document."""
    result = at(item, "data", "result")
    if result is None:
        result = item.get("streams")
    if not isinstance(result, list):
        return None
    found: list[Entry] = []
    for stream in result:
        if not isinstance(stream, dict) or not isinstance(stream.get("values"), list):
            return None
        for value in stream["values"]:
            if isinstance(value, list) and len(value) >= 2 and isinstance(value[1], str):
                found.append(_entry(value[1], "", any_time(value[0]), stream.get("stream")))
    return found


def labels(text: str, draft: Draft) -> str | None:
    """Take the `{app="vllm"} ` that logcli prints behind its stamp off."""
    match = _LABELS.match(text)
    if match is None or draft.envelopes[-1:] != ("timestamps",):
        return None
    draft.envelopes = (*draft.envelopes[:-1], "loki")
    return text[match.end() :]


def _entry(text: str, key: str, ns: int | None, labels: Any) -> Entry:
    return Entry(
        "loki",
        text,
        key,
        ns,
        word(at(labels, "stream")),
        word(at(labels, "pod")) or word(at(labels, "host")),
        word(at(labels, "container")),
    )

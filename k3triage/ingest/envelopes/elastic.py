"""Logstash, Filebeat and Elasticsearch: lines, and search answers with `hits.hits[]._source`."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import at, first, text_of, word
from k3triage.ingest.times import any_time


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One event; a hit of a search is opened."""
    source = item.get("_source")
    if isinstance(source, dict):
        item = source
    if "@timestamp" not in item:
        return None
    key = "message"
    text = text_of(item.get("message"))
    if text is None:
        key = "original"
        text = text_of(at(item, "event", "original")) or text_of(at(item, "log", "original"))
    if text is None:
        key = "log"
        text = text_of(item.get("log"))
    if text is None:
        return None
    pod = at(item, "kubernetes", "pod", "name") or at(item, "kubernetes", "pod_name")
    container = at(item, "container", "name") or at(item, "kubernetes", "container", "name")
    host = at(item, "host", "name") or at(item, "host", "hostname") or first(item, "host", "hostname")
    return [
        Entry(
            "elastic",
            text,
            key,
            any_time(item["@timestamp"]),
            word(item.get("stream")),
            word(pod) or word(host),
            word(container),
        )
    ]


def document(item: Any) -> list[Any] | None:
    """The hits of a search answer."""
    hits = at(item, "hits", "hits")
    return hits if isinstance(hits, list) else None

"""Fluent Bit and Fluentd: JSON lines, Fluent Bit's stdout form, and Fluentd's file form."""

from typing import Any

from k3triage.ingest import quickjson
from k3triage.ingest.draft import Draft, Entry
from k3triage.ingest.envelopes.fields import at, first, text_of, word
from k3triage.ingest.times import any_time, number, stamp
from k3triage.model.lazy import lazy

_STDOUT = lazy(r"\[\d+\] (\S{1,255}): \[\[?(\d{9,10}\.\d{1,9})(?:, \{[^{}]*\}\])?, \{")
_PAIR = lazy(r'"(log|message|MESSAGE|stream)"=>("(?:[^"\\]|\\.)*")')


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """A record of the kubernetes filter, or of a plain tail input with the cri or docker parser."""
    if not ("kubernetes" in item or "_p" in item or "logtag" in item or "date" in item or "@timestamp" in item):
        return None
    for key in ("log", "message", "msg"):
        text = text_of(item.get(key))
        if text is not None:
            break
    else:
        return None
    if key != "log" and not ("_p" in item or "logtag" in item or "date" in item):
        return None
    when = first(item, "time", "@timestamp", "date", "timestamp")
    return [
        Entry(
            "fluent-bit",
            text,
            key,
            any_time(when),
            word(item.get("stream")),
            word(at(item, "kubernetes", "pod_name")) or word(at(item, "kubernetes", "host")),
            word(at(item, "kubernetes", "container_name")),
            partial=first(item, "_p", "logtag") == "P",
        )
    ]


def stdout_form(text: str, draft: Draft) -> str | None:
    """Take Fluent Bit's `[0] tag: [[time, {}], {"log"=>"text"}]` off."""
    match = _STDOUT.match(text)
    if match is None:
        return None
    body: str | None = None
    for key, literal in _PAIR.findall(text, match.end() - 1):
        try:
            value = quickjson.loads(literal)
        except quickjson.JSONDecodeError:
            value = literal[1:-1]
        if key == "stream":
            draft.stream = value
        elif body is None:
            body = value
    if body is None:
        return None
    draft.ns, draft.year_known = number(match[2]), True
    draft.envelopes = (*draft.envelopes, "fluent-bit")
    return body


def file_form(text: str, draft: Draft) -> str | None:
    """Take the time and tag of Fluentd's out_file off: `TIME<TAB>tag<TAB>{json}`."""
    if text[4:5] != "-" or text[10:11] != "T":
        return None
    found = stamp(text)
    if found is None or text[found[1] : found[1] + 1] != "\t":
        return None
    end = text.find("\t", found[1] + 1)
    if end < 0 or text[end + 1 : end + 2] != "{":
        return None
    draft.ns, draft.year_known = found[0], True
    draft.envelopes = (*draft.envelopes, "fluentd")
    return text[end + 1 :]

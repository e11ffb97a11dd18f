"""A program's own JSON logging: python-json-logger as vLLM's logging config may set it, structlog, crun, zap."""

from typing import Any

from k3triage.ingest.draft import Entry
from k3triage.ingest.envelopes.fields import first, word
from k3triage.ingest.times import any_time

_LEVELS = {
    "DEBUG": "DEBUG",
    "TRACE": "DEBUG",
    "INFO": "INFO",
    "NOTICE": "INFO",
    "WARN": "WARNING",
    "WARNING": "WARNING",
    "ERR": "ERROR",
    "ERROR": "ERROR",
    "CRITICAL": "CRITICAL",
    "FATAL": "CRITICAL",
    "PANIC": "CRITICAL",
}


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """The message, with the traceback that the logger put into a field of its own behind it."""
    level = first(item, "levelname", "level", "severity", "lvl")
    if not isinstance(level, str) or level.upper() not in _LEVELS:
        return None
    for key in ("message", "msg", "event"):
        text = word(item.get(key))
        if text is not None:
            break
    else:
        return None
    trace = first(item, "exc_info", "exc_text", "exception", "stack_info", "traceback", "error")
    if isinstance(trace, str) and trace and trace not in text:
        text = f"{text}\n{trace}"
    when = first(item, "asctime", "timestamp", "time", "ts", "@timestamp", "created")
    pid = first(item, "process", "pid")
    return [
        Entry(
            "json-log",
            text,
            key,
            any_time(when),
            pid=pid if isinstance(pid, int) and not isinstance(pid, bool) else None,
            level=_LEVELS[level.upper()],
        )
    ]

"""docker compose: `service-1  | text`, and v1's `service_1  | text`."""

import re

from k3triage.ingest.draft import Draft
from k3triage.model.lazy import lazy

_LINE = lazy(r"([A-Za-z0-9][\w.-]{0,127}) +\|(?: |$)")
# The name, padded by two blanks at least: tables and other programs' bars do not look so.
_CERTAIN = lazy(r"([A-Za-z0-9][\w.-]*[-_]\d{1,4}) {2,}\|(?: |$)")
_LEVELS = frozenset(("TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "SUCCESS"))


def certain(text: str, draft: Draft) -> str | None:
    """Take a prefix off that can only be compose's."""
    return _take(_CERTAIN.match(text), text, draft)


def elected(text: str, draft: Draft) -> str | None:
    """Take a prefix off, in a file known to have them."""
    return _take(_LINE.match(text), text, draft)


def name(text: str) -> str | None:
    """The container's name if the line may be one of compose, for the election."""
    match = _LINE.match(text)
    return match[1] if match is not None and match[1].upper() not in _LEVELS else None


def _take(match: re.Match[str] | None, text: str, draft: Draft) -> str | None:
    if match is None or match[1].upper() in _LEVELS:
        return None
    draft.container = match[1]
    draft.envelopes = (*draft.envelopes, "compose")
    return text[match.end() :]

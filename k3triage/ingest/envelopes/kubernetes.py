"""kubectl logs --prefix, and stern."""

from k3triage.ingest.draft import Draft
from k3triage.model.lazy import lazy

_PREFIX = lazy(r"\[pod/([a-z0-9][a-z0-9.-]*)(?:/([a-z0-9][a-z0-9.-]*))?\](?: |$)")
_MARKER = lazy(r"[+-] (?:([a-z0-9][a-z0-9.-]*) › )?([a-z0-9][a-z0-9.-]*) › ([a-z0-9][a-z0-9.-]*)$")
_STERN = lazy(r"(?:([a-z0-9][a-z0-9.-]*) )?([a-z0-9][a-z0-9.-]*) ([a-z0-9][a-z0-9.-]*)(?: |$)")
_POD_NAME = lazy(r"[a-z0-9][a-z0-9.-]*-(?:[a-z0-9]{5}|\d{1,4})$")


def prefix(text: str, draft: Draft) -> str | None:
    """Take `[pod/NAME/CONTAINER] ` off; the container may be left out."""
    match = _PREFIX.match(text)
    if match is None:
        return None
    draft.node = match[1]
    draft.container = match[2]
    draft.envelopes = (*draft.envelopes, "kubectl")
    return text[match.end() :]


def stern_marker(text: str) -> tuple[str, str] | None:
    """Pod and container that stern says it begins or ends to follow."""
    match = _MARKER.match(text)
    return (match[2], match[3]) if match is not None else None


def stern_pair(text: str) -> tuple[str, str] | None:
    """Pod and container in front of a line, if the first looks like a pod's name."""
    match = _STERN.match(text)
    if match is None:
        return None
    if _POD_NAME.match(match[2]):
        return match[2], match[3]
    if match[1] and _POD_NAME.match(match[1]):
        return match[1], match[2]
    return None


def stern(text: str, draft: Draft, pairs: set[tuple[str, str]]) -> str | None:
    """Take `[NAMESPACE ]POD CONTAINER ` off where the pair is known."""
    marker = stern_marker(text) if text[:2] in ("+ ", "- ") else None
    if marker is not None:
        pairs.add(marker)
        return None
    first, _, rest = text.partition(" ")
    second, _, inner = rest.partition(" ")
    if (first, second) not in pairs:
        first, (second, _, inner) = second, inner.partition(" ")
        if (first, second) not in pairs:
            return None
    draft.node, draft.container = first, second
    draft.envelopes = (*draft.envelopes, "stern")
    return inner

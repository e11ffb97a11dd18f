"""Reading loosely typed JSON fields."""

from typing import Any

from k3triage.ingest.envelopes.journald import message


def text_of(value: Any) -> str | None:
    """A body as text: a string, an array of bytes or of strings; None for anything else."""
    if isinstance(value, str):
        return value
    return message(value) if isinstance(value, list) else None


def word(value: Any) -> str | None:
    """A non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def at(item: Any, *path: str) -> Any:
    """The value at a path of keys, also where the keys are joined by dots in one; None where it is absent."""
    if isinstance(item, dict) and (dotted := item.get(".".join(path))) is not None:
        return dotted
    for key in path:
        if not isinstance(item, dict):
            return None
        item = item.get(key)
    return item


def first(item: dict[str, Any], *keys: str) -> Any:
    """The value of the first key that is there and not null."""
    for key in keys:
        value = item.get(key)
        if value is not None:
            return value
    return None

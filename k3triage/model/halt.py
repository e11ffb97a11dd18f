"""A user's wish to end early, asked for between blocks: what was read until then is still reported."""

from threading import Event

_asked = Event()


def ask() -> None:
    """From now on every reader stops at its next block. Safe in a signal handler."""
    _asked.set()


def asked() -> bool:
    """Whether reading is to stop."""
    return _asked.is_set()


def forget() -> None:
    """Read on: the next call starts afresh."""
    _asked.clear()

"""Small files kept between runs in the user's cache folder, so that a start does not make them again."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def folder() -> Path:
    """Where k3triage may keep what it can make again."""
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "k3triage" / "cache"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "k3triage"


def load_or_make(name: str, key: str, make: Callable[[], bytes]) -> bytes:
    """The bytes kept under `name` if they were made for the same `key`, else those of `make`, kept for the next time.

    A folder that cannot be read or written only costs time: nothing is raised for it.
    """
    stamp = hashlib.sha256(key.encode()).digest()
    path = None
    with suppress(OSError, RuntimeError):
        path = folder() / f"{name}.bin"
        data = path.read_bytes()
        # stamp, then a checksum of the content: a file cut by a full disk is made again
        body = data[64:]
        if data[:32] == stamp and data[32:64] == hashlib.sha256(body).digest():
            return body
    body = make()
    if path is not None:
        with suppress(OSError):
            _replace(path, stamp + hashlib.sha256(body).digest() + body)
    return body


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).replace(path)
    except OSError:
        with suppress(OSError):
            Path(temporary).unlink()
        raise

"""Small files kept between runs in the user's cache folder, so that a start does not make them again."""

import os
import sys
import zlib
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
    path = None
    with suppress(OSError, RuntimeError):
        path = folder() / f"{name}.bin"
        stamp, _, body = path.read_bytes().partition(b"\n")
        if stamp == _stamp(key, body):
            return body
    body = make()
    if path is not None:
        with suppress(OSError):
            _replace(path, _stamp(key, body) + b"\n" + body)
    return body


def _stamp(key: str, body: bytes) -> bytes:
    """The key and a checksum, so that a file cut by a full disk is made again."""
    return f"{key} {len(body)} {zlib.crc32(body):08x}".encode().replace(b"\n", b" ")


def _replace(path: Path, data: bytes) -> None:
    # slow to import, and needed on the first run alone
    import tempfile

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

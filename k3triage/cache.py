"""Keeps what is expensive to make between runs, in the user's cache folder.

The cache is a convenience: where its folder is not private or not writable, everything is made anew without a word.
Contents are bytes and never unpickled. A file holds the whole key, and a checksum against damage; nobody else can write
there, and the standard library's digests take longer to load than all the rest of this.
"""

import contextlib
import os
import stat
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

# Files of one kind that stay.
_KEPT = 16
_NUMBER = 4


def cache_folder() -> Path | None:
    """K3TRIAGE_CACHE_DIR, else `k3triage` in the platform's cache folder; None where there is no home."""
    own = os.environ.get("K3TRIAGE_CACHE_DIR")
    if own:
        return Path(own)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "k3triage" / "cache" if local else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return Path(base) / "k3triage"
    try:
        return Path.home() / ".cache" / "k3triage"
    except RuntimeError:
        return None


def load_or_make(name: str, key: str, make: Callable[[], bytes]) -> bytes:
    """What `make` returned for this key, in an earlier run or now.

    name: of the kind of content, part of the file's name. key: everything that the content depends on, versions
    included. Errors of `make` pass through; those of the cache do not.
    """
    path = _path(name, key)
    if path is None:
        return make()
    data = _read(path, key)
    if data is None:
        data = make()
        _write(path, key, data)
    return data


def kept(name: str, key: str) -> bytes | None:
    """What an earlier run kept under this key, whole and undamaged; None where it kept nothing."""
    path = _path(name, key)
    return None if path is None else _read(path, key)


def _path(name: str, key: str) -> Path | None:
    folder = cache_folder()
    if folder is None or not _private(folder):
        return None
    data = key.encode()
    return folder / f"{name}-{zlib.crc32(data):08x}{zlib.adler32(data):08x}"


def _private(folder: Path) -> bool:
    """Whether only this user can put files there; the folder is made where it is missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _head(key: str) -> bytes:
    data = key.encode()
    return len(data).to_bytes(_NUMBER, "big") + data


def _sum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_NUMBER, "big")


def _read(path: Path, key: str) -> bytes | None:
    try:
        # Neither a link nor a named pipe is followed: the one leads elsewhere, the other never answers.
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    head, end = _head(key), len(data) - _NUMBER
    if not data.startswith(head) or end < len(head) or _sum(data[:end]) != data[end:]:
        return None
    return data[len(head) : end]


def _prune(path: Path) -> None:
    """Drop what older releases and edits left: of each kind of content the newest few stay."""
    kind = path.name.rpartition("-")[0]
    entries = sorted(path.parent.glob(f"{kind}-*"), key=lambda entry: entry.lstat().st_mtime_ns, reverse=True)
    for entry in entries[_KEPT:]:
        with contextlib.suppress(OSError):
            entry.unlink()


def _write(path: Path, key: str, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        whole = _head(key) + data
        temporary.write_bytes(whole + _sum(whole))
        temporary.replace(path)
        _prune(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()

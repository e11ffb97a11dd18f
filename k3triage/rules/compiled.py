"""The compiled pack as bytes: a JSON object that every start reads, and behind it one page a cause, read one by one.

A wheel holds the shipped pack in this form (`hatch_build.py` writes it), so that a read-only container starts as
fast as a machine with a cache. It counts only where names and sizes of the rule files are those it was made of.
"""

import functools
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from k3triage.cache import kept

ROOT = Path(__file__).resolve().parent
FILE = "compiled.bin"
RULES_VERSION = "2026.12.1"
# Raise it when the compiled form changes.
_FORMAT = "15"
_HEAD = 8


class Pages(dict[str, memoryview]):
    """JSON of each cause's page, by id."""


def pack_up(data: dict[str, Any], pages: Mapping[str, bytes]) -> bytes:
    """Both as bytes: length of the JSON object, the object, the pages."""
    at, index = 0, {}
    for name, page in pages.items():
        index[name] = [at, at + len(page)]
        at += len(page)
    head = json.dumps({**data, "pages": index}, separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(_HEAD, "big"), head, *pages.values()])


def unpack(packed: bytes) -> tuple[dict[str, Any], Pages]:
    """What `pack_up` was given."""
    view = memoryview(packed)
    end = _HEAD + int.from_bytes(view[:_HEAD], "big")
    data: dict[str, Any] = json.loads(bytes(view[_HEAD:end]))
    return data, Pages({name: view[end + start : end + stop] for name, (start, stop) in data.pop("pages").items()})


@functools.cache
def shipped_files() -> list[tuple[str, int]]:
    """Relative name and size of every file that the shipped pack is made of, in a stable order."""
    found = [*_files(str(ROOT), "causes"), *_files(str(ROOT), "markers"), *_files(str(ROOT), "policies")]
    for name in ("links.toml", "tables/healthy.txt"):
        found.append((name, os.stat(ROOT / name).st_size))  # noqa: PTH116
    return sorted(found)


def _files(root: str, folder: str) -> Iterator[tuple[str, int]]:
    # Several hundred files at every start: scandir takes a third of the time of pathlib.
    with os.scandir(f"{root}/{folder}") as entries:
        for entry in entries:
            if entry.name.endswith(".toml"):
                yield f"{folder}/{entry.name}", entry.stat().st_size
            elif entry.is_dir():
                yield from _files(root, f"{folder}/{entry.name}")


def key(paths: Sequence[str]) -> str:
    """The cache's key for what is compiled of these files: their names, sizes and times."""
    stamps = [_FORMAT, RULES_VERSION]
    for path in paths:
        status = os.stat(path)  # noqa: PTH116 - Path.stat() costs twice as much and this runs at every start
        stamps.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
    return "\n".join(stamps)


@functools.cache
def shipped_key() -> str:
    """The cache's key for the shipped pack."""
    return key([f"{ROOT}/{name}" for name, _ in shipped_files()])


def stamp() -> bytes:
    """What a packaged pack must begin with to be that of the files beside it."""
    return b"%08x" % zlib.crc32(repr((_FORMAT, RULES_VERSION, shipped_files())).encode())


@functools.cache
def packaged() -> tuple[dict[str, Any], Pages] | None:
    """The pack that the wheel brought along; None where there is none, or it is not that of these files."""
    try:
        with (ROOT / FILE).open("rb") as file:
            head = stamp()
            return unpack(file.read()) if file.read(len(head)) == head else None
    except OSError:
        return None


def is_compiled() -> bool:
    """Whether the shipped pack can be had without reading and checking all rule files."""
    return packaged() is not None or kept_pack() is not None


@functools.cache
def kept_pack() -> bytes | None:
    """The compiled pack that an earlier run left in the cache."""
    return kept("pack", shipped_key())

"""The compiled pack as bytes: a JSON object that every start reads, and behind it one page a cause, read one by one.

A wheel holds the shipped pack in this form (`hatch_build.py` writes it), so that a read-only container starts as
fast as a machine with a cache. It counts only where names and sizes of the rule files are those it was made of.
"""

import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

FILE = "compiled.bin"
_HEAD = 8


class Pages(dict[str, memoryview]):
    """JSON of each cause's page, by id."""


def pack_up(data: dict[str, Any], pages: Mapping[str, bytes]) -> bytes:
    """Both as bytes: length of the JSON object, the object, the pages."""
    at, index = 0, {}
    for name, page in pages.items():
        index[name] = [at, at + len(page)]
        at += len(page)
    head = orjson.dumps({**data, "pages": index})
    return b"".join([len(head).to_bytes(_HEAD, "big"), head, *pages.values()])


def unpack(packed: bytes) -> tuple[dict[str, Any], Pages]:
    """What `pack_up` was given."""
    view = memoryview(packed)
    end = _HEAD + int.from_bytes(view[:_HEAD], "big")
    data: dict[str, Any] = orjson.loads(view[_HEAD:end])
    return data, Pages({name: view[end + start : end + stop] for name, (start, stop) in data.pop("pages").items()})


def shipped_files(root: Path) -> list[tuple[str, int]]:
    """Relative name and size of every file that the shipped pack is made of, in a stable order."""
    found = [*_files(str(root), "causes"), *_files(str(root), "markers"), *_files(str(root), "policies")]
    found.append(("links.toml", os.stat(root / "links.toml").st_size))  # noqa: PTH116
    return sorted(found)


def _files(root: str, folder: str) -> Iterator[tuple[str, int]]:
    # Several hundred files at every start: scandir takes a third of the time of pathlib.
    with os.scandir(f"{root}/{folder}") as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(root, f"{folder}/{entry.name}")
            elif entry.name.endswith(".toml"):
                yield f"{folder}/{entry.name}", entry.stat().st_size


def stamp(listing: list[tuple[str, int]]) -> bytes:
    """What a packaged pack must begin with to be that of these files."""
    return b"%08x" % zlib.crc32(repr(listing).encode())


def packaged(root: Path, listing: list[tuple[str, int]]) -> tuple[dict[str, Any], Pages] | None:
    """The pack that the wheel brought along; None where there is none, or it is not that of these files."""
    try:
        with (root / FILE).open("rb") as file:
            head = stamp(listing)
            return unpack(file.read()) if file.read(len(head)) == head else None
    except OSError:
        return None

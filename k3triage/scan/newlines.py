"""Counts line feeds in a buffer, with the fastest means at hand."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

Counter = Callable[[bytearray, int, int], int]
_LF = bytes(byte == 10 for byte in range(256))


def count_plain(data: bytearray, start: int, stop: int) -> int:
    """Line feeds in `data[start:stop]`; about 2.5 GB/s, holding the interpreter's lock."""
    return data.count(b"\n", start, stop)


@functools.cache
def fast_counter() -> Counter:
    """stringzilla's means, 15 to 25 GB/s; `count_plain` where the module does not load."""
    try:
        library: Any = importlib.import_module("stringzilla")
        count = library.count
    except (ImportError, AttributeError):
        return count_plain
    try:
        library.bytesum(library.translate(b"\n", _LF, out=bytearray(1)))
    except (AttributeError, TypeError):  # a release before 5
        return functools.partial(_count_found, count)
    return functools.partial(_count_ones, library, threading.local())


def _count_found(count: Callable[..., int], data: bytearray, start: int, stop: int) -> int:
    if start >= stop:
        return 0
    with memoryview(data) as view, view[start:stop] as part:
        return int(count(part, b"\n"))


def _count_ones(library: Any, local: Any, data: bytearray, start: int, stop: int) -> int:
    # Each byte made 1 or 0 and added up: its time does not depend on how many there are, as that of a search does.
    size = stop - start
    if size <= 0:
        return 0
    ones = getattr(local, "ones", None)
    if ones is None or len(ones) < size:
        ones = local.ones = bytearray(max(size, len(data)))
    with memoryview(data) as view, view[start:stop] as part, memoryview(ones) as room, room[:size] as out:
        library.translate(part, _LF, out=out)
        return int(library.bytesum(out))

"""Counts line feeds in a buffer."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

Counter = Callable[[bytearray, int, int], int]


def count_plain(data: bytearray, start: int, stop: int) -> int:
    """Line feeds in `data[start:stop]`; about 2.5 GB/s before Python 3.13, holding the interpreter's lock."""
    return data.count(b"\n", start, stop)


# Once, since a module that is missing is looked for in every folder.
@functools.cache
def fast_counter() -> Counter:
    """numpy's means, 10 to 20 GB/s without the interpreter's lock; `count_plain` where numpy does not load."""
    try:
        numpy: Any = importlib.import_module("numpy")
    except ImportError:
        return count_plain
    local = threading.local()

    def count(data: bytearray, start: int, stop: int) -> int:
        size = stop - start
        if size <= 0:
            return 0
        # Room for the comparison is kept: a fresh array costs a page fault every 4 KiB.
        room = getattr(local, "room", None)
        if room is None or len(room) < size:
            room = local.room = numpy.empty(max(size, len(data)), dtype=bool)
        equal = room[:size]
        numpy.equal(numpy.frombuffer(data, numpy.uint8, size, start), 10, out=equal)
        return int(numpy.count_nonzero(equal))

    return count

"""Where an archive's bytes lie while they are read: one temporary file without a name, of bounded size."""

import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from k3triage.ingest.decode import BLOCK
from k3triage.model.shapes import dataclass

MAX_MEMBERS = 5_000
MAX_MEMBER = 1 << 30
MAX_TOTAL = 2 << 30
"""Members of an archive, bytes of one, and bytes of all that an archive may unpack to."""

_HINT = "unpack it yourself and give the log files in it."
TOO_LARGE = f"This archive unpacks to more than {MAX_TOTAL >> 30} GiB: {_HINT}"
MEMBER_TOO_LARGE = f"Refused: this member is larger than {MAX_MEMBER >> 30} GiB; {_HINT}"
TOO_MANY = f"This archive has more than {MAX_MEMBERS} members; the further ones were left out."


class ArchiveError(Exception):
    """An archive of which nothing can be read; the message is one sentence."""


def nothing() -> Iterator[bytes]:
    """The bytes of what cannot be read."""
    return iter(())


@dataclass(slots=True, frozen=True)
class Member:
    """A file of an archive, or a fault of the archive itself (empty name).

    read: its bytes in blocks, as often as it is called. error: one sentence on why it is refused or cut.
    """

    name: str
    size: int = 0
    read: Callable[[], Iterator[bytes]] = nothing
    error: str | None = None


class Spool:
    """A temporary file that goes with the last member that reads it."""

    def __init__(self) -> None:
        import tempfile

        handle, name = tempfile.mkstemp(prefix="k3triage-")
        Path(name).unlink()
        self._handle = handle
        self.size = 0
        weakref.finalize(self, os.close, handle)

    def write(self, block: bytes) -> None:
        """Add bytes at the end; ArchiveError where they become too many, OSError where there is no room."""
        if self.size + len(block) > MAX_TOTAL:
            raise ArchiveError(TOO_LARGE)
        view = memoryview(block)
        while view:
            done = os.pwrite(self._handle, view, self.size)
            self.size += done
            view = view[done:]

    def read(self, start: int, size: int) -> bytes:
        """Bytes at a place; fewer at the end of what was written."""
        return os.pread(self._handle, size, start)

    def part(self, start: int, size: int) -> Callable[[], Iterator[bytes]]:
        """What reads a part in blocks."""

        def read() -> Iterator[bytes]:
            for at in range(start, start + size, BLOCK):
                yield self.read(at, min(BLOCK, start + size - at))

        return read


def blocks(file: IO[bytes], start: bytes = b"") -> Iterator[bytes]:
    """What was read of a file already, then its rest."""
    if start:
        yield start
    while block := file.read(BLOCK):
        yield block

"""One growing input of `--follow`: a pipe, or a file that may be rotated, truncated or made anew."""

import os
import select
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from k3triage.errors import InputError, UsageError

if TYPE_CHECKING:
    from k3triage.api import PartialTriage, Triage

_BLOCK = 1 << 20
_FIRST = 256
_STARTING = frozenset(("container_start", "import", "engine_init", "weight_load"))


class Followed:
    """Reads what is new, as `tail -F` does.

    A file that was truncated or replaced is read from its beginning, with lines numbered anew. What the file held
    before stays part of the incident until the new one shows the start of a server: after a rotation in the middle of a
    failure the new file holds nothing but echoes.
    """

    def __init__(self, name: str, make: Callable[[str], "Triage"]) -> None:
        self.name = name
        self.ended = False
        self.behind = False  # more was there than one poll reads: verdicts on the middle of it help nobody
        self._make = make
        self._triage = make(name)
        self._before: PartialTriage | None = None
        self._path = None if name == "-" else Path(name)
        self._file = self._open()
        self._waits = not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._read = 0
        self._first = b""

    def _open(self) -> IO[bytes]:
        if self._path is None:
            if sys.stdin is None:
                raise UsageError("standard input is closed")
            return sys.stdin.buffer
        try:
            return self._path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"cannot follow {self.name}: {error.strerror or error}") from None

    def poll(self, wait: float) -> bool:
        """Read what is there, for at most `wait` seconds without anything; whether something new came."""
        descriptor = self._file.fileno()
        if self._waits:
            if self.ended or not select.select([descriptor], [], [], wait)[0]:
                return False
            data = os.read(descriptor, _BLOCK)
            self.ended = not data
        elif self._path is None:  # standard input is a file: it ends where it ends
            data = os.read(descriptor, _BLOCK)
            self.ended = not data
        else:
            data = b"" if self._overwritten() else os.read(descriptor, _BLOCK)
            if not data and self._replaced():
                # What the writer still put into the old file after the last look at it.
                while rest := os.read(descriptor, _BLOCK):
                    self._triage.feed(rest)
                data = self._renew()
            self._read += len(data)
        self.behind = len(data) == _BLOCK
        if data:
            if len(self._first) < _FIRST:
                self._first += data[: _FIRST - len(self._first)]
            self._triage.feed(data)
        return bool(data)

    def _overwritten(self) -> bool:
        """Whether the file was truncated, also where it has grown beyond the old length since."""
        status = os.fstat(self._file.fileno())
        if status.st_size == self._read:
            return False
        return status.st_size < self._read or os.pread(self._file.fileno(), len(self._first), 0) != self._first

    def _replaced(self) -> bool:
        assert self._path is not None
        if self._overwritten():
            os.lseek(self._file.fileno(), 0, os.SEEK_END)
            return True
        try:
            there = self._path.stat()
        except OSError:  # between the two steps of a rotation
            return False
        here = os.fstat(self._file.fileno())
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)

    def _renew(self) -> bytes:
        try:
            file = self._open()
        except InputError:  # gone again; what was open stays so until there is another one
            return b""
        self._file.close()
        self._file, self._read, self._first = file, 0, b""
        self._before = self._triage.partial().named("before the rotation: ")
        self._triage = self._make(self.name)
        return os.read(file.fileno(), _BLOCK)

    def alarmed(self) -> bool:
        """Whether lines that may tell of a fault have come since this was last asked."""
        return self._triage.alarmed()

    def partial(self) -> "PartialTriage":
        """What is known of this input."""
        partial = self._triage.partial()
        if self._before is None:
            return partial
        if any(row.phase in _STARTING for row in self._triage.report().phases):
            self._before = None
            return partial
        return self._before.merge(partial)

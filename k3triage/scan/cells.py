"""Cuts inputs into cells: pieces of reusable buffers that hold whole lines.

A line that does not fit into a buffer comes as a row of `Piece`s. Cuts depend on where blocks end; what is kept does
not, because nothing that decides about lines looks at cells.
"""

import os
import threading
from collections.abc import Generator, Iterator

from k3triage.model import halt
from k3triage.model.shapes import dataclass

CELL_BYTES = 1 << 20
_SPARE_BUFFERS = 8
# macOS has these since version 11, Windows has none.
_POSITIONED = hasattr(os, "preadv") and hasattr(os, "pread")
_LOOK_BYTES = 16 << 10


@dataclass(slots=True, eq=False)
class Cell:
    """Whole lines: `data[start:stop]`, which begins at byte `offset` of the source. Only the last may lack its LF."""

    data: bytearray
    start: int
    stop: int
    offset: int


@dataclass(slots=True, eq=False)
class Piece:
    """Part of a line longer than a cell may hold; `last` where it ends with the line's LF or the source."""

    data: bytes
    offset: int
    last: bool


class Buffers:
    """Buffers to use again: a fresh one costs a page fault every 4 KiB."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._spare: list[bytearray] = []

    def take(self) -> bytearray:
        """A buffer with any content."""
        return self._spare.pop() if self._spare else bytearray(self.size)

    def give(self, data: bytearray) -> None:
        """Hand a buffer back that nobody reads any more."""
        if len(data) == self.size and len(self._spare) < _SPARE_BUFFERS:
            self._spare.append(data)


class Cutter:
    """Cuts a stream of blocks of any size into cells; a line of more than `line_bytes` comes in pieces."""

    def __init__(self, line_bytes: int, cell: int = CELL_BYTES) -> None:
        # One byte more than the longest line, so that what is full without an LF is too long.
        self.buffers = Buffers(max(cell, line_bytes) + 1)
        self._data = self.buffers.take()
        self._start = self._fill = 0
        self._offset = 0
        self._long = False

    def feed(self, block: bytes) -> Iterator[Cell | Piece]:
        """Take a block in; gives the cells that became full. The generator must be run to its end."""
        with memoryview(block) as view:
            done = 0
            while done < len(block):
                room = min(len(self._data) - self._fill, len(block) - done)
                self._data[self._fill : self._fill + room] = view[done : done + room]
                self._fill += room
                done += room
                if self._fill == len(self._data):
                    yield from self.flush()

    def flush(self, *, end: bool = False) -> Iterator[Cell | Piece]:
        """The whole lines of the buffer, which has no room left. end: or the input has ended, so the last line too."""
        if self._long:
            yield from self._continue(end)
            if self._long:
                return
        cut = self._fill if end else self._data.rfind(b"\n", self._start, self._fill) + 1
        if cut > self._start:
            yield Cell(self._data, self._start, cut, self._offset)
            self._offset += cut - self._start
            self._start = cut
        if end:
            return
        if self._start == 0 and self._fill == len(self._data):
            self._long = True
            yield self._piece(self._fill, last=False)
        self._renew()

    def _continue(self, end: bool) -> Iterator[Piece]:
        cut = self._data.find(b"\n", self._start, self._fill) + 1
        if cut or end:
            self._long = False
            yield self._piece(cut or self._fill, last=True)
        else:
            yield self._piece(self._fill, last=False)
            self._renew()

    def _piece(self, cut: int, last: bool) -> Piece:
        piece = Piece(bytes(self._data[self._start : cut]), self._offset, last)
        self._offset += cut - self._start
        self._start = cut
        return piece

    def _renew(self) -> None:
        """Go on in another buffer: cells that were given out still use this one."""
        rest = self._data[self._start : self._fill]
        self._data = self.buffers.take()
        self._data[: len(rest)] = rest
        self._start, self._fill = 0, len(rest)


class FileCells:
    """Cells of a regular file, whose bytes are read by whoever scans them.

    The file is read, not mapped: one that shrinks meanwhile gives short cells, where a map would kill the process.
    """

    def __init__(self, fd: int, start: int, stop: int, line_bytes: int, cell: int = CELL_BYTES) -> None:
        self._fd = fd
        self._begin = start
        self._stop = stop
        self._cell = cell
        self._line_bytes = line_bytes
        self.buffers = Buffers(cell + line_bytes + 1)
        self._lock = threading.Lock()

    def cells(self) -> Iterator[Cell | Piece]:
        """Cells yet to be filled by `fill`, and pieces of over-long lines, filled."""
        at = self._begin
        while at < self._stop and not halt.asked():
            cut = self._cut(at)
            if cut is None:
                at = yield from self._pieces(at)
            else:
                yield Cell(self.buffers.take(), 0, cut - at, at - self._begin)
                at = cut

    def fill(self, cell: Cell) -> None:
        """Read the cell's bytes; fewer come where the file has shrunk."""
        with memoryview(cell.data) as view:
            have = 0
            while have < cell.stop:
                with view[have : cell.stop] as part:
                    got = self._read(part, self._begin + cell.offset + have)
                if not got:
                    break
                have += got
        cell.stop = have

    def _read(self, part: memoryview, at: int) -> int:
        if _POSITIONED:
            return os.preadv(self._fd, [part], at)
        # Windows has one position a file, which the threads share.
        with self._lock:
            os.lseek(self._fd, at, os.SEEK_SET)
            data = os.read(self._fd, len(part))
        part[: len(data)] = data
        return len(data)

    def _peek(self, size: int, at: int) -> bytes:
        if _POSITIONED:
            return os.pread(self._fd, size, at)
        with self._lock:
            os.lseek(self._fd, at, os.SEEK_SET)
            return os.read(self._fd, size)

    def _cut(self, at: int) -> int | None:
        """Where a cell that begins at `at` ends; None where the line there is too long for a buffer."""
        goal = at + self._cell
        if goal >= self._stop:
            return self._stop
        for part in range(goal - 1, goal + self._line_bytes - 1, _LOOK_BYTES):
            text = self._peek(min(_LOOK_BYTES, goal + self._line_bytes - part, self._stop - part), part)
            found = text.find(b"\n")
            if found >= 0:
                return part + found + 1
            if not text:
                self._stop = max(at, part)
            if part + len(text) >= self._stop:
                return self._stop
        before = self._peek(self._cell, at).rfind(b"\n")
        return at + before + 1 if before >= 0 else None

    def _pieces(self, at: int) -> Generator[Piece, None, int]:
        """The line that begins at `at`, in pieces; returns where the next line begins."""
        while True:
            text = self._peek(min(self._line_bytes, self._stop - at), at)
            cut = text.find(b"\n") + 1
            if not text:
                self._stop = at
            end = at + (cut or len(text))
            last = bool(cut) or end >= self._stop
            yield Piece(text[: end - at], at - self._begin, last)
            at = end
            if last:
                return at

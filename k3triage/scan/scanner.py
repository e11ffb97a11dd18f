"""The scan itself: reads, searches and collects, with threads where they help."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from k3triage.model.anchors import Anchor
from k3triage.scan.anchors import AnchorSet, Limits
from k3triage.scan.cells import CELL_BYTES, Buffers, Cell, Cutter, FileCells, Piece
from k3triage.scan.collect import Collector
from k3triage.scan.crew import Crew
from k3triage.scan.engines import EngineName, Engines
from k3triage.scan.newlines import Counter, count_plain, fast_counter
from k3triage.scan.partial import Partial

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Below this much input threads cost more than they save.
_LARGE = 8 << 20
# The same of a fast counter, which takes 0.1 s to import.
_HUGE = 512 << 20
_BOM = b"\xef\xbb\xbf"

Result = tuple[list[int], int, bool]


class Source(Protocol):
    """What `Scanner.scan` needs of an input."""

    @property
    def path(self) -> Path | None:
        """A regular file that holds the blocks as they are, if there is one."""

    def blocks(self) -> Iterator[bytes]:
        """The content, cut anywhere."""


def default_jobs() -> int:
    """Processors this process may use, at most 4."""
    if hasattr(os, "sched_getaffinity"):
        return min(4, len(os.sched_getaffinity(0)))
    return min(4, os.cpu_count() or 1)


class Scanner:
    """Picks the lines worth reading out of one source.

    engine: "hyperscan", "re" (plain Python) or "auto"; the answers are the same.
    jobs: threads; None takes the number of processors. The answers do not depend on it.
    cell_bytes: bytes searched at once.
    cover: short literals that make the anchors which hold one strong (see `Limits.window_bytes`); none makes all so.

    Either `scan` a source, or `feed` blocks and `close`. A scanner serves one source.
    """

    def __init__(
        self,
        anchors: Sequence[Anchor],
        engine: EngineName = "auto",
        jobs: int | None = None,
        limits: Limits | None = None,
        cell_bytes: int = CELL_BYTES,
        cover: Sequence[bytes] = (),
    ) -> None:
        self._anchors = AnchorSet(anchors, limits, cover)
        self._engines = Engines(self._anchors, engine)
        self._jobs = default_jobs() if jobs is None else max(1, jobs)
        self._cell_bytes = cell_bytes
        self._count: Counter = count_plain
        self._size = 0
        self._cutter: Cutter | None = None
        self._collector: Collector | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._flying: deque[tuple[Cell | Piece, Future[Result] | None]] = deque()

    def scan(self, source: Source) -> Partial:
        """Scan a whole source: read in parallel where it is a regular file.

        Raises OSError as reading does; what was read until then can still be had from `close`.
        """
        path = source.path
        if path is not None and path.is_file():
            with path.open("rb", buffering=0) as file:
                if file.read(len(_BOM)) != _BOM:
                    return self._scan_file(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        for block in source.blocks():
            self.feed(block)
        return self.close()

    def scan_slice(self, path: Path, start: int, stop: int) -> Partial:
        """Scan bytes `start` to `stop` of a file (see `slices`)."""
        with path.open("rb", buffering=0) as file:
            return self._scan_file(file.fileno(), start, stop)

    def _scan_file(self, fd: int, start: int, stop: int) -> Partial:
        self._prepare(stop - start)
        cells = FileCells(fd, start, stop, self._anchors.limits.line_bytes, self._cell_bytes)
        self._collector = self._collect(cells.buffers)
        if self._jobs > 1 and stop - start >= _LARGE:
            crew: Crew[Cell | Piece, Result | None] = Crew(
                self._jobs, lambda cell: self._searched(cell, cells), self._take_in, 2 * self._jobs + 2
            )
            crew.run(cells.cells())
        else:
            self._run(cells.cells(), cells)
        return self.close()

    def _searched(self, cell: Cell | Piece, file: FileCells) -> Result | None:
        return None if isinstance(cell, Piece) else self._search(cell, file)

    def feed(self, block: bytes) -> None:
        """Take in the next block, of any size and cut anywhere."""
        if self._cutter is None:
            self._cutter = Cutter(self._anchors.limits.line_bytes, self._cell_bytes)
            self._collector = self._collect(self._cutter.buffers)
        self._size += len(block)
        self._expect(self._size)
        self._run(self._cutter.feed(block), None)

    def close(self) -> Partial:
        """The result; the source has ended."""
        if self._cutter is not None:
            self._run(self._cutter.flush(end=True), None)
        self._land(0)
        self._stop_threads()
        if self._collector is None:
            return Partial.build(self._anchors, [], {}, 0, 0, {}, False)
        return self._collector.close()

    def _collect(self, buffers: Buffers) -> Collector:
        return Collector(self._anchors, self._engines, buffers, count_plain)

    def _prepare(self, size: int) -> None:
        self._engines.expect(size)
        if size >= _HUGE and self._count is count_plain:
            self._count = fast_counter()

    def _expect(self, size: int) -> None:
        self._prepare(size)
        if size >= _LARGE and self._pool is None and self._jobs > 1:
            # Imported late: it takes as long as scanning a small log.
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._jobs, "k3triage-scan")

    def _run(self, cells: Iterable[Cell | Piece], file: FileCells | None) -> None:
        for cell in cells:
            if isinstance(cell, Piece):
                self._flying.append((cell, None))
            elif self._pool is None:
                self._take_in(cell, self._search(cell, file))
                continue
            else:
                self._flying.append((cell, self._pool.submit(self._search, cell, file)))
            self._land(self._jobs + 1 if self._pool else 0)

    def _land(self, most: int) -> None:
        """Collect finished cells in order until at most so many are under way."""
        while len(self._flying) > most:
            cell, future = self._flying.popleft()
            self._take_in(cell, future.result() if future else None)

    def _take_in(self, cell: Cell | Piece, result: Result | None) -> None:
        assert self._collector is not None
        if isinstance(cell, Piece):
            self._collector.consume_piece(cell)
        elif result is not None:
            self._collector.consume(cell, *result)

    def _search(self, cell: Cell, file: FileCells | None) -> Result:
        if file is not None:
            file.fill(cell)
        newlines = self._count(cell.data, cell.start, cell.stop)
        # The collector may be behind; it has what was passed over searched again where a new attempt began meanwhile.
        if self._collector is not None and cell.offset >= self._collector.window_end and self._engines.alarming:
            direct = self._engines.alarm(cell.data, cell.start, cell.stop)
            if direct is not None:
                return direct, newlines, False
        return self._engines.get().present(cell.data, cell.start, cell.stop), newlines, True

    def _stop_threads(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

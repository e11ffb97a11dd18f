"""Takes scanned cells in order and stores the lines worth keeping, with their numbers and surroundings.

It stores at least what `partial.select` lets through; the budgets here only say which literals need no search any more.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from k3triage.model.records import RawLine
from k3triage.scan.anchors import LINE_COST, AnchorSet
from k3triage.scan.cells import Buffers, Cell, Piece
from k3triage.scan.engines import Engines
from k3triage.scan.longline import LongLine
from k3triage.scan.newlines import Counter
from k3triage.scan.partial import AFTER_LINES, BEFORE_LINES, Budget, Event, Partial, trim
from k3triage.scan.tail import last_lines

_SLACK = 1_000
_EXACT_CELLS = 16
_SAMPLED = 64
_NEVER = 1 << 62


class Collector:
    """State of one source while it is scanned."""

    def __init__(self, anchors: AnchorSet, engines: Engines, buffers: Buffers, count: Counter) -> None:
        self._closed: frozenset[int] = frozenset()
        self._anchors = anchors
        self._context = anchors.limits.context_bytes
        self._engines = engines
        self._buffers = buffers
        self._count = count
        self._budget = Budget(anchors, _SLACK)
        self._pool: dict[int, RawLine] = {}
        self._pool_cost = 0
        self._events: list[Event] = []
        self._ring_pool: dict[int, RawLine] = {}
        self._ring_events: list[Event] = []
        self._head: dict[int, RawLine] = {}
        self._head_open = True
        self._head_room = self._context
        self._dropped: dict[int, int] = {}
        self._closed_cells = 0
        # Cells already read, the newest last, as far back as surroundings and the last lines may reach.
        self._held: deque[Cell] = deque()
        self._held_bytes = 0
        self._cell = Cell(bytearray(), 0, 0, 0)
        self._at = 0
        self._number = 1
        self._size = 0
        self._newlines = 0
        self._ends_open = False
        self._until = 0
        self._room = 0
        self._join = 0
        self._waiting = True
        self._next: dict[int, int] = {}
        self._long: LongLine | None = None
        # Beyond this offset weak anchors do not count.
        self.window_end = anchors.limits.window_bytes if anchors.cover else _NEVER

    # --- cells ---------------------------------------------------------------------------------------------------

    def consume(self, cell: Cell, present: list[int], newlines: int, full: bool = True) -> None:
        """Take the next cell.

        present: ids of the anchors that occur in it. newlines: its line feeds. full: whether weak anchors are among
        them.
        """
        if not full and cell.offset < self.window_end:
            # It was searched before a line ahead of it turned out to begin a new attempt.
            present = self._engines.get().present(cell.data, cell.start, cell.stop)
        self._cell, self._at = cell, cell.start
        self._next.clear()
        first = self._number
        if self._head_open:
            self._take_head(cell)
        self._count_dropped(cell, present)
        start = cell.start
        for stop in self._turns(present):
            # Budgets start anew at a reset, so what is looked for ends with its line.
            self._lines(present, start, stop)
            start = stop
        self._advance(cell.stop)
        self._number = first + newlines
        self._newlines += newlines
        self._size = cell.offset + cell.stop - cell.start
        self._ends_open = cell.stop > cell.start and cell.data[cell.stop - 1] != 10
        self._hold(cell)

    def consume_piece(self, piece: Piece) -> None:
        """Take the next piece of an over-long line."""
        if self._long is None:
            self._long = LongLine(self._anchors, piece.offset)
            self._until = self._join = 0
            self._head_open = False
        self._long.feed(piece.data, piece.last, self._engines.get())
        self._size = piece.offset + len(piece.data)
        if not piece.last:
            return
        long, self._long = self._long, None
        self._ends_open = not piece.data.endswith(b"\n")
        if long.offset >= self.window_end:
            long.ids -= self._anchors.weak
        if long.ids:
            self._cell = Cell(bytearray(), 0, 0, long.offset)
            self._at = 0
            self._event(0, long.data, long.ids)
        self._drop_held(0)
        self._number += not self._ends_open
        self._newlines += not self._ends_open

    def _turns(self, present: list[int]) -> list[int]:
        """Where the cell's resets begin and end, whole lines, and its end; ascending."""
        cell, turns = self._cell, {self._cell.stop}
        for i in self._anchors.resets.intersection(present):
            at = cell.data.find(self._anchors.literals[i], cell.start, cell.stop)
            while at >= 0:
                end = cell.data.find(b"\n", at, cell.stop) + 1 or cell.stop
                turns |= {cell.data.rfind(b"\n", cell.start, at) + 1 or cell.start, end}
                at = cell.data.find(self._anchors.literals[i], end, cell.stop)
        return sorted(turns)

    def _lines(self, present: list[int], start: int, stop: int) -> None:
        """Go through the lines with anchors in `start` to `stop`, which are whole lines."""
        cell = self._cell
        line_end = start - 1
        found: set[int] = set()
        line_start = start
        for at, i in [*self._hits(present, start, stop), (stop + 1, -1)]:
            if at > line_end:
                if found:
                    self._event_at(line_start, line_end, found)
                    found = set()
                if i < 0:
                    break
                line_start = cell.data.rfind(b"\n", start, at) + 1 or start
                line_end = cell.data.find(b"\n", at, stop)
                if line_end < 0:
                    line_end = stop
            found.add(i)

    def _hits(self, present: Iterable[int], start: int, stop: int) -> list[tuple[int, int]]:
        """(position, id), one a line and id, ascending, as far as budgets reach."""
        data = self._cell.data
        hits: list[tuple[int, int]] = []
        weak = self._anchors.weak if self._offset(start) >= self.window_end else frozenset()
        for i in present:
            if i in self._closed or i in weak:
                continue
            literal = self._anchors.literals[i]
            resets = i in self._anchors.resets
            room = self._anchors.first[i] - self._budget.count.get(i, 0)
            at = data.find(literal, start, stop)
            while at >= 0 and (room > 0 or resets):
                hits.append((at, i))
                room -= 1
                end = data.find(b"\n", at, stop)
                if end < 0:
                    at = -1
                    break
                at = data.find(literal, end, stop)
            if at >= 0:
                self._dropped[i] = self._dropped.get(i, 0) + data.count(literal, at, stop)
        hits.sort()
        return hits

    def _count_dropped(self, cell: Cell, present: list[int]) -> None:
        closed = self._closed.intersection(present)
        if not closed:
            return
        self._closed_cells += 1
        times = 1 if self._closed_cells <= _EXACT_CELLS else _SAMPLED
        if times == 1 or self._closed_cells % _SAMPLED == 0:
            for i in closed:
                found = cell.data.count(self._anchors.literals[i], cell.start, cell.stop)
                self._dropped[i] = self._dropped.get(i, 0) + found * times

    # --- lines ---------------------------------------------------------------------------------------------------

    def _event_at(self, start: int, end: int, found: set[int]) -> None:
        if self._offset(start) >= self.window_end:
            found -= self._anchors.weak
            if not found:
                return
        line = bytes(self._cell.data[start:end])
        self._advance(start)
        ids = self._anchors.complete(found, line)
        self._event(start, self._anchors.cut(line), ids)
        self._at = end + 1
        self._number += 1

    def _event(self, start: int, data: bytes, ids: frozenset[int]) -> None:
        """Decide about the line that begins at `start`, where the cursor stands."""
        anchors, number = self._anchors, self._number
        if ids & anchors.resets:
            self._ring(start)
            self._budget.reset()
            self._closed = frozenset()
            self._waiting = True
            if self._anchors.cover:
                self.window_end = self._offset(start) + self._anchors.limits.window_bytes
        granted = self._budget.grant(ids)
        progress = any(i in ids for i in anchors.progress)
        in_window = number <= self._until
        if granted or (progress and self._waiting):
            self._events.append(Event(number, self._offset(start), ids))
            if granted & anchors.faults:
                for line in self._before(start):
                    self._keep(line)
            self._keep(RawLine(self._offset(start), number, data))
        if in_window:
            self._spend(len(data) + 1)
        if granted & anchors.faults:
            self._until, self._room, self._waiting = number + AFTER_LINES, self._context, True
        elif progress:
            self._waiting = False
        if granted & anchors.joins:
            self._join = number + 1
        if any(i not in self._closed and self._budget.count.get(i, 0) >= self._budget.limit(i) for i in ids):
            self._closed = self._budget.closed()

    def _advance(self, goal: int) -> None:
        """Move the cursor to the line that begins at `goal`, keeping what is due on the way."""
        cell = self._cell
        if self._waiting:
            at = self._find_progress(goal)
            if at is not None:
                start = cell.data.rfind(b"\n", cell.start, at) + 1 or cell.start
                end = cell.data.find(b"\n", at, cell.stop)
                end = cell.stop if end < 0 else end
                self._window(start)
                line = bytes(cell.data[start:end])
                ids = self._anchors.complete((), line)
                offset = self._offset(start)
                self._events.append(Event(self._number, offset, ids))
                self._keep(RawLine(offset, self._number, self._anchors.cut(line)))
                if self._number <= self._until:
                    self._spend(end - start + 1)
                self._waiting = False
                self._at = end + 1
                self._number += 1
        self._window(goal)

    def _window(self, goal: int) -> None:
        cell = self._cell
        while self._at < goal and (self._number <= self._until or self._number == self._join):
            end = cell.data.find(b"\n", self._at, cell.stop)
            end = cell.stop if end < 0 else end
            size = end - self._at + 1
            fits = self._number <= self._until and self._spend(size)
            if fits or (self._number == self._join and size <= self._context):
                data = bytes(cell.data[self._at : end])
                self._keep(RawLine(self._offset(self._at), self._number, data))
            self._at = end + 1
            self._number += 1
        if self._at < goal:
            if goal < cell.stop:
                self._number += self._count(cell.data, self._at, goal)
            self._at = goal

    def _spend(self, size: int) -> bool:
        self._room -= size
        if self._room < 0:
            self._until = 0
        return self._room >= 0

    def _find_progress(self, goal: int) -> int | None:
        """Position of the first progress literal from the cursor up to `goal`."""
        data, best = self._cell.data, None
        for i in self._anchors.progress:
            at = self._next.get(i, -2)
            if at == -2 or -1 < at < self._at:
                at = self._next[i] = data.find(self._anchors.literals[i], self._at, self._cell.stop)
            if self._at <= at < goal and (best is None or at < best):
                best = at
        return best

    def _offset(self, at: int) -> int:
        return self._cell.offset + at - self._cell.start

    def _before(self, start: int) -> list[RawLine]:
        """Lines before the cursor that surround a fault."""
        lines: list[RawLine] = []
        if all(n in self._pool for n in range(max(1, self._number - BEFORE_LINES), self._number)):
            return lines
        number, offset, room = self._number, self._offset(start), self._context
        for data in self._backwards(start):
            number -= 1
            offset -= len(data) + 1
            room -= len(data) + 1
            if room < 0 or len(lines) == BEFORE_LINES:
                break
            lines.append(RawLine(offset, number, data))
        return lines

    def _backwards(self, start: int) -> Iterator[bytes]:
        """Lines that end before `start` of the current cell, the nearest first."""
        for cell, stop in [(self._cell, start), *((held, held.stop) for held in reversed(self._held))]:
            while stop > cell.start:
                end = stop - 1
                stop = cell.data.rfind(b"\n", max(cell.start, end - self._context), end) + 1
                if not stop:
                    if end - cell.start > self._context:
                        return
                    stop = cell.start
                yield bytes(cell.data[stop:end])

    def _keep(self, line: RawLine) -> None:
        if line.number in self._pool:
            return
        self._pool[line.number] = line
        self._budget.lines += 1
        self._pool_cost += len(line.data) + LINE_COST
        if self._pool_cost > self._anchors.limits.kept_bytes * 5 // 4:
            self._prune()

    def _prune(self) -> None:
        """Drop the middle of what is stored."""
        self._pool = {n: self._pool[n] for n in trim(sorted(self._pool), self._pool, self._anchors)}
        self._pool_cost = sum(len(line.data) + LINE_COST for line in self._pool.values())
        self._events = [event for event in self._events if event.number in self._pool]

    def _take_head(self, cell: Cell) -> None:
        at, number = cell.start, self._number
        while at < cell.stop and self._head_open:
            end = cell.data.find(b"\n", at, cell.stop)
            end = cell.stop if end < 0 else end
            self._head_room -= end - at + 1
            self._head_open = number <= AFTER_LINES and self._head_room >= 0
            if self._head_open:
                self._head[number] = RawLine(self._offset(at), number, bytes(cell.data[at:end]))
            at, number = end + 1, number + 1

    # --- ends ----------------------------------------------------------------------------------------------------

    def _hold(self, cell: Cell) -> None:
        self._held.append(cell)
        self._held_bytes += cell.stop - cell.start
        self._drop_held(self._anchors.limits.tail_bytes + self._context)

    def _drop_held(self, needed: int) -> None:
        while self._held and self._held_bytes - (self._held[0].stop - self._held[0].start) >= needed:
            old = self._held.popleft()
            self._held_bytes -= old.stop - old.start
            # Cells of a slow stream share a buffer.
            if all(cell.data is not old.data for cell in self._held):
                self._buffers.give(old.data)

    def _ring(self, start: int) -> None:
        """Store the last lines, before `start`, of literals that have had their share."""
        if not self._closed:
            return
        parts = [bytes(cell.data[cell.start : cell.stop]) for cell in self._held]
        text = b"".join([*parts, bytes(self._cell.data[self._cell.start : start])])
        engine = self._engines.get()
        found = last_lines(text, self._number, self._offset(start), self._anchors, engine, self._closed)
        self._ring_events += found.events
        self._ring_pool.update(found.pool)
        if found.until >= self._number and found.until > self._until:
            self._until, self._room = found.until, max(self._room, found.room)

    def close(self) -> Partial:
        """The result."""
        size, self._cell, self._at = self._size, Cell(bytearray(), 0, 0, self._size), 0
        end = self._newlines + self._ends_open
        self._number = end + 1
        self._ring(0)
        pool = {**self._ring_pool, **self._head, **self._pool}
        dropped = {self._anchors.literals[i]: n for i, n in sorted(self._dropped.items())}
        number, offset = end + 1, size + (1 if self._ends_open else 0)
        for data in self._tail_lines():
            number, offset = number - 1, offset - len(data) - 1
            pool.setdefault(number, RawLine(offset, number, data))
        events = {event.number: event for event in self._ring_events}
        for event in self._events:
            other = events.get(event.number)
            events[event.number] = Event(event.number, event.offset, event.ids | (other.ids if other else frozenset()))
        ordered = [events[n] for n in sorted(events)]
        return Partial.build(self._anchors, ordered, pool, size, self._newlines, dropped, self._ends_open)

    def _tail_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        text = b"".join(bytes(cell.data[cell.start : cell.stop]) for cell in self._held)
        room = self._context
        for data in reversed(text.removesuffix(b"\n").split(b"\n") if text else []):
            room -= len(data) + 1
            if room < 0 or len(lines) == BEFORE_LINES:
                break
            lines.append(data)
        return lines

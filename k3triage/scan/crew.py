"""Threads that search the cells of a file, each taking the next one; what they find is landed in order.

There is no thread that hands work out: waking one for each cell costs as much as searching half of it. Whoever has
searched the cell whose turn it is lands it, and those behind it that are ready.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Work = TypeVar("Work")
Found = TypeVar("Found")


class Crew(Generic[Work, Found]):
    """So many threads, the caller's among them.

    search: runs in any thread. land: runs in one thread at a time, for each piece of work in order. ahead: how many may
    be searched and not landed. An error in either stops all and is raised by `run`.
    """

    def __init__(
        self,
        threads: int,
        search: Callable[[Work], Found],
        land: Callable[[Work, Found], None],
        ahead: int,
    ) -> None:
        self._threads = threads
        self._search = search
        self._land = land
        self._taking = threading.Lock()
        self._landing = threading.Lock()
        self._room = threading.Semaphore(ahead)
        self._ready: dict[int, tuple[Work, Found]] = {}
        self._taken = self._landed = 0
        self._error: BaseException | None = None

    def run(self, work: Iterator[Work]) -> None:
        """Do all the work."""
        helpers = [
            threading.Thread(target=self._help, args=(work,), name=f"k3triage-scan-{number}", daemon=True)
            for number in range(1, self._threads)
        ]
        for helper in helpers:
            helper.start()
        self._help(work)
        for helper in helpers:
            helper.join()
        if self._error is not None:
            raise self._error

    def _help(self, work: Iterator[Work]) -> None:
        try:
            while self._error is None and self._step(work):
                pass
        except BaseException as error:
            self._error = self._error or error
            # Nobody may wait for the room of what will not land any more.
            for _ in range(self._threads):
                self._room.release()

    def _step(self, work: Iterator[Work]) -> bool:
        self._room.acquire()
        with self._taking:
            item = next(work, None)
            number = self._taken
            self._taken += item is not None
        if item is None or self._error is not None:
            self._room.release()
            return False
        found = self._search(item)
        with self._landing:
            self._ready[number] = item, found
            while self._landed in self._ready:
                self._land(*self._ready.pop(self._landed))
                self._landed += 1
                self._room.release()
        return True

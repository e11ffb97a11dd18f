"""New starts that only a worker's log shows: a rank joins under a process id other than before.

Such a log holds no line of the server's own start. Its head may be cut off, so what counts is whom the lines before
name: the rank, or a worker's numbered name.
"""

from collections.abc import Sequence

from k3triage.diagnose.parsed import process_of
from k3triage.model.lazy import lazy
from k3triage.model.records import Line

_SAID = lazy(r"\brank[= ](\d{1,6}) (?:in world size|local_rank|n[Rr]anks)")
# A rank that joins so soon after a failure is one of the same start, late.
_SECONDS = 5.0


class Joiners:
    """Who spoke under which process id, and from which line on."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._first: dict[str, list[tuple[int, int]]] = {}
        self._keys: dict[int, set[str]] = {}
        for index, line in enumerate(lines):
            process = process_of(line)
            pid = process.pid
            if pid is None:
                continue
            known = self._keys.setdefault(pid, set())
            name = process.name
            if name is not None and name not in known and name[-1:].isdigit():
                self._add(name, index, pid, known)
            message = line.header.message
            if "rank" in message and (said := _SAID.search(message)) is not None and said[0][:4] == "rank":
                key = f"rank {said[1]}"
                if key not in known:
                    self._add(key, index, pid, known)

    def _add(self, key: str, index: int, pid: int, known: set[str]) -> None:
        known.add(key)
        self._first.setdefault(key, []).append((index, pid))

    def again(self, index: int, line: Line, since: int) -> bool:
        """Whether who joins at `index` was there under another process id, at line `since` or later."""
        pid = process_of(line).pid
        if pid is None:
            return False
        return any(
            since <= first < index and other != pid
            for key in self._keys.get(pid, ())
            for first, other in self._first[key]
        )


def late(failed: float | None, joined: float | None) -> bool:
    """Whether a join comes long enough after a failure to be a new start; clocks that are not known do not object."""
    return failed is None or joined is None or joined - failed >= _SECONDS

"""Which literals occur in a piece of a buffer: Hyperscan for large inputs, plain `bytes.find` otherwise.

Both only say which literals are present. Where they are is then found with `bytes.find` for those alone, by the same
code for both, so their answers cannot differ and a line that matches often does not cost a callback each time.
"""

import threading
from collections.abc import Callable
from typing import Any, Literal, Protocol

from k3triage.scan.anchors import AnchorSet

EngineName = Literal["auto", "hyperscan", "re"]

# Bytes times literals above which importing and compiling Hyperscan (15 ms) is repaid.
AUTO_WORK = 40_000_000


class Engine(Protocol):
    """Tells which of its literals occur."""

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""


class FindEngine:
    """One `find` a literal: each stops at the first occurrence, and long absent literals skip fast."""

    def __init__(self, anchors: AnchorSet, active: tuple[int, ...]) -> None:
        self._literals = [(i, anchors.literals[i]) for i in active]

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""
        find = data.find
        return [i for i, literal in self._literals if find(literal, start, stop) >= 0]


class HyperscanEngine:
    """One Hyperscan block-mode database; a literal reports once a scan.

    Several threads may call it at once: the database is shared, each thread has its own scratch space, and a scan
    holds the interpreter's lock only inside the callbacks.
    """

    def __init__(self, anchors: AnchorSet, active: tuple[int, ...]) -> None:
        import hyperscan

        self._scratch: Callable[[Any], Any] = hyperscan.Scratch
        self._local = threading.local()
        self._database: Any = None
        if not active:
            return
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[anchors.literals[i] for i in active],
            ids=list(active),
            elements=len(active),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(active),
            literal=True,
        )

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""
        if self._database is None or start >= stop:
            return []
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._scratch(self._database)
        found: list[int] = []

        def on_match(i: int, _from: int, _to: int, _flags: int, _context: object) -> None:
            found.append(i)

        with memoryview(data) as view, view[start:stop] as part:
            self._database.scan(part, on_match, scratch=scratch)
        found.sort()
        return found


def hyperscan_available() -> bool:
    """Whether Hyperscan imports here."""
    try:
        import hyperscan  # noqa: F401
    except ImportError:
        return False
    return True


class Engines:
    """Makes the engine for a set of anchors that are still wanted, and keeps those made.

    name: "auto" takes Hyperscan once the work is large enough and it imports.
    Raises ImportError where "hyperscan" is asked for and missing.
    """

    def __init__(self, anchors: AnchorSet, name: EngineName) -> None:
        if name not in ("auto", "hyperscan", "re"):
            raise ValueError(f"no such engine: {name!r}")
        self._anchors = anchors
        self._auto = name == "auto"
        self._compiled = name == "hyperscan"
        self._made: dict[tuple[bool, frozenset[int]], Engine] = {}
        self._lock = threading.Lock()
        if self._compiled:
            import hyperscan  # noqa: F401

    def expect(self, size: int) -> None:
        """Say that at least `size` bytes will be scanned in all: settles what "auto" means."""
        if self._auto and size * len(self._anchors.literals) > AUTO_WORK:
            self._auto = False
            self._compiled = hyperscan_available()

    def get(self, closed: frozenset[int]) -> Engine:
        """The engine for all anchors but those in `closed`."""
        key = (self._compiled, closed)
        with self._lock:
            engine = self._made.get(key)
            if engine is None:
                make = HyperscanEngine if self._compiled else FindEngine
                engine = self._made[key] = make(self._anchors, self._anchors.active(closed))
            return engine

"""Which literals occur in a piece of a buffer: Hyperscan for large inputs, plain Python otherwise.

Both only say which literals are present. Where they are is then found with `bytes.find` for those alone, by the same
code for both, so their answers cannot differ and a literal that occurs often does not cost a callback each time.
"""

import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Literal, Protocol

from k3triage.cache import load_or_make
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.masked import MaskedEngine

EngineName = Literal["auto", "hyperscan", "re"]

# Bytes from which on importing Hyperscan and loading its database (15 ms) is repaid.
AUTO_BYTES = 192 << 10
_ALARMED = 32
# With three or more literals of four bytes Hyperscan looks at every second byte, otherwise at every fourth, where it
# stops twice as often for nothing and is the slower for it. These occur in no text; in others they are a false alarm.
_PADDING = (b"\x01\x02\x01\x02", b"\x01\x01\x02\x02", b"\x02\x01\x02\x01")
_ENGINES = 6


class Engine(Protocol):
    """Tells which of its literals occur."""

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""


class HyperscanEngine:
    """One Hyperscan block-mode database; a literal reports once a scan.

    Several threads may call it at once: the database is shared, each thread has its own scratch space, and a scan
    holds the interpreter's lock only inside the callbacks. Raises ImportError where Hyperscan is not installed.
    """

    def __init__(self, literals: dict[int, bytes]) -> None:
        import platform

        import hyperscan

        self._scratch: Callable[[Any], Any] = hyperscan.Scratch
        self._local = threading.local()
        self._database: Any = None
        # The binding passes literals as C strings, which end at a NUL.
        self._plain = {i: literal for i, literal in literals.items() if b"\0" in literal}
        literals = {i: literal for i, literal in literals.items() if i not in self._plain}
        if not literals:
            return

        def compile_database() -> Any:
            database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
            database.compile(
                expressions=list(literals.values()),
                ids=list(literals),
                elements=len(literals),
                flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(literals),
                literal=True,
            )
            return database

        # Loading takes 0.1 ms where compiling two thousand literals takes 40; what was made for another processor
        # or release is refused by Hyperscan itself.
        version = getattr(hyperscan, "__version__", "")
        key = "\0".join([version, platform.machine(), platform.node(), repr(literals)])
        stored = load_or_make("hyperscan", key, lambda: bytes(hyperscan.dumpb(compile_database())))
        try:
            self._database = hyperscan.loadb(stored, hyperscan.HS_MODE_BLOCK)
            self._local.scratch = self._scratch(self._database)
        except hyperscan.error:
            self._database = compile_database()

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""
        found = [i for i, literal in self._plain.items() if data.find(literal, start, stop) >= 0]
        if self._database is None or start >= stop:
            return found
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._scratch(self._database)

        def on_match(i: int, _from: int, _to: int, _flags: int, _context: object) -> None:
            found.append(i)

        with memoryview(data) as view, view[start:stop] as part:
            self._database.scan(part, on_match, scratch=scratch)
        found.sort()
        return found


class Alarms:
    """Tells blocks that hold nothing but direct anchors from those that deserve a full search."""

    def __init__(self, anchors: AnchorSet) -> None:
        self._alarms = dict(enumerate((*anchors.alarms, *_PADDING)))
        self._direct = anchors.direct
        # By the direct anchors that the engine searches for.
        self._engines: dict[frozenset[int], HyperscanEngine] = {}
        self._lock = threading.Lock()
        self._recent = 0
        self._common: frozenset[int] = frozenset()

    def present(self, data: bytearray, start: int, stop: int) -> list[int] | None:
        """See `Engines.alarm`."""
        if self._recent > _ALARMED:
            # Where most blocks are full of anchors, asking first is a waste; ask again now and then.
            self._recent -= 1
            return None
        # A literal that every tenth line holds is found at once by a plain search, and slows Hyperscan down.
        common = self._common
        seen = [i for i in common if data.find(self._direct[i], start, stop) >= 0]
        found = self._engine(self._direct.keys() - common).present(data, start, stop)
        if found and found[0] < len(self._alarms):
            self._recent = min(self._recent + 2, 2 * _ALARMED)
            return None
        self._recent = max(0, self._recent - 1)
        now = frozenset((*seen, *(number - len(self._alarms) for number in found)))
        self._common = now
        return sorted(now)

    def _engine(self, sought: AbstractSet[int]) -> HyperscanEngine:
        key = frozenset(sought)
        with self._lock:
            engine = self._engines.get(key)
            if engine is None and len(self._engines) >= _ENGINES:
                key = frozenset(self._direct)
                engine = self._engines.get(key)
            if engine is None:
                direct = {len(self._alarms) + i: self._direct[i] for i in sorted(key)}
                engine = self._engines[key] = HyperscanEngine({**self._alarms, **direct})
        return engine


def hyperscan_available() -> bool:
    """Whether Hyperscan imports here."""
    try:
        import hyperscan  # noqa: F401
    except ImportError:
        return False
    return True


class Engines:
    """Chooses and makes the engine when it is first wanted.

    name: "hyperscan", "re" (plain Python), or "auto", which takes Hyperscan for large inputs where it imports.
    Raises ImportError where "hyperscan" is asked for and missing, ValueError for other names.
    """

    def __init__(self, anchors: AnchorSet, name: EngineName) -> None:
        if name not in ("auto", "hyperscan", "re"):
            raise ValueError(f"no such engine: {name!r}")
        self._anchors = anchors
        self._alarms: Alarms | None = None
        self._making = threading.Lock()
        self._literals = anchors.sought
        self._auto = name == "auto"
        self._engine: Engine | None = HyperscanEngine(self._literals) if name == "hyperscan" else None

    def expect(self, size: int) -> None:
        """Say that at least `size` bytes will be searched in all: settles what "auto" means."""
        if self._auto and size > AUTO_BYTES:
            self._auto = False
            if hyperscan_available():
                self._engine = HyperscanEngine(self._literals)

    def alarm(self, data: bytearray, start: int, stop: int) -> list[int] | None:
        """The direct anchors in `data[start:stop]`; None where there is more, so that it must be searched for all."""
        if self._alarms is None:
            with self._making:
                if self._alarms is None:
                    self._alarms = Alarms(self._anchors)
        return self._alarms.present(data, start, stop)

    @property
    def alarming(self) -> bool:
        """Whether `alarm` is of use: only Hyperscan gains by it."""
        return bool(self._anchors.cover) and isinstance(self._engine, HyperscanEngine)

    def get(self) -> Engine:
        """The engine for all anchors that are searched for."""
        if self._engine is None:
            self._engine = MaskedEngine(self._literals)
        return self._engine

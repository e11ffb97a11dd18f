"""The engine without Hyperscan: searches each *kind* of line once, however often it comes.

Logs repeat themselves: without digits (and the letters of hexadecimal numbers) most lines equal one seen before. What
is deleted from a line is deleted from a literal too, so a literal can only occur in a line if its masked form occurs
in the line's. Masked lines are remembered with the literals they may hold; only new ones are searched.
"""

import threading

_DELETED = b"0123456789abcdef,"
_WORDS = bytes(c if chr(c).isascii() and chr(c).isalpha() else 32 for c in range(256))
_REMEMBERED_BYTES = 8 << 20
# Less than this is searched as it stands: the tables would take longer.
_SMALL = 16 << 10


class MaskedEngine:
    """About 0.4 GB/s on logs that repeat themselves, 0.01 on text that does not; holds the interpreter's lock."""

    def __init__(self, literals: dict[int, bytes], small: int = _SMALL) -> None:
        self._literals = literals
        self._small = small
        self._ready = False
        self._lock = threading.Lock()

    def _prepare(self) -> None:
        literals = self._literals
        self._masked = {i: literal.translate(None, _DELETED) for i, literal in literals.items()}
        # A literal's longest run of letters: it lies within one word of any text that holds the literal.
        self._runs: dict[bytes, list[int]] = {}
        for i, masked in self._masked.items():
            run = max(masked.translate(_WORDS).split(), key=len, default=b"")
            self._runs.setdefault(run, []).append(i)
        self._unseen = sorted(self._runs)
        self._possible: list[int] = []
        self._clean: set[bytes] = set()
        self._hot: dict[bytes, tuple[int, ...]] = {}
        self._words: set[bytes] = set()
        self._bytes = 0
        self._ready = True

    def present(self, data: bytes | bytearray, start: int, stop: int) -> list[int]:
        """Ids of the literals that occur in `data[start:stop]`, ascending."""
        if stop - start < self._small:
            return [i for i, literal in self._literals.items() if data.find(literal, start, stop) >= 0]
        with memoryview(data) as view:
            lines = set(bytes(view[start:stop]).translate(None, _DELETED).split(b"\n"))
        with self._lock:
            if not self._ready:
                self._prepare()
            new = lines.difference(self._clean, self._hot)
            if new:
                self._learn(new)
            maybe = {i for line in lines & self._hot.keys() for i in self._hot[line]}
        return sorted(i for i in maybe if data.find(self._literals[i], start, stop) >= 0)

    def _learn(self, lines: set[bytes]) -> None:
        """Remember for each of these masked lines which literals it may hold."""
        text = b"\n".join(lines)
        if self._bytes > _REMEMBERED_BYTES:
            self._clean.clear()
            self._hot.clear()
            self._words.clear()
            self._bytes = 0
        self._bytes += 2 * len(text)
        words = set(text.translate(_WORDS).split()) - self._words
        self._words |= words
        together = b" ".join(words)
        seen = [run for run in self._unseen if run in together]
        if seen:
            self._unseen = [run for run in self._unseen if run not in together]
            self._possible += [i for run in seen for i in self._runs[run]]
        found = [(i, self._masked[i]) for i in self._possible if self._masked[i] in text]
        for line in lines:
            ids = tuple(i for i, masked in found if masked in line)
            if ids:
                self._hot[line] = ids
            else:
                self._clean.add(line)

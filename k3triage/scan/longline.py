"""Scans a line that is too long to be held, piece by piece."""

from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engine


class LongLine:
    """One over-long line: which anchors it holds, and what is kept of it.

    Memory: two pieces. offset: where the line begins in the source.
    """

    def __init__(self, anchors: AnchorSet, offset: int) -> None:
        self.offset = offset
        self.ids: frozenset[int] = frozenset()
        self._anchors = anchors
        self._overlap = max((len(literal) for literal in anchors.literals), default=1)
        self._half = anchors.limits.cut_bytes // 2
        self._tail = b""
        self._kept = b""

    def feed(self, piece: bytes, last: bool, engine: Engine) -> None:
        """Take the next piece; `last` where the line ends with it (its LF included)."""
        if last:
            piece = piece.removesuffix(b"\n")
        text = self._tail + piece
        found = self._anchors.complete(engine.present(text, 0, len(text)), text)
        if self._kept:
            self._kept += piece[: self._anchors.limits.cut_bytes - len(self._kept)]
        elif found:
            at = min(text.find(self._anchors.literals[i]) for i in found)
            # What begins in the overlap is seen again with the next piece, maybe after an anchor that begins earlier.
            if last or at <= len(text) - self._overlap:
                start = max(0, at - self._half)
                self._kept = text[start : start + self._anchors.limits.cut_bytes]
        self.ids |= found
        cut = self._anchors.limits.cut_bytes
        if last and self._kept and len(self._kept) < cut:
            self._kept = text[-cut:]
        self._tail = text[-(cut + self._overlap) :]

    @property
    def data(self) -> bytes:
        """Up to `cut_bytes` around the first anchor; empty without one."""
        return self._kept

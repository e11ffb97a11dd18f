"""Cuts a file as callers of `scan_slice` have to: where lines begin."""

import contextlib
import itertools
from pathlib import Path


def slices(path: Path, parts: int) -> list[tuple[int, int]]:
    """Up to `parts` stretches (start, stop) of the file, together all of it, each beginning at a line."""
    size = path.stat().st_size
    cuts = {0, size}
    with path.open("rb") as file:
        for part in range(1, parts):
            file.seek(size * part // parts - 1 if size * part // parts else 0)
            with contextlib.suppress(OSError):
                while text := file.read(64 << 10):
                    found = text.find(b"\n")
                    if found >= 0:
                        cuts.add(min(size, file.tell() - len(text) + found + 1))
                        break
    ordered = sorted(cuts)
    return list(itertools.pairwise(ordered))

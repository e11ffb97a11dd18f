"""Scans one file with the scanner alone: `python benchmarks/scan_file.py FILE --jobs 2 --engine auto`.

Anchors: the yardstick's literals (those that healthy logs print are markers, the others faults), or the rule pack's.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from k3triage.scan import Anchor, Scanner  # noqa: E402

LITERALS = HERE / "yardstick_literals.txt"
HEALTHY = {
    b"Application startup complete",
    b"Loading weights took",
    b"Available KV cache memory",
    b"GPU KV cache size",
    b"Starting to load model",
    b"enable_prefix_caching",
}
EXTRA = [
    Anchor(b"vLLM API server version", "marker", resets=True),
    Anchor(b'" 200 OK', "progress"),
    Anchor(b"Avg generation throughput", "progress"),
    Anchor(b"Prefix cache hit rate", "stat"),
]


class File:
    """A file as the scanner's source; `piped` hides that it can be read in parallel."""

    def __init__(self, path: Path, piped: bool) -> None:
        self._path = path
        self.path = None if piped else path

    def blocks(self) -> Iterator[bytes]:
        """The file in blocks of 256 KiB."""
        with self._path.open("rb", buffering=0) as file:
            while block := file.read(256 << 10):
                yield block


def anchors(pack: bool) -> list[Anchor]:
    if pack:
        from k3triage.rules import load_pack

        return list(load_pack().anchors)
    literals = [line for line in LITERALS.read_bytes().split(b"\n") if line]
    return [*(Anchor(line, "marker" if line in HEALTHY else "fault") for line in literals), *EXTRA]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--piped", action="store_true")
    parser.add_argument("--pack", action="store_true", help="anchors of the rule pack instead of the yardstick's")
    options = parser.parse_args()
    scanner = Scanner(anchors(options.pack), engine=options.engine, jobs=options.jobs)
    partial = scanner.scan(File(options.path, options.piped))
    print(len(partial.lines), "of", partial.newlines, "lines kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())

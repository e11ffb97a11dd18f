"""What most log checkers do: one regular expression, line by line. `python benchmarks/line_loop.py FILE`."""

import re
import sys
from pathlib import Path

LITERALS = Path(__file__).resolve().parent / "yardstick_literals.txt"


def main() -> int:
    literals = [line for line in LITERALS.read_bytes().split(b"\n") if line]
    search = re.compile(b"|".join(map(re.escape, literals))).search
    with Path(sys.argv[1]).open("rb") as file:
        print(sum(1 for line in file if search(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

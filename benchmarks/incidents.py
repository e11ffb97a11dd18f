"""Measures how many synthetic incidents are solved: `python benchmarks/incidents.py [seeds] [first]`.

Prints the share of right layers and lines, and of incidents whose missing witness is named, with every failing seed.
"""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from k3triage.api import triage
from k3triage.model.report import Report
from tests.incidents.generator import Incident, make

DEFAULT_SEEDS = 2_000


def reports(seeds: range, *, removed: bool) -> Iterator[tuple[Incident, Report]]:
    """Every incident with its report."""
    for seed in seeds:
        incident = make(seed, removed=removed)
        if incident is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, lines in incident.files.items():
                Path(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8")
            os.chdir(folder)
            report = triage(*incident.files, jobs=1)
            os.chdir("/")
        yield incident, report


def main() -> int:
    """0 where both shares reach their goal."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SEEDS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seeds = range(first, first + count)
    wrong: Counter[str] = Counter()
    solved = total = 0
    for incident, report in reports(seeds, removed=False):
        total += 1
        if all(incident.right(report)):
            solved += 1
        else:
            wrong[f"{incident.fault.name} (seed {incident.seed})"] += 1
    named = tried = 0
    for incident, report in reports(seeds, removed=True):
        tried += 1
        if incident.names_absent(report):
            named += 1
        else:
            wrong[f"{incident.fault.name} without its witness (seed {incident.seed})"] += 1
    print(f"root found: {solved} of {total} ({solved / total:.1%})")
    print(f"missing witness named: {named} of {tried} ({named / tried:.1%})")
    for name in sorted(wrong):
        print(f"  {name}")
    return 0 if solved >= 0.97 * total and named >= 0.95 * tried else 1


if __name__ == "__main__":
    raise SystemExit(main())

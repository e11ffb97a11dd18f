"""How much of a folder of facts the rules know: each known message is put into a plain log line and triaged.

    python benchmarks/coverage.py [FACTS_FOLDER] [--min 0.97] [--all]

FACTS_FOLDER (default: ../shared/facts beside the checkout) holds the tables that TABLES names. For each table and
role the report says how many rows are recognised with the right layer, and names the others. Shapes are filled with
example values; what no single line shows (an out-of-memory error during one phase, a pair of lines) has its text in
coverage_samples.toml, and so has what reading a row changed in its layer or role ("by hand" counts both). Ends with 1
where the root rows of a table fall below --min.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from k3triage.diagnose.findings import ERROR_LINE, UNHANDLED
from k3triage.model.report import Report
from k3triage.rulecheck import triage_text
from k3triage.rules import load_pack

sys.path.insert(0, str(Path(__file__).parent))
from coverage_tables import TABLES, Row

UNKNOWN = (ERROR_LINE, UNHANDLED)


@dataclass
class Score:
    """Rows of one table and role: all, those written by hand, and those not recognised with what was found instead."""

    total: int = 0
    reviewed: int = 0
    missed: list[str] = field(default_factory=list)


def judge(row: Row, report: Report) -> str | None:
    """None where the report knows the message as what it is, else what it says instead."""
    known = [finding for finding in report.findings if finding.cause not in UNKNOWN]
    verdict = report.verdict
    if row.role == "benign":
        return None if report.status == "healthy" else str(verdict.cause if verdict else report.status)
    if row.role == "cascade":
        if report.status == "diagnosed" and verdict is not None and verdict.layer not in row.layers:
            return f"taken for the cause: {verdict.cause}"
        return None if known else "not recognised"
    if verdict is None:
        return f"no failure found ({', '.join(f.cause for f in report.findings) or 'nothing'})"
    if verdict.cause in UNKNOWN:
        return "not recognised"
    return None if verdict.layer in row.layers else f"{verdict.cause} instead of {' or '.join(sorted(row.layers))}"


def measure(rows: Iterator[Row], check: Callable[[str], Report]) -> dict[str, Score]:
    """Scores of one table by role; a row with several wordings counts only where all of them are known."""
    scores: dict[str, Score] = {}
    for row in rows:
        score = scores.setdefault(row.role, Score())
        score.total += 1
        score.reviewed += row.reviewed
        for text in row.texts:
            problem = row.event_problem(text) or judge(row, check(text))
            if problem is not None:
                score.missed.append(f"{row.name}: {problem}")
                break
    return scores


def main(words: Sequence[str] | None = None) -> int:
    """Print the report; 1 where a table's root rows are below the least share, 2 without facts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("facts", nargs="?", type=Path, help="folder of facts")
    parser.add_argument("--min", type=float, default=0.97, help="least share of each table's root rows")
    parser.add_argument("--all", action="store_true", help="hold cascade and benign rows to it too")
    options = parser.parse_args(words)
    facts = options.facts or Path(__file__).resolve().parents[2] / "shared" / "facts"
    if not facts.is_dir():
        print(f"{facts}: no such folder of facts", file=sys.stderr)
        return 2
    pack = load_pack()
    samples = tomllib.loads((Path(__file__).parent / "coverage_samples.toml").read_text(encoding="utf-8"))
    failed = False
    for name, read in TABLES.items():
        for role, score in measure(read(facts, samples), lambda text: triage_text(text, pack)).items():
            known = score.total - len(score.missed)
            share = known / score.total
            low = share < options.min and (role == "root" or options.all)
            failed |= low
            mark = "  TOO LOW" if low else ""
            print(f"{name:16} {role:8} {known:4} of {score.total:4} {share:6.1%}  {score.reviewed:3} by hand{mark}")
            for line in score.missed:
                print(f"    {line}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

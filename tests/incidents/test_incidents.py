"""Synthetic incidents of many ranks and nodes: the root is found, and where its witness is gone, it is asked for.

`python benchmarks/incidents.py` runs all 2,000 seeds; here some of each fault run.
"""

import random

import pytest

from tests.incidents.conftest import Run
from tests.incidents.faults import FAULTS
from tests.incidents.generator import make

SEEDS = 120
REMOVED = 80


def test_enough_kinds_of_faults() -> None:
    assert len(FAULTS) >= 20
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_the_root_is_found(run: Run) -> None:
    wrong: list[str] = []
    for seed in range(SEEDS):
        incident = make(seed)
        assert incident is not None
        layer, line = incident.right(run(incident))
        if not (layer and line):
            wrong.append(f"{seed} {incident.fault.name} layer={layer} line={line}")
    assert len(wrong) <= SEEDS * 0.03, wrong


def test_a_missing_witness_is_asked_for(run: Run) -> None:
    wrong: list[str] = []
    tried = 0
    for seed in range(5000, 5000 + REMOVED):
        incident = make(seed, removed=True)
        if incident is None:
            continue
        tried += 1
        if not incident.names_absent(run(incident)):
            wrong.append(f"{seed} {incident.fault.name}")
    assert tried > REMOVED / 2
    assert len(wrong) <= tried * 0.05, wrong


@pytest.mark.parametrize("seed", [1, 4, 7, 9, 15, 17, 18])
def test_the_order_of_the_inputs_does_not_matter(run: Run, seed: int) -> None:
    incident = make(seed + 2000)
    assert incident is not None
    names = list(incident.files)
    first = run(incident, names)
    for shuffle in range(3):
        random.Random(shuffle).shuffle(names)
        again = run(incident, names)
        assert again.verdict == first.verdict
        assert again.status == first.status
        assert again.timeline == first.timeline
        assert [item.source for item in again.inputs] == names


def test_the_timeline_is_bounded_and_holds_the_root(run: Run) -> None:
    big = max((make(seed) for seed in range(0, 400, 20)), key=lambda incident: len(incident.files))  # type: ignore[union-attr]
    assert big is not None
    report = run(big)
    assert report.verdict is not None
    assert 2 <= len(report.timeline) <= 30
    first = report.verdict.first_anomaly
    assert (first.source, first.line) in {(row.source, row.line) for row in report.timeline}
    causes = {row.what for row in report.timeline}
    assert all(row.explained_by is None or row.explained_by in causes for row in report.timeline)

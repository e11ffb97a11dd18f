"""Runs the program on logs that its rules' authors did not write, and compares layer, line and status with the labels."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from k3triage import triage

CASES = Path(__file__).parents[1] / "fixtures" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/expect.toml"))


def expectation(name: str) -> dict[str, Any]:
    """The labels of a case; see fixtures/cases/*/expect.toml for the keys."""
    return tomllib.loads((CASES / name / "expect.toml").read_text(encoding="utf-8"))


def accepted_places(want: dict[str, Any]) -> set[tuple[str, int]]:
    """(file name, 1-based physical line) pairs that are right."""
    home = want.get("file", want["inputs"][0])
    places = {(home, line) for line in (want["line"], *want.get("also_accept_lines", []))}
    return places | {(other["file"], other["line"]) for other in want.get("also_accept_other_files", [])}


def test_there_are_cases() -> None:
    assert len(NAMES) > 50


@pytest.mark.parametrize("name", NAMES)
def test_fixture(name: str) -> None:
    want = expectation(name)
    report = triage(*(CASES / name / file for file in want["inputs"]))
    if "status" in want:
        assert str(report.status) == want["status"]
    if want["layer"] == "none":
        assert str(report.status) == "healthy"
        return
    verdict = report.verdict
    assert verdict is not None, f"no verdict, status {report.status}"
    assert str(verdict.layer) in {want["layer"], *want["accept"]}
    first = verdict.first_anomaly
    assert first is not None
    assert (Path(first.source).name, first.line) in accepted_places(want)

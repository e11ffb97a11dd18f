"""Runs an incident through the whole program, in a folder of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from k3triage.api import triage
from k3triage.model.report import Report
from tests.incidents.generator import Incident

Run = Callable[..., Report]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run(incident)` or `run({name: text}, order)`: the report on its files, given in that order."""

    def run_(given: Incident | dict[str, str], order: Sequence[str] | None = None) -> Report:
        files = (
            {name: "\n".join(lines) + "\n" for name, lines in given.files.items()}
            if isinstance(given, Incident)
            else given
        )
        for old in tmp_path.iterdir():
            old.unlink()
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return triage(*(order or list(files)), jobs=1)

    return run_

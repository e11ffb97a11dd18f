"""pytest plugin: rule files are tests. Say in pytest's settings which folders hold them:

    [tool.pytest.ini_options]
    k3triage_rules = ["rules"]

Each file becomes a test of its form, and one of each example and look-alike. Without the setting nothing is collected,
and nothing of k3triage beyond this module is loaded.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from k3triage.rules.pack import Pack

SETTING = "k3triage_rules"


class RuleError(Exception):
    """What is wrong with a rule file; the message names file, line and place."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the setting."""
    parser.addini(SETTING, "folders of k3triage rule files (*.toml) to collect as tests", type="paths", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the rule files of the folders that the setting names."""
    if file_path.suffix != ".toml":
        return None
    folders: list[Path] = parent.config.getini(SETTING)
    if any(file_path.is_relative_to(folder) for folder in folders):
        return RuleFile.from_parent(parent, path=file_path)
    return None


@cache
def _pack(folders: tuple[Path, ...]) -> "Pack":
    from k3triage.rules import load_pack

    return load_pack(folders)


class RuleFile(pytest.File):
    """A rule file. One that cannot be read is one failing test."""

    def collect(self) -> Iterator[pytest.Item]:
        """The tests of a file."""
        from k3triage.errors import RulePackError
        from k3triage.rules.loader import read_cause

        yield RuleTest.from_parent(self, name="form", table="", number=0)
        try:
            cause = read_cause(self.path)
        except RulePackError:
            return
        for table in ("example", "lookalike"):
            for number in range(len(getattr(cause, table))):
                yield RuleTest.from_parent(self, name=f"{table}-{number + 1}", table=table, number=number)


class RuleTest(pytest.Item):
    """One check of a rule file. table: "example", "lookalike", or "" for the file's form; number: which, from 0."""

    def __init__(self, *, table: str, number: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.table, self.number = table, number

    def runtest(self) -> None:
        """Raise RuleError with all problems found."""
        from k3triage.rulecheck import example_problem, faults_of_form, lookalike_problem
        from k3triage.rules.loader import cause_problems, read_cause
        from k3triage.rules.source import read_source

        problems = [str(problem) for problem in cause_problems(self.path)]
        if not problems:
            pack = _pack(tuple(self.config.getini(SETTING)))
            cause, source = read_cause(self.path), read_source(self.path)
            if not self.table:
                problems = [str(problem) for problem in faults_of_form(cause, source, pack)]
            else:
                item = getattr(cause, self.table)[self.number]
                check = example_problem if self.table == "example" else lookalike_problem
                message = check(cause, item, pack)
                problems = [str(source.in_table(self.table, self.number, message, "text"))] if message else []
        if problems:
            raise RuleError("\n".join(problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A rule's problem without a stack, which tells a rule writer nothing."""
        from k3triage.errors import RulePackError

        if isinstance(excinfo.value, RuleError | RulePackError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name of the test in pytest's report."""
        return self.path, 0, f"rule {self.path.stem}: {self.name}"

"""Runs the rule files' own examples through the whole program, and checks what a schema cannot.

An example must be won by its own cause against the whole pack; a look-alike must not be. Texts are read as they stand,
so they may carry the headers and prefixes that a real log has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from k3triage.diagnose import diagnose
from k3triage.diagnose.conditions import parse_condition
from k3triage.errors import RulePackError
from k3triage.model.enums import Phase
from k3triage.model.records import RawLine
from k3triage.pipeline import parse_lines
from k3triage.rules.loader import load_pack, read_cause, rule_files
from k3triage.rules.pack import Pack

if TYPE_CHECKING:
    from k3triage.model.report import Report
    from k3triage.rules.schema import Cause, Example

# One line of each phase, put before an example that names a phase.
_PHASE_LINES = {
    Phase.CONTAINER_START: "",
    Phase.IMPORT: "",
    Phase.ENGINE_INIT: "INFO 01-01 00:00:00 [model.py:1] Using max model len 8192\n",
    Phase.WEIGHT_LOAD: "INFO 01-01 00:00:00 [gpu_model_runner.py:1] Starting to load model /models/m...\n",
    Phase.MEMORY_PROFILE: "INFO 01-01 00:00:00 [backends.py:1] Dynamo bytecode transform time: 5.00 s\n",
    Phase.GRAPH_CAPTURE: "INFO 01-01 00:00:00 [kv_cache_utils.py:1] GPU KV cache size: 100,000 tokens\n",
    Phase.SERVING: "INFO:     Application startup complete.\n",
    Phase.SHUTDOWN: "",
    Phase.UNKNOWN: "",
}


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a rule file; line is 1-based, 0 where the whole file is meant."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


def triage_text(text: str, pack: Pack) -> "Report":
    """The report on a piece of log, every line of which is read."""
    lines: list[RawLine] = []
    offset = 0
    for number, data in enumerate(text.encode().split(b"\n"), 1):
        lines.append(RawLine(offset, number, data))
        offset += len(data) + 1
    return diagnose([parse_lines("example", text.encode()[:65536], lines)], pack)


def check_pack(pack: Pack, files: Sequence[Path] | None = None) -> Iterator[Problem]:
    """Problems of the pack's rule files (of some of them, where `files` is given)."""
    chosen = {str(path) for path in files} if files is not None else None
    for info in pack.infos.values():
        if chosen is None or info.file in chosen:
            yield from check_cause(pack.page(info.id), Path(info.file), pack)


def check_folder(folder: Path) -> Iterator[Problem]:
    """Problems of a user's rule folder, its examples run against the shipped pack and the folder together."""
    files = rule_files(folder)
    broken = False
    for path in files:
        try:
            read_cause(path)
        except RulePackError as error:
            broken = True
            yield Problem(str(path), 0, str(error).removeprefix(f"{path}: "))
    if not broken:
        yield from check_pack(load_pack([folder]), [path.resolve() for path in files])


def check_cause(cause: "Cause", path: Path, pack: Pack) -> Iterator[Problem]:
    """Problems of one rule file."""
    file = str(path)
    source = path.read_text(encoding="utf-8").splitlines()

    def at(needle: str) -> int:
        return next((number for number, line in enumerate(source, 1) if needle and needle in line), 0)

    if cause.status == "retired":
        return
    if path.stem != cause.id.partition(".")[2] and path.parent.name not in ("benign", "cascade"):
        yield Problem(file, 1, f"the file of {cause.id} should be named {cause.id.partition('.')[2]}.toml")
    roles = {signature.role for signature in cause.signature}
    if roles & {"root", "suspect", "advisory"}:
        if not cause.step:
            yield Problem(file, 0, "has no remediation step")
        elif not any(step.command for step in cause.step):
            yield Problem(file, 0, "no step names a command or setting")
        if not cause.check:
            yield Problem(file, 0, "does not say how to check it")
        if not cause.example and not any(signature.fact for signature in cause.signature):
            yield Problem(file, 0, "has no example")
    for step in cause.step:
        for condition in step.when:
            try:
                parse_condition(condition)
            except ValueError as error:
                yield Problem(file, at(condition), str(error))
    for signature in cause.signature:
        for other in (*signature.needs, *signature.unless):
            if other not in pack.infos:
                yield Problem(file, at(other), f"names {other}, which no file defines")
    for example in cause.example:
        message = _example_problem(cause, example, pack)
        if message:
            yield Problem(file, at(example.text.strip().splitlines()[0].strip()), message)
    for lookalike in cause.lookalike:
        report = triage_text(lookalike.text, pack)
        if any(finding.cause == cause.id for finding in report.findings):
            first = lookalike.text.strip().splitlines()[0].strip()
            yield Problem(file, at(first), "a look-alike is taken for this cause")


def _example_problem(cause: "Cause", example: "Example", pack: Pack) -> str | None:
    lead = _PHASE_LINES[example.phase] if example.phase else ""
    report = triage_text(lead + example.text, pack)
    roles = {signature.role for signature in cause.signature}
    if not roles & {"root", "suspect", "advisory"}:
        if any(finding.cause == cause.id for finding in report.findings):
            return None
        return f"the example is not recognised (found: {', '.join(f.cause for f in report.findings) or 'nothing'})"
    if report.verdict is None:
        return "nothing was found in the example"
    if report.verdict.cause != cause.id:
        return f"the example is won by {report.verdict.cause}"
    if example.status is not None and report.status != example.status:
        return f"the status is {report.status}, not {example.status}"
    wanted = example.line
    if wanted is not None:
        got = report.verdict.first_anomaly.line - lead.count("\n")
        if got != wanted:
            return f"line {got} of the example is reported, not {wanted}"
    return None

"""Runs the rule files' own examples through the whole program, and checks what a schema cannot.

An example must be won by its own cause against the whole pack; a look-alike must not be. Texts are read as they stand,
so they may carry the headers and prefixes that a real log has.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from k3triage.diagnose import diagnose
from k3triage.diagnose.findings import ERROR_LINE, UNHANDLED
from k3triage.errors import RulePackError
from k3triage.model.conditions import FACTS, check_condition, is_fact_name
from k3triage.model.enums import Phase
from k3triage.model.lazy import lazy
from k3triage.model.records import RawLine
from k3triage.pipeline import parse_lines
from k3triage.rules.loader import cause_problems, load_pack, read_cause, rule_files
from k3triage.rules.pack import Pack
from k3triage.rules.source import Problem, Source, UnreadableRuleError, read_source

if TYPE_CHECKING:
    from k3triage.model.report import Report
    from k3triage.rules.schema import Cause, Example, Lookalike

# What `k3triage rules new` leaves to a person.
_TODO = lazy(r"\bTODO\b|\b1970-01-01\b")
# Roles that a verdict can rest on.
TELLING = frozenset({"root", "suspect", "advisory"})
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


def triage_text(text: str, pack: Pack) -> "Report":
    """The report on a piece of log, every line of which is read."""
    lines: list[RawLine] = []
    offset = 0
    for number, data in enumerate(text.encode().split(b"\n"), 1):
        lines.append(RawLine(offset, number, data))
        offset += len(data) + 1
    return diagnose([parse_lines("example", text.encode()[:65536], lines)], pack)


def taken_by(line: str, pack: Pack) -> str | None:
    """Cause that a line alone is diagnosed with; None where no rule knows it."""
    verdict = triage_text(line, pack).verdict
    return verdict.cause if verdict is not None and verdict.cause not in (ERROR_LINE, UNHANDLED) else None


def check_pack(pack: Pack, files: Sequence[Path] | None = None) -> Iterator[Problem]:
    """Problems of the pack's rule files (of some of them, where `files` is given)."""
    chosen = {str(path) for path in files} if files is not None else None
    for info in pack.infos.values():
        if chosen is None or info.file in chosen:
            yield from check_cause(read_cause(Path(info.file)), Path(info.file), pack)


def check_places(places: Sequence[Path]) -> Iterator[Problem]:
    """Problems of a user's rule folders and files, their examples run against the shipped pack and them together.

    All of a file's mistakes are named, of all files; examples are run once every file can be read.
    Raises RulePackError where two files have one id, or a place holds no rule file.
    """
    files = [path.resolve() for place in places for path in rule_files(place)]
    broken = False
    for path in files:
        for problem in _unreadable(path):
            broken = True
            yield problem
    if not broken:
        yield from check_pack(load_pack(places), files)


def _unreadable(path: Path) -> Iterator[Problem]:
    try:
        yield from cause_problems(path)
    except RulePackError as error:
        yield error.problem if isinstance(error, UnreadableRuleError) else Problem(str(path), 0, str(error))


def check_cause(cause: "Cause", path: Path, pack: Pack) -> Iterator[Problem]:
    """Problems of one rule file."""
    if cause.status == "retired":
        return
    source = read_source(path)
    yield from faults_of_form(cause, source, pack)
    for number, example in enumerate(cause.example):
        message = example_problem(cause, example, pack)
        if message:
            yield source.in_table("example", number, message, "text")
    for number, lookalike in enumerate(cause.lookalike):
        message = lookalike_problem(cause, lookalike, pack)
        if message:
            yield source.in_table("lookalike", number, message, "text")


def faults_of_form(cause: "Cause", source: Source, pack: Pack) -> Iterator[Problem]:
    """What a file lacks, and conditions on what does not exist; runs nothing."""
    name = cause.id.partition(".")[2]
    folder = Path(source.file).parent.name
    if Path(source.file).stem != name and folder not in ("benign", "cascade"):
        yield source.located(("id",), f"the file of {cause.id} should be named {name}.toml")
    for line, text in enumerate(source.lines, 1):
        if found := _TODO.search(text):
            yield source.problem(line, found.start() + 1, "still to be written")
    roles = {signature.role for signature in cause.signature}
    if roles & TELLING:
        if not cause.step:
            yield source.located((), "the file has no [[step]]: what is to be done?")
        elif not any(step.command for step in cause.step):
            yield source.in_table("step", 0, "no step names a command or setting")
        if not cause.check:
            yield source.located((), "the file has no [[check]]: how does one make sure?")
        if not cause.example and not any(signature.fact for signature in cause.signature):
            yield source.located((), "the file has no [[example]]")
    for number, step in enumerate(cause.step):
        for condition in step.when:
            try:
                check_condition(condition)
            except ValueError as error:
                yield source.in_table("step", number, str(error), "when")
    for number, signature in enumerate(cause.signature):
        for field in ("needs", "unless"):
            for other in getattr(signature, field):
                if other not in pack.infos and not _is_about_a_fact(other):
                    message = f"{other!r} is neither a cause that a file defines nor about a known fact"
                    yield source.in_table("signature", number, message, field)


def _is_about_a_fact(text: str) -> bool:
    if is_fact_name(text):
        return text in FACTS or text.startswith(("flags.", "env."))
    try:
        check_condition(text)
    except ValueError:
        return False
    return True


def lookalike_problem(cause: "Cause", lookalike: "Lookalike", pack: Pack) -> str | None:
    """What is wrong with a look-alike: that this cause is found in it."""
    found = triage_text(lookalike.text, pack).findings
    return "the look-alike is taken for this cause" if any(finding.cause == cause.id for finding in found) else None


def example_problem(cause: "Cause", example: "Example", pack: Pack) -> str | None:
    """What is wrong with an example: who wins it instead, or that another line or status is reported."""
    lead = _PHASE_LINES[example.phase] if example.phase else ""
    report = triage_text(lead + example.text, pack)
    roles = {signature.role for signature in cause.signature}
    if not roles & TELLING:
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

"""The diagnosis as a whole: from parsed inputs to a Report."""

from collections.abc import Sequence

from k3triage.diagnose.acceptance import climb
from k3triage.diagnose.choose import choose
from k3triage.diagnose.clocks import align
from k3triage.diagnose.collectives import compare
from k3triage.diagnose.decision import decide
from k3triage.diagnose.environment import add_checks, add_evidence, named_profile
from k3triage.diagnose.facts import Facts, gather
from k3triage.diagnose.findings import FindingBuilder
from k3triage.diagnose.identity import Cast
from k3triage.diagnose.incident import Incident
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.diagnose.prefix import assess
from k3triage.diagnose.prefix_why import explain
from k3triage.diagnose.settled import settle
from k3triage.diagnose.timeline import build_timeline, share_readiness
from k3triage.diagnose.verdict import compose
from k3triage.model.enums import Phase
from k3triage.model.lazy import lazy
from k3triage.model.records import Line
from k3triage.model.report import Report
from k3triage.rules.match import Matches, match
from k3triage.rules.pack import Pack

_PYTHON_WARNING = lazy(r"\.py:\d+: \w*Warning: ")
_QUIET = ("DEBUG", "INFO", "WARNING")
_TROUBLE = ("root", "suspect", "cascade")
_HARMLESS = ("benign", "context")


def diagnose(inputs: Sequence[ParsedInput], pack: Pack, profile: str | None = None) -> Report:
    """The report of one incident, told by one or many inputs. The order of the inputs does not matter.

    profile: whose prerequisites are checked as well; by default the one for the model that the inputs name, if any.
    """
    given = list(inputs)
    inputs = sorted(
        given, key=lambda parsed: (parsed.name, parsed.size, [line.record.raw for line in parsed.lines[:3]])
    )
    matches = [match(parsed.lines, pack) for parsed in inputs]
    timelines = [
        build_timeline(parsed, found, _trouble(parsed, found)) for parsed, found in zip(inputs, matches, strict=True)
    ]
    cast = Cast(inputs)
    offsets = align(inputs, timelines, cast)
    if len(inputs) > 1:
        share_readiness(timelines)
    facts = gather(inputs)
    add_evidence(facts, inputs)
    cache = assess(inputs, timelines, facts)
    findings: list[Finding] = []
    for number, parsed in enumerate(inputs):
        mine = FindingBuilder(number, parsed, matches[number], timelines[number], pack, facts).build()
        settle(mine, matches[number])
        findings.extend(mine)
    attempts = [attempt for timeline in timelines for attempt in timeline.attempts]
    if cache.served or any(attempt.ready is not None or attempt.progress for attempt in attempts):
        findings.extend(_advisories(facts, pack))
    comparison = compare(inputs, cast, findings, pack)
    choice = choose(inputs, timelines, findings, cast, pack.links)
    incident = Incident.of(inputs, timelines, cast, offsets, choice, comparison)
    report = compose(inputs, timelines, findings, choice, facts, pack, incident)
    explain(report, cache)
    decide(report, facts, inputs)
    report.acceptance = climb(inputs, timelines, facts, cache, report)
    order = {id(parsed): number for number, parsed in enumerate(inputs)}
    report.inputs = [report.inputs[order[id(parsed)]] for parsed in given]
    chosen = profile or named_profile(facts)
    if chosen is not None:
        add_checks(report, inputs, facts, chosen)
    return report


def _trouble(parsed: ParsedInput, matches: Matches) -> set[int]:
    """Lines that show a failure whatever the phase: tracebacks, and loud hits on roots, suspects and cascades."""
    identity = {id(line): index for index, line in enumerate(parsed.lines)}
    trouble: set[int] = set()
    harmless: set[int] = set()
    for index, hits in matches.hits.items():
        # What a signature asks of frames or other causes is judged later; until then it calls nothing harmless.
        sure = [hit for hit in hits if hit.signature.role not in _HARMLESS or not hit.signature.conditional]
        if not sure or parsed.lines[index].header.kind == "kernel":
            continue  # the kernel does not tell where a run of the server begins or ends
        if max(sure, key=lambda hit: hit.rank).signature.role in _TROUBLE and _is_loud(parsed.lines[index]):
            trouble.add(index)
        if any(hit.signature.role == "context" or hit.signature.raised for hit in sure):
            harmless.add(index)
    for block in parsed.blocks:
        if not block.chain or not _is_loud(block.chain[-1].line):
            continue
        if not any(identity[id(raised.line)] in harmless for raised in block.chain):
            trouble.add(identity[id(block.chain[-1].line)])
    return trouble


def _is_loud(line: Line) -> bool:
    return line.header.level not in _QUIET and _PYTHON_WARNING.search(line.own) is None


def _advisories(facts: Facts, pack: Pack) -> list[Finding]:
    """Faults without a crash, told by facts."""
    found = []
    for signature in pack.fact_signatures:
        fact = facts.known.get(signature.fact or "")
        if fact is None or fact.value != signature.equals:
            continue
        line = fact.line
        found.append(
            Finding(
                cause=signature.cause,
                layer=signature.layer,
                role="advisory",
                input=fact.input,
                index=fact.index,
                line=line,
                start=line.record.line,
                end=line.record.line,
                phase=Phase.SERVING,
                signature=signature,
                last=line.record.line,
            )
        )
    return found

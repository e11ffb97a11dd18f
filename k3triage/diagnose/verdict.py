"""From the chosen finding to the Report."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from k3triage.diagnose.causality import Explanation, Node
from k3triage.diagnose.choose import Choice
from k3triage.diagnose.conditions import holds, in_words, parse_condition
from k3triage.diagnose.diary import rows
from k3triage.diagnose.environment import gpu_names
from k3triage.diagnose.facts import Facts, world
from k3triage.diagnose.identity import Cast
from k3triage.diagnose.incident import Incident
from k3triage.diagnose.parsed import Finding, ParsedInput, process_of
from k3triage.diagnose.timeline import Timeline
from k3triage.model.enums import Confidence, Decision, Layer, Phase, Role, Status
from k3triage.model.lazy import lazy
from k3triage.model.records import NO_YEAR, Line, Record
from k3triage.model.report import (
    Anomaly,
    AttemptRef,
    Avoid,
    BlockRef,
    ContextLine,
    Environment,
    FindingRef,
    InputRef,
    Missing,
    PhaseRef,
    Report,
    SpeakerRef,
    Step,
    Tool,
    Verdict,
)
from k3triage.rules.pack import CauseInfo, Pack
from k3triage.version import __version__

if TYPE_CHECKING:
    from k3triage.rules.schema import Cause

_TEXT_LIMIT = 4000
_NUMBER = lazy(r"\d{1,12}(?:\.\d{1,6})?")
_NEAR = 2
_CONTEXT_LIMIT = 500
_WEAKER = dict.fromkeys(("suspect", "cascade", "generic", "error_line"), Confidence.POSSIBLE)


def compose(
    inputs: Sequence[ParsedInput],
    timelines: Sequence[Timeline],
    findings: Sequence[Finding],
    choice: Choice,
    facts: Facts,
    pack: Pack,
    incident: Incident,
) -> Report:
    """The report of one incident."""
    chosen = choice.chosen or choice.advisory
    verdict = _verdict(chosen, findings, inputs, timelines, facts, pack, incident.cast) if chosen is not None else None
    attempts = _attempts(inputs, choice, chosen)
    if verdict is not None:
        verdict.why[1:1] = incident.reasons(attempts, choice.chosen, inputs)
        verdict.missing[:0] = incident.missing(choice.chosen)
    return Report(
        tool=Tool(version=__version__, rules=pack.version),
        status=_status(chosen, pack),
        verdict=verdict,
        findings=_findings(findings, chosen, inputs, choice.explanation, incident.cast),
        attempts=attempts,
        phases=[
            PhaseRef(
                source=inputs[number].name,
                process=name,
                phase=phase,
                line=inputs[number].lines[index].record.line,
                timestamp=_timestamp(inputs[number].lines[index]),
            )
            for number, timeline in enumerate(timelines)
            for index, phase, name in timeline.phase_starts
        ],
        timeline=rows(choice.explanation, choice.chosen, inputs),
        clocks=incident.clocks,
        environment=_environment(facts),
        inputs=[
            InputRef(
                source=parsed.name,
                bytes=parsed.size,
                lines=parsed.newlines,
                envelope=parsed.envelope,
                skipped=parsed.skipped,
                error=parsed.error,
            )
            for parsed in inputs
        ],
    )


def _status(chosen: Finding | None, pack: Pack) -> Status:
    if chosen is None:
        return Status.HEALTHY
    if pack.infos[chosen.cause].crash:
        return Status.UNKNOWN_FAILURE
    if chosen.role in ("root", "advisory"):
        return Status.DIAGNOSED
    return Status.UNKNOWN_FAILURE if chosen.role in ("generic", "error_line") else Status.INCONCLUSIVE


def _verdict(
    chosen: Finding,
    findings: Sequence[Finding],
    inputs: Sequence[ParsedInput],
    timelines: Sequence[Timeline],
    facts: Facts,
    pack: Pack,
    cast: Cast,
) -> Verdict:
    page = pack.page(chosen.cause)
    info = pack.infos[chosen.cause]
    echoes = [f for f in findings if f is not chosen and f.tier > 0 and not f.recovered and f.cause != chosen.cause]
    copies = sum(1 for f in findings if f.cause == chosen.cause) - 1
    why = [page.means]
    if copies > 0:
        why.append(f"The same fault is printed {copies} more time{'s' if copies > 1 else ''}; this is the first.")
    if echoes:
        names = sorted({f.cause for f in echoes if f.role == "cascade"})
        if names:
            why.append(f"Other failures are echoes of it: {', '.join(names[:4])}.")
    if chosen.role == "suspect":
        why.append("This line shows that something failed, not why; nothing in these inputs tells the cause.")
    why.extend(f"Fact: {text}." for text in _facts_used(page, facts))
    return Verdict(
        layer=Layer(chosen.layer) if chosen.layer != "none" else Layer.UNKNOWN,
        cause=chosen.cause,
        title=page.title,
        phase=_phase(chosen, info, timelines),
        confidence=_WEAKER.get(chosen.role, Confidence(info.confidence)),
        first_anomaly=_anomaly(chosen, inputs, cast).model_copy(update={"context": _context(chosen, inputs)}),
        why=why,
        remediation=_steps(page, facts, chosen.captures),
        avoid=[Avoid(action=item.action, because=item.because) for item in page.avoid],
        missing=[Missing(what=item.what, command=item.command, because=item.because) for item in page.missing],
        decision=Decision(info.decision),
    )


def _steps(page: "Cause", facts: Facts, captures: Mapping[str, str]) -> list[Step]:
    steps = []
    for item in page.step:
        states = [(text, holds(text, facts)) for text in item.when]
        # Advice for one model or image says nothing to who runs another; with none named it would be noise.
        if any(state is False or (state is None and parse_condition(text)[1] == "~") for text, state in states):
            continue
        open_ = [text for text, state in states if state is None]
        because = item.because
        if open_:
            condition = f"only if {' and '.join(map(in_words, open_))}"
            because = f"{because} ({condition})" if because else condition
        command = _filled(item.command, captures)
        steps.append(Step(action=item.action, command=command, because=because, source=item.source))
    return steps


def _filled(command: str | None, captures: Mapping[str, str]) -> str | None:
    """A command with the numbers that the log gives in place of <name>. Only numbers: a log is a stranger's text."""
    for name, value in captures.items():
        if command is not None and _NUMBER.fullmatch(value):
            command = command.replace(f"<{name}>", value)
    return command


def _facts_used(page: "Cause", facts: Facts) -> list[str]:
    used = {parse_condition(text)[0] for item in page.step for text in item.when}
    return [f"{name} is {facts.value(name)}" for name in sorted(used) if facts.value(name) is not None]


def _phase(chosen: Finding, info: CauseInfo, timelines: Sequence[Timeline]) -> Phase:
    """Phase of the chosen line: its own, else what gives it away, else another input's then, else the rule's."""
    if info.phase is not None and (info.phase_is_fixed or chosen.layer == "prefix_cache"):
        return Phase(info.phase)
    if chosen.layer == "prefix_cache":
        return Phase.SERVING
    others = [timeline for number, timeline in enumerate(timelines) if number != chosen.input]
    if chosen.phase is Phase.UNKNOWN:
        hint = timelines[chosen.input].hint_for(chosen.index)
        elsewhere = [phase for timeline in others if (phase := timeline.phase_by(_comparable(chosen))) is not None]
        return hint or next(iter(elsewhere), Phase(info.phase) if info.phase else Phase.UNKNOWN)
    # The head of several nodes alone says when the service is ready.
    ready = chosen.clock is not None and any(other.phase_by(chosen.clock) is Phase.SERVING for other in others)
    return Phase.SERVING if ready else chosen.phase


def _comparable(chosen: Finding) -> float | None:
    return None if chosen.line.header.kind == "kernel" else chosen.clock


def _timestamp(line: Line) -> str | None:
    time = line.record.time
    if time is None:
        return None
    moment = datetime.fromtimestamp(time, UTC)
    # A day without its year is no point in time; the line itself is in the report.
    return None if moment.year == NO_YEAR else moment.isoformat().replace("+00:00", "Z")


def _anomaly(finding: Finding, inputs: Sequence[ParsedInput], cast: Cast) -> Anomaly:
    line = finding.line
    process = process_of(line)
    who = cast.who(finding.input, line)
    return Anomaly(
        source=inputs[finding.input].name,
        line=line.record.line,
        byte_offset=line.record.offset,
        block=BlockRef(start_line=finding.start, end_line=finding.end),
        timestamp=_timestamp(line),
        process=SpeakerRef(
            name=process.name,
            pid=process.pid,
            rank=who.rank,
            node=process.node or who.node,
            local_rank=who.local_rank,
            gpu=who.gpu,
            container=who.container,
            groups=dict(who.groups),
        ),
        text=_shown(line.record)[:_TEXT_LIMIT],
    )


def _shown(record: Record) -> str:
    """A line as the report gives it: as it stands, or without its envelope where that is JSON."""
    # A CSV row may begin with a quote as well.
    is_json = record.envelopes and "csv" not in record.envelopes and record.raw.lstrip().startswith(("{", "[", '"'))
    return record.text if is_json else record.raw


def _context(finding: Finding, inputs: Sequence[ParsedInput]) -> list[ContextLine]:
    """The kept lines just before and after, without blank ones and copies of one physical line."""
    lines = inputs[finding.input].lines
    here = finding.line.record.line
    near: dict[int, str] = {}
    for line in lines[max(0, finding.index - _NEAR) : finding.index + _NEAR + 1]:
        record = line.record
        if record.line != here and abs(record.line - here) <= _NEAR and record.text.strip():
            near.setdefault(record.line, _shown(record)[:_CONTEXT_LIMIT])
    return [ContextLine(line=number, text=near[number]) for number in sorted(near)]


def _findings(
    findings: Sequence[Finding],
    chosen: Finding | None,
    inputs: Sequence[ParsedInput],
    explanation: Explanation,
    cast: Cast,
) -> list[FindingRef]:
    nodes = {id(member): node for node in explanation.nodes for member in node.members}
    groups: dict[tuple[str, Role], list[Finding]] = {}
    for finding in findings:
        node = nodes.get(id(finding))
        groups.setdefault((finding.cause, _role(finding, chosen, node)), []).append(finding)
    refs = []
    for (cause, role), members in groups.items():
        first = chosen if chosen is not None and chosen in members else members[0]
        refs.append(
            FindingRef(
                cause=cause,
                layer=Layer(first.layer) if first.layer != "none" else Layer.UNKNOWN,
                role=role,
                count=sum(member.line.record.count for member in members),
                first=_anomaly(first, inputs, cast),
                last_line=max(member.last for member in members),
                explained_by=_explained(members, nodes) if role is Role.CASCADE else None,
            )
        )
    return refs


def _explained(members: Sequence[Finding], nodes: dict[int, Node]) -> str | None:
    found = (node for member in members if (node := nodes.get(id(member))) is not None)
    return next((node.cause.first.cause for node in found if node.cause is not None), None)


def _role(finding: Finding, chosen: Finding | None, node: Node | None) -> Role:
    if finding.role == "benign":
        return Role.BENIGN
    if finding.role == "context":
        return Role.CONTEXT
    if chosen is not None and finding.cause == chosen.cause:
        return Role.ROOT
    if finding.recovered:
        return Role.RECOVERED
    if chosen is None or node is None:
        return Role.CONTEXT if finding.role != "cascade" or chosen is None else Role.CASCADE
    return Role.ROOT if node.link is not None and node.link.weak and not finding.quiet else Role.CASCADE


def _attempts(inputs: Sequence[ParsedInput], choice: Choice, chosen: Finding | None) -> list[AttemptRef]:
    refs = []
    for result in choice.results:
        lines = inputs[result.input].lines[result.attempt.start : result.attempt.end]
        if not lines:
            continue
        loudest = max((f.tier for f in result.failing), default=0)
        failing = [f for f in result.failing if f.tier == loudest]
        cause = failing[0].cause if failing else None
        if chosen is not None and (chosen.input, chosen.attempt) == (result.input, result.number):
            cause = chosen.cause
        refs.append(
            AttemptRef(
                source=inputs[result.input].name,
                start_line=lines[0].record.line,
                end_line=lines[-1].record.line,
                outcome=result.outcome,
                cause=cause,
            )
        )
    return refs


def _environment(facts: Facts) -> Environment:
    return Environment(
        vllm=facts.value("vllm"),
        torch=facts.value("torch"),
        torch_cuda=facts.value("torch_cuda"),
        nccl=facts.value("nccl"),
        driver=facts.value("driver"),
        gpus=gpu_names(facts),
        model=str(facts.value("model")) if facts.value("model") is not None else None,
        flags=facts.flags(),
        world=world(facts),
    )

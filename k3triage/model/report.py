"""The report: what `k3triage.triage` returns and `--format json` prints. CONTRACT: schema_version "1"."""

from typing import Any

from k3triage.model.base import BaseModel, ConfigDict, Field
from k3triage.model.checks import Check
from k3triage.model.enums import Confidence, Decision, Layer, Outcome, Phase, Role, Status

SCHEMA_VERSION = "1"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Tool(_Model):
    """Program and rule pack that made the report."""

    name: str = "k3triage"
    version: str
    rules: str


class ProcessRef(_Model):
    """Process that wrote a line."""

    name: str | None = None
    pid: int | None = None
    rank: int | None = None
    node: str | None = None


class SpeakerRef(ProcessRef):
    """Process that wrote a line, as all inputs together tell of it. rank: the global one where it is known.

    groups: rank by parallel group ("tp", "pp", "dp", "ep").
    """

    local_rank: int | None = None
    gpu: int | None = None
    container: str | None = None
    groups: dict[str, int] = Field(default_factory=dict)


class BlockRef(_Model):
    """Physical lines, both included, of the traceback or message that a line belongs to."""

    start_line: int
    end_line: int


class ContextLine(_Model):
    """A neighbouring line, as it stands."""

    line: int
    text: str


class Anomaly(_Model):
    """One line of an input, with where it stands; context holds its neighbours where it is the verdict's."""

    source: str
    line: int = Field(ge=1)
    byte_offset: int = Field(ge=0)
    block: BlockRef
    timestamp: str | None = None
    process: SpeakerRef = Field(default_factory=SpeakerRef)
    text: str
    context: list[ContextLine] = Field(default_factory=list)


class Step(_Model):
    """One remediation step."""

    action: str
    command: str | None = None
    because: str | None = None
    source: str | None = None


class Avoid(_Model):
    """What not to do, and why."""

    action: str
    because: str


class Missing(_Model):
    """Evidence that would settle the question, and the command that gets it."""

    what: str
    command: str | None = None
    because: str


class Verdict(_Model):
    """The answer."""

    layer: Layer
    cause: str
    title: str
    phase: Phase
    confidence: Confidence
    first_anomaly: Anomaly
    why: list[str]
    remediation: list[Step]
    avoid: list[Avoid]
    missing: list[Missing]
    decision: Decision


class FindingRef(_Model):
    """One cause seen in the inputs, with how often and which part it plays."""

    cause: str
    layer: Layer
    role: Role
    count: int
    first: Anomaly
    last_line: int
    explained_by: str | None = None


class TimelineRow(_Model):
    """One step of the incident. when: month, day and time, clocks of all inputs brought to one; None without a clock.

    what: id of the cause; count: lines of that process that say the same; explained_by: id of what caused it.
    """

    when: str | None = None
    who: str
    source: str
    line: int = Field(ge=1)
    what: str
    role: Role
    count: int = 1
    explained_by: str | None = None
    text: str


class ClockRef(_Model):
    """Seconds added to an input's clock to compare it with the others, and how many shared events tell so."""

    source: str
    offset_seconds: float
    shared_events: int


class AttemptRef(_Model):
    """One run of the server within an input."""

    source: str
    start_line: int
    end_line: int
    outcome: Outcome
    cause: str | None = None


class PhaseRef(_Model):
    """First line of a phase of a process."""

    source: str
    process: str
    phase: Phase
    line: int
    timestamp: str | None = None


class Environment(_Model):
    """Facts read from the inputs."""

    vllm: str | None = None
    torch: str | None = None
    torch_cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    gpus: list[str] = Field(default_factory=list)
    model: str | None = None
    flags: dict[str, Any] = Field(default_factory=dict)
    world: dict[str, int] = Field(default_factory=dict)


class AcceptanceStep(_Model):
    """One rung of the acceptance ladder."""

    step: int
    name: str
    state: str
    evidence: dict[str, Any] = Field(default_factory=dict)


class InputRef(_Model):
    """One input: how much was read, in what wrapper, and what could not be read."""

    source: str
    bytes: int
    lines: int | None = None
    envelope: str = "plain"
    skipped: int = 0
    error: str | None = None


class Report(_Model):
    """Result of a triage."""

    schema_version: str = SCHEMA_VERSION
    tool: Tool
    status: Status
    verdict: Verdict | None = None
    findings: list[FindingRef] = Field(default_factory=list)
    attempts: list[AttemptRef] = Field(default_factory=list)
    phases: list[PhaseRef] = Field(default_factory=list)
    timeline: list[TimelineRow] = Field(default_factory=list)
    clocks: list[ClockRef] = Field(default_factory=list)
    environment: Environment = Field(default_factory=Environment)
    acceptance: list[AcceptanceStep] = Field(default_factory=list)
    profile: str | None = None
    checks: list[Check] = Field(default_factory=list)
    inputs: list[InputRef] = Field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether all five rungs of the acceptance ladder hold: passed, or not applicable beyond the first."""
        states = [step.state for step in self.acceptance]
        return len(states) == 5 and states[0] == "passed" and set(states) <= {"passed", "not_applicable"}

    def to_text(self, *, color: bool = False, width: int = 100) -> str:
        """The report as plain text for a terminal of so many columns."""
        from k3triage.report.text import render_text

        return render_text(self, color=color, width=width)

    def to_markdown(self) -> str:
        """The report as Markdown, to paste into an issue or a chat."""
        from k3triage.report.markdown import render_markdown

        return render_markdown(self)

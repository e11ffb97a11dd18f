"""Prerequisites of a deployment and whether they are met: what `k3triage check` returns."""

from enum import StrEnum

from k3triage.model.base import BaseModel, ConfigDict, Field


class State(StrEnum):
    """What the evidence says of a prerequisite."""

    OK = "ok"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


class Group(StrEnum):
    """Part of the deployment, in the order in which to put it right."""

    DRIVER_CUDA = "driver_cuda"
    IMAGE_WHEELS = "image_wheels"
    GPU_MEMORY = "gpu_memory"
    COMMUNICATION = "communication"
    PREFIX_CACHING = "prefix_caching"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Origin(_Model):
    """Line of an input that states a fact."""

    source: str
    line: int = Field(ge=1)


class Check(_Model):
    """One prerequisite.

    requirement: what must hold. fact: what was found, None where nothing was. source: where the requirement is stated,
    as read on the day `as_of` (YYYY-MM-DD). command: what would tell, where the state is unknown. fix: what to do,
    where it is violated. note: what else the reader should know.
    """

    id: str
    group: Group
    requirement: str
    state: State
    fact: str | None = None
    origin: Origin | None = None
    source: str | None = None
    as_of: str | None = None
    command: str | None = None
    fix: str | None = None
    note: str | None = None


class CheckReport(_Model):
    """All prerequisites of one profile against the evidence given, in the order in which to settle them."""

    schema_version: str = "1"
    profile: str
    title: str
    checks: list[Check]
    unread: dict[str, str] = Field(default_factory=dict)

    @property
    def violated(self) -> list[Check]:
        """The prerequisites that are not met."""
        return [check for check in self.checks if check.state is State.VIOLATED]

    def to_text(self, *, color: bool = False, width: int = 100) -> str:
        """The report as plain text for a terminal of so many columns."""
        from k3triage.report.checks import render_checks

        return render_checks(self, color=color, width=width)

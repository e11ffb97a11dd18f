"""What a rule file may hold. One cause a file: `k3triage/rules/causes/<layer>/<name>.toml`."""

import re
from typing import Annotated, Literal

from k3triage.model.base import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from k3triage.model.enums import Decision, Layer, Phase
from k3triage.rules.source import PatternError

SignatureRole = Literal["root", "suspect", "cascade", "benign", "context", "advisory"]
PhaseName = Literal[
    "container_start",
    "import",
    "engine_init",
    "weight_load",
    "memory_profile",
    "graph_capture",
    "serving",
    "shutdown",
    "unknown",
    "startup",
]


def _portable(pattern: str) -> str:
    """Refuse what Hyperscan, RE2 and `re` do not share."""
    for construct, name in (
        (r"\(\?[=!]", "look-ahead"),
        (r"\(\?<[=!]", "look-behind"),
        (r"(?<!\\)\\[1-9]", "back-reference"),
        (r"\(\?P=", "back-reference"),
        (r"\(\?>", "atomic group"),
        (r"[*+?}]\+", "possessive quantifier"),
    ):
        if found := re.search(construct, pattern):
            raise PatternError(f"{name} is outside the regex subset that all engines share", found.start())
    try:
        re.compile(pattern)
    except re.error as error:
        raise PatternError(f"not a regular expression: {error.msg}", error.pos) from None
    return pattern


Pattern = Annotated[str, AfterValidator(_portable)]
Url = Annotated[str, Field(pattern=r"^https?://\S+$")]
Date = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
# Texts are read at night on a narrow terminal: one thought each.
Title = Annotated[str, Field(min_length=8, max_length=90)]
Text = Annotated[str, Field(min_length=2, max_length=280)]
Line = Annotated[str, Field(min_length=2, max_length=200)]
Command = Annotated[str, Field(min_length=2, max_length=300)]
CauseId = Annotated[str, Field(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Signature(_Strict):
    """One wording by which the cause shows.

    role: root (states the cause), suspect (a real failure whose cause may lie elsewhere: death notices, time-outs,
        closed connections), cascade (only echoes another failure), benign (harmless), context (a fact that other
        signatures refer to), advisory (a fault without a crash; reported only where nothing failed).
    anchor: literal bytes, case-sensitive, ASCII, without quotes or backslashes, that each matching line holds.
        It is what the scan looks for, so it should be rare in healthy logs.
    pattern: regular expression searched in the program's own words of one line; the anchor alone where absent. A named
        group that holds a number replaces `<name>` in the commands of the steps.
    levels: only lines of these severities (DEBUG, INFO, WARNING, ERROR, CRITICAL); lines without one always pass.
    phases: only while the process is in one of these ("startup" stands for all before serving). A process whose
        phase is not known passes.
    frames: searched in "file.py:function" of the exception's stack, one a line; it must be found where the line is
        an exception of a traceback, and the signature fails where there is no stack.
    raised_in: like frames, but searched in "folder/file.py:function" of the innermost frame alone, where the exception
        was raised.
    raised: a benign signature that may speak of an exception in a traceback. Others that match an exception's message
        are passed over, since a notice that shares its words does not make it harmless. frames and raised_in imply it.
    header: searched in the header's location ("core.py:123") or NCCL's source file.
    needs, unless: what must, or must not, hold: ids of causes (also of context ones) seen in the same attempt, facts
        that must be known and not off ("flags.quantization"), and conditions on facts ("vllm < 0.28").
    since, until: first and last vLLM release that prints this wording; a log without its version passes.
    fact, equals: instead of anchor and pattern: a fact gathered from the log has this value.
    at: which line is reported when the match stands in the continuation of an exception's message: the exception's
        first line, or the matching line itself (tools' output inside a message).
    precedence: on one line the signature with the highest wins; equal ones go to the longer match.
        Up to 25 is for rules that know a kind of fault by its shape: in a chain every rule above outranks them.
    """

    role: SignatureRole = "root"
    anchor: str | None = None
    pattern: Pattern | None = None
    levels: list[str] = Field(default_factory=list)
    phases: list[PhaseName] = Field(default_factory=list)
    frames: Pattern | None = None
    raised_in: Pattern | None = None
    raised: bool = False
    header: Pattern | None = None
    needs: list[str] = Field(default_factory=list)
    unless: list[str] = Field(default_factory=list)
    since: str | None = None
    until: str | None = None
    fact: str | None = None
    equals: str | bool | int | None = None
    at: Literal["exception", "match"] = "exception"
    precedence: int = Field(default=50, ge=0, le=100)
    note: str | None = None

    @model_validator(mode="after")
    def _anchored(self) -> "Signature":
        if self.fact is not None:
            return self
        if not self.anchor:
            raise ValueError("a signature needs an anchor (or a fact)")
        if not self.anchor.isascii() or any(c in self.anchor for c in "\"'\\\t\n"):
            raise ValueError("an anchor is plain ASCII without quotes, backslashes or control characters")
        if len(self.anchor) < 4:
            raise ValueError("an anchor has at least 4 characters")
        return self


class Check(_Strict):
    """How to make sure that this is the cause."""

    what: Line
    command: Command | None = None


class Step(_Strict):
    """One remediation step; `when` lists conditions on facts ("vllm < 0.28", "rdma = true"), all of which must hold."""

    action: Line
    command: Command | None = None
    when: list[str] = Field(default_factory=list)
    because: Line | None = None
    source: Url
    checked: Date


class Avoid(_Strict):
    """What people try and should not."""

    action: Line
    because: Line


class Missing(_Strict):
    """Evidence to ask for."""

    what: Line
    command: Command | None = None
    because: Line


class Example(_Strict):
    """Log text that this cause must win.

    line: 1-based line of `text` that must be reported (default: the first that matches).
    phase: phase the process is in before the text begins.
    """

    text: str
    line: int | None = None
    phase: Phase | None = None
    status: Literal["diagnosed", "inconclusive", "unknown_failure", "healthy"] | None = None


class Lookalike(_Strict):
    """Log text that this cause must not be found in."""

    text: str
    because: Line


class Cause(_Strict):
    """One cause: how it shows, what it means, how to check it, how to mend it.

    phase: assumed where the log does not tell; with phase_is_fixed it holds whatever the markers say.
    crash: the process itself states that it crashed and not why: a failure of unknown cause, but no echo of another.
    """

    id: CauseId
    title: Title
    layer: Layer | Literal["none"]
    status: Literal["stable", "experimental", "retired"] = "stable"
    phase: Phase | None = None
    phase_is_fixed: bool = False
    crash: bool = False
    confidence: Literal["confirmed", "likely", "possible"] = "confirmed"
    decision: Decision = Decision.REPAIR_IN_PLACE
    means: Text
    not_means: Text
    sources: list[Url] = Field(min_length=1)
    signature: list[Signature] = Field(min_length=1)
    check: list[Check] = Field(default_factory=list)
    step: list[Step] = Field(default_factory=list)
    avoid: list[Avoid] = Field(default_factory=list)
    missing: list[Missing] = Field(default_factory=list)
    example: list[Example] = Field(default_factory=list)
    lookalike: list[Lookalike] = Field(default_factory=list)


# Names that each table of a rule file may have; "" is the top level.
FIELDS: dict[str, tuple[str, ...]] = {
    "": tuple(Cause.model_fields),
    "signature": tuple(Signature.model_fields),
    "check": tuple(Check.model_fields),
    "step": tuple(Step.model_fields),
    "avoid": tuple(Avoid.model_fields),
    "missing": tuple(Missing.model_fields),
    "example": tuple(Example.model_fields),
    "lookalike": tuple(Lookalike.model_fields),
}

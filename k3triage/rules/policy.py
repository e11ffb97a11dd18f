"""Judgements that are no causes, as data: defaults of the prefix cache, the acceptance ladder, the road back.

Each is a file of `policies/`, compiled with the pack and checked when it is first asked for.
"""

import functools
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from k3triage.errors import RulePackError
from k3triage.model.base import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from k3triage.model.conditions import check_condition
from k3triage.model.enums import Decision, Layer
from k3triage.model.globs import fits as matches
from k3triage.rules.compiled import ROOT
from k3triage.rules.loader import shipped_pack
from k3triage.rules.schema import Date, Url

FOLDER = ROOT / "policies"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


Regex = Annotated[str, AfterValidator(_compiles)]
Condition = Annotated[str, AfterValidator(check_condition)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Limits(_Strict):
    """How much evidence a judgement on hit rates takes; rates and usage in per cent, times in seconds."""

    telling_tokens: float
    telling_periods: int
    none: float
    good: float
    full: float
    period: float


class Default(_Strict):
    """Setting of prefix caching that a range of versions resolves to when nobody asks; `until` is included.

    usual: every server of those versions runs so, which is worth no report.
    """

    models: Literal["hybrid", "any"] = "any"
    engine: Literal["V0", "V1"] | None = None
    since: str | None = None
    until: str | None = None
    on: bool
    usual: bool = False
    because: str
    source: Url
    checked: Date


class Hybrid(_Strict):
    """Models with recurrent state, by a pattern on their name; unit: tokens of one hit where the log does not say."""

    model: Regex
    unit: int | None = None
    source: Url
    checked: Date


class Connectors(_Strict):
    """Names of KV connectors by what they are for."""

    store: list[str]
    transfer: list[str]


class PrefixPolicy(_Strict):
    """The file `prefix_cache.toml`."""

    limits: Limits
    default: list[Default]
    hybrid: list[Hybrid]
    connectors: Connectors


class Rung(_Strict):
    """One step of the acceptance ladder; seconds, requests and samples are the least that pass it."""

    step: int = Field(ge=1, le=5)
    name: str
    seconds: float = 0.0
    requests: int = 0
    samples: int = 0
    fails_on: list[str] = Field(default_factory=list)


class AcceptancePolicy(_Strict):
    """The file `acceptance.toml`. paths: prefixes of URL paths that run the model."""

    paths: list[str]
    rung: list[Rung] = Field(min_length=5, max_length=5)


class Case(_Strict):
    """When an entry applies: all that is given must hold.

    causes: shell patterns, one of which the verdict's cause matches. layers: the verdict's layer is among them.
    seen: shell patterns over all causes found, benign and context ones left out; at least `least` distinct ones match.
    when: conditions on facts, all known to hold.
    """

    causes: list[str] = Field(default_factory=list)
    layers: list[Layer] = Field(default_factory=list)
    seen: list[str] = Field(default_factory=list)
    least: int = 1
    when: list[Condition] = Field(default_factory=list)

    def fits(self, cause: str, layer: Layer, seen: frozenset[str], holds: Callable[[str], bool | None]) -> bool:
        """Whether the entry applies to a verdict, the causes seen and the facts."""
        if self.causes and not any(matches(cause, pattern) for pattern in self.causes):
            return False
        if self.layers and layer not in self.layers:
            return False
        if self.seen:
            matching = {name for name in seen if any(matches(name, pattern) for pattern in self.seen)}
            if len(matching) < self.least:
                return False
        return all(holds(text) is True for text in self.when)


class Road(Case):
    """A reason for one of the three roads back to service."""

    decision: Decision
    because: str
    source: Url | None = None


class Temptation(Case):
    """What the evidence tempts to and should not be done; `said`: what an entry of a cause's own page says likewise."""

    action: str
    because: str
    said: Regex


class DecisionPolicy(_Strict):
    """The file `decision.toml`. reason: what is said of a road that only the cause's own page chose."""

    reason: dict[Decision, str]
    road: list[Road]
    avoid: list[Temptation]


_Model = TypeVar("_Model", bound=BaseModel)


def _read(name: str, model: type[_Model]) -> _Model:
    path = FOLDER / name
    content: dict[str, Any] = shipped_pack()[0]["policies"][path.stem]
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RulePackError(f"{path}: {where}: {first['msg']}") from None


@functools.cache
def prefix_policy() -> PrefixPolicy:
    """Defaults, units and limits of the prefix cache."""
    return _read("prefix_cache.toml", PrefixPolicy)


@functools.cache
def acceptance_policy() -> AcceptancePolicy:
    """The acceptance ladder."""
    return _read("acceptance.toml", AcceptancePolicy)


@functools.cache
def decision_policy() -> DecisionPolicy:
    """Roads back to service, and what not to do on them."""
    return _read("decision.toml", DecisionPolicy)

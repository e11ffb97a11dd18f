"""What a profile file may hold. A part that is left out asks for nothing."""

import re
from typing import Annotated, Literal

from k3triage.model.base import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from k3triage.model.checks import Group
from k3triage.model.conditions import check_condition


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
Condition = Annotated[str, AfterValidator(check_condition)]
Url = Annotated[str, Field(pattern=r"^https?://\S+$")]
Date = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
Version = Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,6}){0,3}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class _Sourced(_Strict):
    """A fact, where it is stated, and the day as of which that source says so."""

    source: Url
    as_of: Date


class Earlier(_Strict):
    """What the source said before."""

    minimum: Version
    until: Date


class Vllm(_Sourced):
    """Versions of vLLM. previews: version strings of builds that have the model although their number is lower."""

    minimum: Version
    previews: list[Pattern] = Field(default_factory=list)
    earlier: list[Earlier] = Field(default_factory=list)


class Cuda(_Sourced):
    """CUDA major version that the image and the wheels must be built for."""

    major: int


class Driver(_Sourced):
    """Lowest driver of the host."""

    minimum: Version
    fix: str


class Toolkit(_Sourced):
    """Lowest driver for a CUDA major version, where no `driver` is set."""

    major: int
    driver: Version


class Image(_Sourced):
    """Images by name and tag; the first pattern that fits the whole reference decides.

    state: ok, violated, unknown (the tag does not tell), or version (its `version` group is compared with the minimum).
    """

    pattern: Pattern
    state: Literal["ok", "violated", "unknown", "version"]
    vendor: Literal["nvidia", "amd"] | None = None
    because: str


class Gpu(_Sourced):
    """One type of GPU. gb: nominal memory of one. minimum: least count in any layout. supported False: never works."""

    type: str
    gb: int
    minimum: int = 1
    supported: bool = True
    because: str | None = None


class Memory(_Sourced):
    """Memory that the weights and the engine need in all, in GB (10^9 bytes). formats: for other weight formats."""

    gb: int
    format: str
    formats: dict[str, int] = Field(default_factory=dict)


class Setting(_Sourced):
    """A launch argument or environment variable for some hardware or layout.

    value: wanted value, as a pattern for the whole text; "unset" where it must not be given. shown: the same for
    people. level: required ones make a check of their own, recommended ones are listed where they differ.
    """

    flag: str | None = None
    env: str | None = None
    value: Pattern
    shown: str | None = None
    when: list[Condition] = Field(default_factory=list)
    level: Literal["required", "recommended"] = "recommended"
    group: Group = Group.GPU_MEMORY
    because: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "Setting":
        if (self.flag is None) == (self.env is None):
            raise ValueError("a setting names either a flag or an env variable")
        return self


class Issue(_Sourced):
    """A known fault and the conditions under which it strikes. certain False: it may strike, and counts as unknown."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    title: str
    when: list[Condition] = Field(min_length=1)
    group: Group
    certain: bool = True
    fix: str


class PrefixCache(_Sourced):
    """Prefix caching. unit: tokens of the smallest hit; fine_unit: with `--prefix-match-unit`.

    default_on: version from which it is on without the flag. off_on: generations whose recipe leaves it off.
    """

    unit: int
    fine_unit: int | None = None
    default_on: Version
    off_on: list[str] = Field(default_factory=list)
    fix: str


class Profile(_Strict):
    """One profile. models: patterns (case does not matter) for the names by which a log or an image names the model."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: str
    models: list[Pattern] = Field(default_factory=list)
    vllm: Vllm | None = None
    cuda: Cuda | None = None
    driver: Driver | None = None
    toolkit: list[Toolkit] = Field(default_factory=list)
    image: list[Image] = Field(default_factory=list)
    memory: Memory | None = None
    gpu: list[Gpu] = Field(default_factory=list)
    setting: list[Setting] = Field(default_factory=list)
    issue: list[Issue] = Field(default_factory=list)
    prefix_cache: PrefixCache | None = None

"""What `links.toml` may hold."""

from typing import Literal

from k3triage.model.base import BaseModel, ConfigDict, Field, model_validator
from k3triage.model.enums import Layer
from k3triage.rules.links import Over

_Roles = Literal["root", "suspect", "generic", "error_line", "cascade"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ClassFile(_Strict):
    """A set of findings; what is absent lets everything pass."""

    roles: list[_Roles] = Field(default_factory=list)
    layers: list[Layer] = Field(default_factory=list)
    causes: list[str] = Field(default_factory=list)
    excluded: list[str] = Field(default_factory=list, alias="except")
    headers: list[str] = Field(default_factory=list)
    quiet: bool | None = None


class LinkFile(_Strict):
    """One way in which a finding explains another."""

    name: str
    cause: str
    effect: str
    over: list[Over] = Field(min_length=1)
    because: str
    order: Literal["any", "earlier"] = "any"
    before: float | None = Field(default=None, ge=0)
    after: float | None = Field(default=None, ge=0)
    weak: bool = False


class CollectiveFile(_Strict):
    """Ids of causes that come of comparing a collective over its ranks."""

    mismatch: str
    straggler: str
    timeouts: list[str] = Field(min_length=1)


class LinksFile(_Strict):
    """The whole file."""

    classes: dict[str, ClassFile] = Field(alias="class")
    link: list[LinkFile] = Field(min_length=1)
    collective: CollectiveFile

    @model_validator(mode="after")
    def _names(self) -> "LinksFile":
        for link in self.link:
            for name in (link.cause, link.effect):
                if name not in self.classes:
                    raise ValueError(f"link {link.name!r} names a class that is not there: {name}")
            if link.cause == link.effect and link.order == "any":
                raise ValueError(f"link {link.name!r} joins a class with itself, so it needs order = 'earlier'")
        return self

    def causes(self) -> set[str]:
        """Every id of a cause that the file names in full."""
        named = {cause for row in self.classes.values() for cause in (*row.causes, *row.excluded)}
        named |= {self.collective.mismatch, self.collective.straggler, *self.collective.timeouts}
        return {cause for cause in named if not set(cause) & set("*?[")}

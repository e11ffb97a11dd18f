"""The causal model: which finding can explain which (`links.toml`), and what is compiled of it."""

from typing import Any, Literal

from k3triage.model.globs import fits as matches
from k3triage.model.shapes import dataclass

Over = Literal["process", "parent", "container", "node", "node_unknown", "communicator", "incident"]


@dataclass(slots=True, frozen=True)
class FindingClass:
    """A set of findings; an empty tuple, and None for quiet, lets everything pass."""

    roles: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    quiet: bool | None = None

    def holds(self, *, role: str, layer: str, cause: str, header: str, quiet: bool) -> bool:
        """Whether a finding belongs to the class. header: kind of its line's header."""
        return (
            (not self.roles or role in self.roles)
            and (self.quiet is None or self.quiet == quiet)
            and (not self.layers or layer in self.layers)
            and (not self.headers or header in self.headers)
            and (not self.causes or any(matches(cause, pattern) for pattern in self.causes))
            and not any(matches(cause, pattern) for pattern in self.excluded)
        )


@dataclass(slots=True, frozen=True)
class Link:
    """One way in which a finding of one class explains one of another. before, after: seconds, None for any."""

    name: str
    cause: str
    effect: str
    over: tuple[Over, ...]
    because: str
    order: Literal["any", "earlier"] = "any"
    before: float | None = None
    after: float | None = None
    weak: bool = False


@dataclass(slots=True, frozen=True)
class CollectiveNames:
    """Ids of the causes that comparing a collective over its ranks can give, and of those it looks into."""

    mismatch: str
    straggler: str
    timeouts: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Links:
    """The causal model, links in the order in which they are tried."""

    classes: dict[str, FindingClass]
    links: tuple[Link, ...]
    collective: CollectiveNames


def thaw_links(data: dict[str, Any]) -> Links:
    """The model from the content of `links.toml`, once it was checked."""
    classes = {
        name: FindingClass(
            roles=tuple(row.get("roles", ())),
            layers=tuple(row.get("layers", ())),
            causes=tuple(row.get("causes", ())),
            excluded=tuple(row.get("except", ())),
            headers=tuple(row.get("headers", ())),
            quiet=row.get("quiet"),
        )
        for name, row in data["class"].items()
    }
    links = tuple(Link(**{**row, "over": tuple(row["over"])}) for row in data["link"])
    names = data["collective"]
    return Links(classes, links, CollectiveNames(names["mismatch"], names["straggler"], tuple(names["timeouts"])))

"""Who caused whom: the graph that the causal model (`rules/links.toml`) spans over the findings of an incident.

Links are tried in their order. What one explains is no candidate any more: it is explained once, by the strongest
link there is, and explains nothing by weaker ones. So the graph has no cycles, and what is left is the root.
"""

from collections.abc import Callable, Sequence

from k3triage.diagnose.identity import Cast, Identity
from k3triage.diagnose.parsed import Finding
from k3triage.model.shapes import dataclass
from k3triage.rules.links import Link, Links

# Nodes of the graph beyond this many are the latest of their kind and never the answer.
_MOST_NODES = 400
Order = Callable[[Finding], tuple[float, ...]]


@dataclass(slots=True)
class Node:
    """Equal findings of one process, by the first of them."""

    first: Finding
    who: Identity
    members: list[Finding]
    cause: "Node | None" = None
    link: Link | None = None


@dataclass(slots=True)
class Explanation:
    """The nodes, in order, and which of them nothing explains."""

    nodes: list[Node]
    roots: list[Node]

    def of(self, finding: Finding) -> Node | None:
        """The node of a finding, None where it took no part."""
        return next((node for node in self.nodes if any(member is finding for member in node.members)), None)


def explain(pool: Sequence[Finding], cast: Cast, links: Links, order: Order, comparable: bool) -> Explanation:
    """The explanation graph over the findings of the failed attempts.

    order: sort key of a finding in time. comparable: whether clocks of different inputs can be compared.
    """
    nodes = _nodes(pool, cast, order)
    keys = {id(node): order(node.first) for node in nodes}
    members = {
        name: [
            node
            for node in nodes
            if rule.holds(
                role=node.first.role,
                layer=node.first.layer,
                cause=node.first.cause,
                header=node.first.line.header.kind,
                quiet=node.first.quiet,
            )
        ]
        for name, rule in links.classes.items()
    }
    alive = {id(node) for node in nodes}
    for link in links.links:
        causes = [node for node in members[link.cause] if id(node) in alive]
        for effect in members[link.effect]:
            if id(effect) not in alive:
                continue
            cause = next(
                (c for c in causes if c is not effect and _explains(link, c, effect, cast, keys, comparable)), None
            )
            if cause is not None:
                effect.cause, effect.link = cause, link
                alive.discard(id(effect))
    return Explanation(nodes, [node for node in nodes if id(node) in alive])


def _nodes(pool: Sequence[Finding], cast: Cast, order: Order) -> list[Node]:
    groups: dict[tuple[str, str, bool, int, int | None, int | None, str | None], Node] = {}
    for finding in sorted(pool, key=order):
        who = cast.who(finding.input, finding.line)
        key = (finding.cause, finding.role, finding.quiet, finding.input, who.pid, who.rank, who.process)
        node = groups.get(key)
        if node is None:
            if len(groups) < _MOST_NODES:
                groups[key] = Node(finding, who, [finding])
        else:
            node.members.append(finding)
    return list(groups.values())


def _explains(
    link: Link, cause: Node, effect: Node, cast: Cast, keys: dict[int, tuple[float, ...]], comparable: bool
) -> bool:
    if link.order == "earlier" and not keys[id(cause)] < keys[id(effect)]:
        return False
    return _in_time(link, cause, effect, comparable) and any(_joined(over, cause, effect, cast) for over in link.over)


def _in_time(link: Link, cause: Node, effect: Node, comparable: bool) -> bool:
    then, now = cause.first.clock, effect.first.clock
    if then is None or now is None or (cause.first.input != effect.first.input and not comparable):
        return True
    if cause.who.kernel != effect.who.kernel:
        # dmesg -T derives its dates from the uptime, which drifts away from the wall clock by hours.
        return True
    late = now - then
    return (link.before is None or late >= -link.before) and (link.after is None or late <= link.after)


def _joined(over: str, cause: Node, effect: Node, cast: Cast) -> bool:
    """Whether a relation joins two findings; what is not known of one of them does not join."""
    a, b = cause.who, effect.who
    if over == "incident":
        return True
    if over == "process":
        return a.input == b.input and a.pid == b.pid and a.process == b.process and a.rank == b.rank
    if over == "parent":
        return a.input == b.input
    if over == "container":
        return a.input == b.input or (a.container is not None and a.container == b.container)
    if over == "node":
        return a.input == b.input or bool(a.nodes & b.nodes)
    if over == "node_unknown":
        return not a.nodes or not b.nodes
    left, right = cast.inputs[a.input].communicators, cast.inputs[b.input].communicators
    return bool(left & right) or (a.rank is not None and b.rank is not None)

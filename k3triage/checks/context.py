"""What the single checks share: the facts, what follows from them, and how an answer is made."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k3triage.model.checks import Check, Group, Origin, State
from k3triage.model.conditions import UNSET
from k3triage.model.evidence import EvidenceFact

if TYPE_CHECKING:
    from k3triage.profiles.schema import Profile

_LONGEST = 300
# Sizes that are 1 where the launch does not name them.
_SIZES = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "decode_context_parallel_size",
    "nnodes",
)


class Context:
    """Facts by name, and the profile they are held against.

    log: whether a log is among the inputs, so that launch arguments not seen may only be out of sight.
    """

    def __init__(self, profile: "Profile", facts: Mapping[str, EvidenceFact], *, log: bool) -> None:
        self.profile = profile
        self.facts = facts
        self.log = log

    def value(self, name: str) -> Any:
        """Value of a fact, None where it is not known; also of what follows from several facts."""
        fact = self.facts.get(name)
        if fact is not None:
            return fact.value
        if name in ("world", "multi_node", "role"):
            return {"world": self.world, "multi_node": self.multi_node, "role": self.role}[name]()
        if name.startswith("flags.") and self.launched:
            config = self.facts.get("config." + name[6:])
            if config is not None:
                return config.value
            return 1 if name[6:] in _SIZES else UNSET
        return None

    @property
    def launched(self) -> bool:
        """Whether the launch arguments are known, so that one not seen was not given."""
        return "launch" in self.facts

    def unset(self, variable: str) -> bool:
        """Whether an environment variable is known not to be set."""
        listed = self.facts.get("environment_listed")
        words = str(listed.value).split() if listed is not None else []
        return f"env.{variable}" not in self.facts and any(word == "all" or word in variable for word in words)

    def world(self) -> int | None:
        """GPUs that the launch asks for, None where it is not known."""
        sizes = [self.value("flags." + name) for name in _SIZES[:3]]
        if not self.launched or any(not isinstance(size, int) or not 0 < size < 1 << 20 for size in sizes):
            return None
        return int(sizes[0] * sizes[1] * sizes[2])

    def multi_node(self) -> bool | None:
        """Whether the deployment spans hosts, None where nothing tells."""
        nodes = self.value("flags.nnodes")
        if isinstance(nodes, int) and nodes > 1:
            return True
        per_host, count, world = self.value("gpus_per_host"), self.value("gpu_count"), self.world()
        if count is not None and per_host is not None and count > per_host:
            return True
        if world is not None and per_host is not None:
            return world > int(per_host)
        if world is not None:
            return True if world > 8 else None if world > 1 else False
        return None

    def role(self) -> str | None:
        """ "decode" or "prefill" of a disaggregated deployment."""
        transfer = self.value("flags.kv_transfer_config")
        if transfer in (None, UNSET):
            return None
        text = str(transfer)
        if "kv_consumer" in text:
            return "decode"
        if "kv_producer" in text:
            return "prefill"
        return "decode" if self.value("flags.enable_prefix_caching") is False else None

    def answer(
        self,
        id_: str,
        group: Group,
        requirement: str,
        state: State,
        *,
        of: str | Sequence[str] = (),
        fact: str | None = None,
        source: Any = None,
        command: str | None = None,
        fix: str | None = None,
        note: str | None = None,
    ) -> Check:
        """A check's answer. of: names of the facts it rests on (the first known gives the origin)."""
        names = [of] if isinstance(of, str) else list(of)
        known = next((self.facts[name] for name in names if name in self.facts), None)
        if fact is None and known is not None:
            fact = f"{known.name} {known.value}"
        url, day = source if isinstance(source, tuple) else (source.source, source.as_of) if source else (None, None)
        return Check(
            id=id_,
            group=group,
            requirement=requirement,
            state=state,
            fact=fact[:_LONGEST] if fact else None,
            origin=Origin(source=known.source, line=max(known.line, 1)) if known is not None else None,
            source=url,
            as_of=day,
            command=command if state is State.UNKNOWN else None,
            fix=fix if state is State.VIOLATED else None,
            note=note,
        )

"""What follows from several facts together: how large the deployment is, over how many hosts, and in which role."""

from collections.abc import Mapping
from typing import Any

from k3triage.model.conditions import UNSET
from k3triage.model.evidence import EvidenceFact

# Sizes that are 1 where the launch does not name them.
_SIZES = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "decode_context_parallel_size",
    "nnodes",
)
_LARGEST = 1 << 20
# No host has more GPUs that vLLM would use as one node.
_HOST = 8


class Deployment:
    """Facts by name, and the facts that follow from them."""

    def __init__(self, facts: Mapping[str, EvidenceFact]) -> None:
        self.facts = facts

    def value(self, name: str) -> Any:
        """Value of a fact, None where it is not known; UNSET for an argument that is known not to be given."""
        fact = self.facts.get(name)
        if fact is not None:
            return fact.value
        if name in ("world", "multi_node", "role"):
            return self.derived().get(name)
        if name.startswith("flags.") and self.launched:
            config = self.facts.get("config." + name[6:])
            if config is not None:
                return config.value
            return 1 if name[6:] in _SIZES else UNSET
        return None

    def derived(self) -> dict[str, Any]:
        """world, multi_node and role, as far as they are known."""
        values = {"world": self.world(), "multi_node": self.multi_node(), "role": self.role()}
        return {name: value for name, value in values.items() if value is not None}

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
        if not self.launched or any(not isinstance(size, int) or not 0 < size < _LARGEST for size in sizes):
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
            return True if world > _HOST else None if world > 1 else False
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

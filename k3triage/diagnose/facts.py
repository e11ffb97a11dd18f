"""Facts about the deployment that the inputs state: versions, model, flags."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from k3triage.diagnose.parsed import ParsedInput
from k3triage.grammar import engine_config, non_default_args
from k3triage.model.evidence import EvidenceFact
from k3triage.model.lazy import lazy
from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field

_VERSION = lazy(r"(?:API server version|LLM engine \(v?|^\S* ?version)\s*v?(\d+\.\d+\.\d+[\w.+]*)")
_BANNER = lazy(r"\bversion (\d+\.\d+\.\d+[\w.+]*)\s*$")
_NCCL = lazy(r"nccl==(\d+\.\d+\.\d+)|NCCL version (\d+\.\d+\.\d+)")
_CUDA = lazy(r"NCCL version \d+\.\d+\.\d+\+cuda(\d+\.\d+)")
_DRIVER = lazy(r"Driver Version: (\d+\.\d+(?:\.\d+)?)")
_WORLD = {
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "decode_context_parallel_size": "dcp",
}


@lru_cache(maxsize=8)
def engine_settings(message: str) -> Mapping[str, Any]:
    """Settings of an engine's configuration line; several judgements read the same line, which may have 30 kB."""
    return engine_config(message)


@lru_cache(maxsize=8)
def launch_arguments(message: str) -> Mapping[str, Any]:
    """Arguments of a line with launch arguments."""
    return non_default_args(message)


@dataclass(slots=True)
class Fact:
    """A value and the line that states it."""

    value: Any
    input: int
    index: int
    line: Line


@dataclass
class Facts:
    """Everything known, by name ("vllm", "model", "flags.enable_prefix_caching", "prefix_cache.setting", ...).

    known: what the log states. stated: what evidence files state, and what follows from them (`evidence.combine`).
    """

    known: dict[str, Fact] = field(default_factory=dict)
    stated: dict[str, EvidenceFact] = field(default_factory=dict)

    def put(self, name: str, fact: Fact) -> None:
        """Keep the latest statement of a fact."""
        self.known[name] = fact

    def value(self, name: str) -> Any:
        """Value of a fact, None where it is not known; what ran tells more than what lies on the host."""
        fact = self.known.get(name) or self.stated.get(name)
        return fact.value if fact else None

    def flags(self) -> dict[str, Any]:
        """Launch arguments, with those of the engine's configuration where the launch did not name them."""
        return {name[6:]: fact.value for name, fact in sorted(self.known.items()) if name.startswith("flags.")}


def gather(inputs: Sequence[ParsedInput]) -> Facts:
    """Facts from all inputs; later statements replace earlier ones."""
    facts = Facts()
    for number, parsed in enumerate(inputs):
        for index, line in enumerate(parsed.lines):
            message = line.header.message
            for name, pattern in (("vllm", _VERSION), ("torch_cuda", _CUDA), ("driver", _DRIVER)):
                found = pattern.search(message) if name in ("vllm", "torch_cuda") or "Driver" in message else None
                if found:
                    facts.put(name, Fact(found.group(1), number, index, line))
            if "version" in message and (found := _BANNER.search(message)) and line.header.kind == "vllm":
                facts.put("vllm", Fact(found.group(1), number, index, line))
            if "NCCL version" in message or "nccl==" in message:
                found = _NCCL.search(message)
                if found:
                    facts.put("nccl", Fact(found.group(1) or found.group(2), number, index, line))
            if "LLM engine" in message and " config: " in message:
                _put_all(facts, "config.", engine_settings(message), number, index, line)
            elif "non-default args: " in message:
                facts.put("launch", Fact(True, number, index, line))
                _put_all(facts, "flags.", launch_arguments(message), number, index, line)
    model = facts.known.get("flags.model") or facts.known.get("config.model")
    if model is not None:
        facts.put("model", model)
    return facts


def _put_all(facts: Facts, prefix: str, values: Mapping[str, Any], number: int, index: int, line: Line) -> None:
    for name, value in values.items():
        facts.put(prefix + name, Fact(value, number, index, line))


def world(facts: Facts) -> dict[str, int]:
    """Sizes of the parallel groups that the configuration names."""
    sizes = {}
    for name, short in _WORLD.items():
        value = facts.value(f"flags.{name}") or facts.value(f"config.{name}")
        if isinstance(value, int) and value > 0:
            sizes[short] = value
    return sizes

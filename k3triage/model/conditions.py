"""Conditions on facts, as rule and profile files write them: "vllm < 0.28", "rdma = true", "model ~ kimi"."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from k3triage.model.lazy import lazy

_CONDITION = lazy(r"^\s*([\w.]+)\s*(<=|>=|!=|=|<|>|~)\s*(.+?)\s*$")

# Every fact that a condition may name. Launch arguments ("flags.<name>", or "<name>" alone where it holds an
# underscore) and environment variables ("env.<NAME>") come on top.
FACTS: Mapping[str, str] = MappingProxyType(
    {
        "vllm": "version of vLLM, from its log, `vllm --version` or the list of packages",
        "model": "model as the launch names it",
        "image": "container image with its tag",
        "driver": "version of the NVIDIA driver on the host; the lowest where several hosts are seen",
        "cuda_ceiling": "highest CUDA that the driver serves, as major.minor",
        "torch": "version of torch",
        "torch_cuda": 'CUDA that torch was built with, as major.minor; "none" for a build without CUDA',
        "nccl": "version of NCCL",
        "transformers": "version of transformers",
        "flashinfer": "version of flashinfer",
        "triton": "version of triton",
        "nvcc": "CUDA toolkit that is installed, as major.minor",
        "gpu": "name of the GPU as nvidia-smi prints it",
        "gpu_type": "short name of the GPU: h100, h200, b200, b300, gb200, gb300, a100, mi355x ...",
        "gpu_arch": "its generation: volta, turing, ampere, ada, hopper, blackwell, cdna3, cdna4 ...",
        "gpu_vendor": "nvidia or amd",
        "gpu_count": "GPUs of all hosts that are seen",
        "gpus_per_host": "GPUs of the largest host that is seen",
        "gpu_mixed": "true where GPUs of different types are seen",
        "mig": "true where a GPU is partitioned",
        "nvlink": "true where all GPUs of a host reach each other over NVLink",
        "rdma": "true where an RDMA port is active, false where there is none",
        "nvidia_peermem": "true where the kernel module for GPUDirect RDMA is loaded",
        "multi_node": "true where the deployment spans several hosts",
        "world": "GPUs that the launch asks for: tensor x pipeline x data parallel size",
        "role": '"decode" or "prefill" for a worker of a disaggregated deployment',
        "shm_size": "bytes of the container's /dev/shm",
        "launch": "present where the launch arguments are known",
    }
)


def parse_condition(text: str) -> tuple[str, str, str]:
    """(fact, operator, value). ValueError where the text is no condition."""
    found = _CONDITION.match(text)
    if found is None:
        raise ValueError(f"not a condition: {text!r} (write: fact operator value, as in 'vllm < 0.28')")
    return found.group(1), found.group(2), found.group(3)


def is_fact_name(text: str) -> bool:
    """Whether a text is the name of a fact ("flags.quantization") and not a condition on one."""
    return re.fullmatch(r"[\w.]+", text) is not None


def check_condition(text: str) -> str:
    """The condition itself. ValueError where it is none, names no known fact, or its pattern does not compile."""
    name, operator, wanted = parse_condition(text)
    if name not in FACTS and not name.startswith(("flags.", "env.")) and "_" not in name:
        raise ValueError(f"{name!r} is no known fact (there are {', '.join(FACTS)}, flags.<argument> and env.<NAME>)")
    if operator == "~":
        try:
            re.compile(wanted)
        except re.error as error:
            raise ValueError(f"{wanted!r} is not a regular expression: {error}") from None
    return text


def holds(text: str, lookup: Callable[[str], Any]) -> bool | None:
    """True or False where the fact is known, None where it is not.

    lookup: value of a fact, None where it is not known, UNSET for an argument that is known not to be given.
    """
    name, operator, wanted = parse_condition(text)
    value = lookup(name)
    if value is None:
        return None
    if operator == "~":
        return re.search(wanted, str(value), re.IGNORECASE) is not None
    if operator in ("=", "!="):
        return (str(value).lower() == wanted.lower()) == (operator == "=")
    if value == UNSET:
        return False
    order = _order(value, wanted, operator)
    return None if order is None else {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


_WORDS = {
    "~": "matches",
    "=": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}


def in_words(text: str) -> str:
    """A condition as a person would say it: "vllm < 0.28" -> "vllm is below 0.28"."""
    name, operator, wanted = parse_condition(text)
    return f"{name} {_WORDS[operator]} {wanted}"


UNSET = "unset"


def _order(value: Any, wanted: str, operator: str) -> int | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return (value > float(wanted)) - (value < float(wanted))
        except ValueError:
            return None
    left, right = version_key(str(value)), version_key(wanted)
    if not left or not right:
        return None
    left = left[: len(right)] if operator in ("<=", ">") else left
    return (left > right) - (left < right)


def version_key(text: str) -> tuple[int, ...]:
    """Leading numbers of a version: "0.27.1rc2" -> (0, 27, 1); empty where there are none, or absurdly long ones."""
    found = re.match(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()

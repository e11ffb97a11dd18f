"""`python -m torch.utils.collect_env`, `vllm collect-env` and vLLM's older collect_env.py."""

from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Gpu
from k3triage.model.lazy import lazy

KIND = "collect_env"
_FIELD = lazy(r"([A-Za-z][\w ()/-]{1,48}?)\s*: (\S.{0,300})$")
_GPU = lazy(r"(?:GPU models and configuration\s*: )?GPU (\d{1,3}): (\S.{0,80})$")
_START = ("Collecting environment information", "PyTorch version", "CUDA used to build PyTorch")
_VERSION = lazy(r"v?(\d+\.\d+(?:\.\d+)?[\w.+]{0,80})")
_NOT_THERE = ("N/A", "Could not collect", "None", "")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """torch, torch_cuda ("none" without CUDA), cuda_available, driver, nvcc, vllm, gpu (pip: `packages`)."""
    inside = False
    for number, row in section.rows:
        inside = inside or row.startswith(_START)
        if not inside:
            continue
        if (gpu := _GPU.match(row)) is not None:
            yield number, "gpu", Gpu(int(gpu.group(1)), gpu.group(2).strip())
            continue
        field = _FIELD.match(row)
        if field is None:
            continue
        name, value = field.group(1).strip(), field.group(2).strip()
        yield from _field(number, name, value)


def _field(number: int, name: str, value: str) -> Iterator[tuple[int, str, object]]:
    version = _VERSION.match(value)
    if name == "CUDA used to build PyTorch":
        yield number, "torch_cuda", version.group(1) if version else "none"
    elif name == "Is CUDA available":
        yield number, "cuda_available", value == "True"
    elif name == "PyTorch version" and version:
        yield number, "torch", version.group(1)
    elif name == "vLLM Version" and version:
        yield number, "vllm", version.group(1)
    elif name == "CUDA runtime version" and version and value not in _NOT_THERE:
        yield number, "nvcc", ".".join(version.group(1).split(".")[:2])
    elif name == "Nvidia driver version" and version:
        yield number, "driver", version.group(1)

"""The table that plain `nvidia-smi` prints, in the layouts of all driver branches since 450."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Gpu
from k3triage.model.lazy import lazy

KIND = "nvidia-smi"
_HEADER = lazy(r"\|\s*NVIDIA-SMI\s+(\S{1,40})\s.*?Driver Version:\s*(\S{1,40})")
_CUDA = lazy(r"CUDA Version:\s*(\d+\.\d+)")
_FIRST = lazy(
    r"\|\s{0,8}(\d{1,3})\s{1,4}(\S.{0,60}?)\s+(?:On|Off|N/A)\s*\|\s*([0-9A-Fa-f:.]{7,20}|N/A)[^|]*\|\s*(\S.{0,20}?)\s*\|"
)
_MEMORY = lazy(r"\|[^|]*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|([^|]*)\|")
_MIG = lazy(r"\|[^|]*\|[^|]*\|\s*(Enabled\*?|Disabled\*?|N/A)\s*\|$")
_PROCESS = lazy(r"\|\s+(\d{1,3})\s+\S+\s+\S+\s+(\d+)\s+[CGM+]{1,3}\s+(\S.{0,80}?)\s+(\d+)MiB\s*\|")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """driver, cuda_ceiling, one gpu a row, gpu_fault for ERR! fields, gpu_process for what holds memory."""
    inside = processes = False
    open_gpu: tuple[int, Gpu] | None = None
    for number, row in section.rows:
        header = _HEADER.search(row) if "NVIDIA-SMI" in row else None
        if header is not None:
            inside, processes = True, False
            yield from _versions(number, row, header.group(2))
        elif not inside or not row.startswith(("|", "+")):
            inside = inside and (not row or row.startswith(("|", "+")))
        elif "Processes:" in row:
            processes = True
        elif processes:
            if (process := _PROCESS.match(row)) is not None:
                yield number, "gpu_process", (process.group(3), int(process.group(4)))
        elif (first := _FIRST.match(row)) is not None:
            if open_gpu is not None:
                yield open_gpu[0], "gpu", open_gpu[1]
            ecc = int(first.group(4)) if first.group(4).isdecimal() and len(first.group(4)) < 10 else None
            open_gpu = number, Gpu(int(first.group(1)), first.group(2).strip(), ecc=ecc)
            if "ERR!" in row:
                yield number, "gpu_fault", f"GPU {first.group(1)}: nvidia-smi shows ERR!"
        elif open_gpu is not None:
            open_gpu = open_gpu[0], _second(open_gpu[1], row)
            if "ERR!" in row:
                yield number, "gpu_fault", f"GPU {open_gpu[1].index}: nvidia-smi shows ERR!"
            if row.startswith("+"):
                yield open_gpu[0], "gpu", open_gpu[1]
                open_gpu = None
    if open_gpu is not None:
        yield open_gpu[0], "gpu", open_gpu[1]


def _versions(number: int, row: str, driver: str) -> Iterator[tuple[int, str, object]]:
    if re.fullmatch(r"\d+(?:\.\d+){1,3}", driver):
        yield number, "driver", driver
    ceiling = _CUDA.search(row)
    if ceiling is not None:
        yield number, "cuda_ceiling", ceiling.group(1)


def _second(gpu: Gpu, row: str) -> Gpu:
    memory = _MEMORY.match(row)
    if memory is not None:
        used, total = int(memory.group(1)[:9]), int(memory.group(2)[:9])
        return Gpu(gpu.index, gpu.name, gpu.uuid, total, used, gpu.ecc, gpu.mig)
    mig = _MIG.match(row)
    if mig is not None and mig.group(1) != "N/A":
        return Gpu(gpu.index, gpu.name, gpu.uuid, gpu.memory, gpu.used, gpu.ecc, mig.group(1).startswith("Enabled"))
    return gpu

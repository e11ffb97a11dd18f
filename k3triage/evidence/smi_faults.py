"""What nvidia-smi prints where it cannot answer."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.lazy import lazy

KIND = "nvidia-smi"
# (pattern at the start of a line, fact, what it says). A container without GPU runtime has no nvidia-smi at all.
_FAULTS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (lazy(pattern), name, meaning)
    for pattern, name, meaning in (
        (
            r"Failed to initialize NVML: Driver/library version mismatch",
            "nvml_fault",
            "the loaded kernel module and the user-space driver differ in version",
        ),
        (
            r"Failed to initialize NVML: (?:Unknown Error|Insufficient Permissions)",
            "nvml_fault",
            "the process may not open the GPU's device nodes",
        ),
        (r"Failed to initialize NVML: ", "nvml_fault", "NVML cannot start"),
        (
            r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
            "nvml_fault",
            "no NVIDIA kernel module answers",
        ),
        (
            r"NVIDIA-SMI couldn't find libnvidia-ml",
            "nvml_fault",
            "the driver's libraries are not in this system or container",
        ),
        (r"No devices were found", "nvml_fault", "no GPU is visible"),
        (r"Unable to determine the device handle for (?:GPU|gpu)", "gpu_fault", "a GPU does not answer"),
        (r".*\bGPU is lost\b", "gpu_fault", "a GPU fell off the bus"),
        (
            r"(?:\S+: )?(?:line \d+: )?nvidia-smi: (?:command )?not found",
            "nvml_fault",
            "nvidia-smi is not there: no driver, or a container without GPU runtime",
        ),
        (
            r'.*exec: "nvidia-smi": executable file not found',
            "nvml_fault",
            "nvidia-smi is not there: a container without GPU runtime",
        ),
    )
)
_NVML_LIBRARY = lazy(r"NVML library version: (\d+\.\d+(?:\.\d+)?)")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """nvml_fault (nothing can be said of any GPU), gpu_fault (one GPU), nvml_library (version of the user space)."""
    for number, row in section.rows:
        if library := _NVML_LIBRARY.match(row):
            yield number, "nvml_library", library.group(1)
            continue
        for pattern, name, meaning in _FAULTS:
            if pattern.match(row[:400]):
                yield number, name, f"{row[:160]}: {meaning}"
                break

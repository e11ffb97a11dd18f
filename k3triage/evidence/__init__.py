"""Output of the commands that operators are told to run, turned into facts.

Every parser knows its output by content, not by the file's name, and gives nothing for text that is not it. They are
loaded only when an input may hold evidence, so that reading logs does not pay for them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from k3triage.model.evidence import EvidenceFact
from k3triage.model.lazy import lazy

LIMIT = 4 << 20
"""Bytes of an input that are read as evidence."""

# Parser module -> words of which its output holds at least one. Searched as plain bytes: a log is refused at once.
HINTS: Mapping[str, tuple[bytes, ...]] = MappingProxyType(
    {
        "smi_table": (b"| NVIDIA-SMI ",),
        "smi_query": (
            b"driver_version",
            b"memory.total",
            b"compute_cap",
            b"pci.bus_id",
            b"NVIDIA ",
            b"is not a valid field",
        ),
        "smi_full": (b"NVSMI LOG",),
        "smi_list": (b" (UUID: ", b"CPU Affinity"),
        "smi_faults": (
            b"Failed to initialize NVML",
            b"NVIDIA-SMI has failed",
            b"NVIDIA-SMI couldn't find",
            b"No devices were found",
            b"Unable to determine the device handle",
            b"GPU requires reset",
            b"nvidia-smi: command not found",
            b"nvidia-smi: not found",
            b'"nvidia-smi": executable file not found',
        ),
        "docker_inspect": (
            b'"RepoTags"',
            b'"RepoDigests"',
            b'"HostConfig"',
            b'"OOMKilled"',
            b"No such image",
            b"No such object",
        ),
        "versions": (b"vllm --version", b"import torch", b"import vllm", b"Cuda compilation tools", b"No module named"),
        "collect_env": (b"CUDA used to build PyTorch", b"Collecting environment information"),
        "packages": (b"torch", b"vllm", b"nvidia-"),
        "environment": (b"NCCL_", b"CUDA_", b"NVIDIA_", b"VLLM_", b"UCX_", b"LD_LIBRARY_PATH=", b"PYTORCH_"),
        "modules": (b"nvidia", b"mlx5_", b"Used by"),
        "interfaces": (b": <", b"mtu "),
        "rdma": (b"hca_id:", b"CA '", b"No IB devices found", b"Failed to get IB devices list"),
        "libraries": (b" => ", b"libs found in cache"),
        "launch_command": (
            b"docker run",
            b"podman run",
            b"nerdctl run",
            b"vllm serve",
            b"vllm.entrypoints",
            b"command: ",
        ),
        "limits": (b"max locked memory", b"open files", b"Mounted on", b"Mem:"),
    }
)
_LONE_VERSION = lazy(rb"(?:\A|\n)v?\d+\.\d+[\w.+]*(?:\r?\nNone)?\s*\Z")
_SMALL = 4096
# What tells an output from a log that only mentions the same words. "\n" stands for the start of a line.
# fmt: off
_TELLING = (
    b"vllm serve ", b"docker run ", b"podman run ", b"nerdctl run ", b"-m vllm.entrypoints.", b"\ncommand: ",
    b"| NVIDIA-SMI ", b"NVSMI LOG", b" (UUID: ", b"CPU Affinity", b"NVIDIA-SMI has failed", b"NVIDIA-SMI couldn't",
    b"Failed to initialize NVML", b"No devices were found", b"device handle for GPU", b"GPU requires reset",
    b"nvidia-smi", b'"RepoTags"', b'"RepoDigests"', b'"HostConfig"', b'"OOMKilled"', b"No such image",
    b"No such object", b"vllm --version", b"torch.__version__", b"vllm.__version__", b"torch.version.cuda",
    b"Cuda compilation tools", b"CUDA used to build PyTorch", b"driver_version", b"memory.total", b", NVIDIA ",
    b"is not a valid field", b"Used by", b"hca_id:", b"CA '", b"IB devices", b"libs found in cache", b"(libc6,",
    b"max locked memory", b"Mounted on", b"\nMem:", b"> mtu ", b"\ntorch==", b"\nvllm==", b"\nnvidia-", b"\ntorch  ",
    b"\nvllm  ", b"\nnvidia ", b"\nnvidia_", b"\nmlx5_", b"\nnv_peer_mem", b"\nNCCL_", b"\nCUDA_", b"\nNVIDIA_",
    b"\nVLLM_", b"\nUCX_", b"\nPYTORCH_", b"\nLD_LIBRARY_PATH=", b"\nexport ", b"\ndeclare -x ", b"$ env", b"# env",
    b"$ lsmod", b"# lsmod", b"$ ldconfig", b"# ldconfig",
)
# fmt: on


def may_hold_evidence(head: bytes) -> bool:
    """Whether the start of an input looks like the output of one of the known commands; under a millisecond."""
    text = b"\n" + head
    if any(word in text for word in _TELLING):
        return True
    return len(head) < _SMALL and _LONE_VERSION.search(head) is not None


def read_evidence(name: str, text: str) -> list[EvidenceFact]:
    """Facts that a text states, in the order of its lines; none for a log. Never raises on strange text.

    name: of the input, kept as the facts' origin. text: decoded, lines end at LF; what goes beyond 4 MiB is not read.
    """
    from k3triage.evidence.reader import read

    return read(name, text)

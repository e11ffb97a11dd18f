"""`env`, `printenv`, `export -p`: only the variables that matter to a deployment, never secrets."""

from collections.abc import Iterator

from k3triage.evidence.sections import Section, covers
from k3triage.model.lazy import lazy

KIND = "env"
_SET = lazy(r"(?:export |declare -x )?([A-Z][A-Z0-9_]{2,80})=(.{0,4000})$")
WANTED = lazy(
    r"(?:NCCL|UCX|CUDA|NVIDIA|VLLM|PYTORCH|TORCH|GLOO|NVSHMEM|HIP|ROCR|AITER|OMP|RAY|TRITON|FLASHINFER|SAFETENSORS|TP)_\w+"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK"
)
_SECRET = lazy(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL")


def wanted(name: str) -> bool:
    """Whether a variable is read at all; those that may hold a secret are not."""
    return WANTED.fullmatch(name) is not None and _SECRET.search(name) is None


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """env.NAME of each variable, without quotes; environment_listed: what the list covers (`sections.covers`)."""
    # A line of a log may be a lone assignment; commands like `env | grep NCCL` leave short lists.
    rows = [(number, found) for number, row in section.rows if (found := _SET.match(row))]
    filled = sum(1 for _, row in section.rows if row)
    asked = section.command if section.ran("env", "export") else None
    if not rows or (asked is None and len(rows) * 2 < filled):
        return
    whole = any(found.group(1) in ("PATH", "HOME") for _, found in rows)
    yield rows[0][0], "environment_listed", covers(asked, whole)
    for number, found in rows:
        if wanted(found.group(1)):
            value = found.group(2)
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            yield number, f"env.{found.group(1)}", value

"""Which environment variables may be shown with their values: settings of the stack, and never a secret."""

from collections.abc import Iterable, Mapping

from k3triage.report.redact import HIDDEN, is_secret_name

# fmt: off
_PREFIXES = (
    "AITER_", "CUBLAS_", "CUDA_", "CUDNN_", "CUTE_", "DEEPEP_", "DG_", "FLASHINFER_", "FLASH_", "GLOO_", "GPU_",
    "HF_", "HIP_", "HSA_", "HUGGINGFACE_", "INFERENCE_", "LD_", "LMCACHE_", "MC_", "MIOPEN_", "MKL_", "MOONCAKE_",
    "MPI_", "NCCL_", "NIM_", "NIXL_", "NVIDIA_", "NVSHMEM_", "OMPI_", "OMP_", "PYTHON", "PYTORCH_", "RAY_", "RCCL_",
    "ROCM_", "ROCR_", "SAFETENSORS_", "SLURM_JOB", "SLURM_N", "SLURM_PROCID", "SLURM_LOCALID", "TENSORRT_",
    "TILELANG_", "TOKENIZERS_", "TORCH", "TP_", "TRANSFORMERS_", "TRITON_", "UCX_", "UCCL_", "USE_", "VLLM_", "XLA_",
)
_NAMES = frozenset((
    "HOME", "HOSTNAME", "LANG", "LC_ALL", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK",
    "NVARCH", "PATH", "RANK", "SHELL", "TMPDIR", "TZ", "VIRTUAL_ENV", "WORLD_SIZE",
))
_SECRET_WORDS = frozenset((
    "APIKEY", "AUTH", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "KEY", "KEYS", "PASS", "PASSWD", "PASSWORD",
    "SECRET", "SECRETS", "SESSION", "SIGNATURE", "TOKEN",
))
# fmt: on


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value must not be seen."""
    return is_secret_name(name) or not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def may_show(name: str) -> bool:
    """Whether a variable is a setting that a diagnosis needs: of NCCL, CUDA, vLLM and what belongs to them."""
    upper = name.upper()
    return (upper in _NAMES or upper.startswith(_PREFIXES)) and not is_secret(name)


def assignments(words: Iterable[str]) -> dict[str, str]:
    """`NAME=value` words as a mapping; words of another form are passed over."""
    return dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("="))


def shown(variables: Mapping[str, str]) -> dict[str, str]:
    """All names, with the values of settings alone."""
    return {name: value if may_show(name) or not value else HIDDEN for name, value in variables.items()}


def secrets(variables: Mapping[str, str]) -> set[str]:
    """Values of the variables whose names say that they are secret."""
    return {value for name, value in variables.items() if value and is_secret(name)}

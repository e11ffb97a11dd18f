"""The closed vocabularies of a report: layers, phases, roles, status, confidence, decision."""

from enum import StrEnum


class Layer(StrEnum):
    """Part of the deployment that a fault belongs to."""

    CONTAINER = "container"
    CUDA = "cuda"
    GPU_KERNEL = "gpu_kernel"
    HARDWARE = "hardware"
    DEPENDENCY = "dependency"
    CONFIG = "config"
    MODEL = "model"
    STARTUP_OOM = "startup_oom"
    INFERENCE_OOM = "inference_oom"
    HOST_OOM = "host_oom"
    NCCL = "nccl"
    PREFIX_CACHE = "prefix_cache"
    UNKNOWN = "unknown"


class Phase(StrEnum):
    """Stage in the life of a vLLM process."""

    CONTAINER_START = "container_start"
    IMPORT = "import"
    ENGINE_INIT = "engine_init"
    WEIGHT_LOAD = "weight_load"
    MEMORY_PROFILE = "memory_profile"
    GRAPH_CAPTURE = "graph_capture"
    SERVING = "serving"
    SHUTDOWN = "shutdown"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """Outcome of a triage."""

    DIAGNOSED = "diagnosed"
    UNKNOWN_FAILURE = "unknown_failure"
    INCONCLUSIVE = "inconclusive"
    HEALTHY = "healthy"


class Role(StrEnum):
    """Part that a finding plays in the incident."""

    ROOT = "root"
    CASCADE = "cascade"
    RECOVERED = "recovered"
    BENIGN = "benign"
    CONTEXT = "context"


class Confidence(StrEnum):
    """How sure the verdict is."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Decision(StrEnum):
    """Road back to service."""

    REPAIR_IN_PLACE = "repair_in_place"
    REBUILD_ON_OFFICIAL_IMAGE = "rebuild_on_official_image"
    USE_VERIFIED_ENVIRONMENT = "use_verified_environment"


class Outcome(StrEnum):
    """How one attempt to run the server ended."""

    FAILED = "failed"
    HEALTHY = "healthy"
    STOPPED = "stopped"
    INCOMPLETE = "incomplete"

"""Typed events: what `k3triage events` prints and `k3triage.events` yields, one object a line or traceback.

Every event says where it stands; `kind` tells the types apart. Sizes are bytes, times are seconds, rates are tokens a
second, shares are percent as the log prints them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from k3triage.model.report import ProcessRef


class _Event(BaseModel):
    """Where an event stands. time: the envelope's, seconds since 1970 UTC; clock: the program's own, without year."""

    model_config = ConfigDict(extra="forbid")

    source: str
    line: int = Field(ge=1)
    byte_offset: int = Field(ge=0)
    time: float | None = None
    clock: float | None = None
    process: ProcessRef = Field(default_factory=ProcessRef)
    level: str | None = None
    location: str | None = None
    message: str = ""


class PlainLine(_Event):
    """A line that no grammar knows, or of a logger without a type of its own (`logger` names its grammar)."""

    kind: Literal["plain"] = "plain"
    logger: str = ""


class VllmLine(_Event):
    """A line of vLLM's logger."""

    kind: Literal["vllm"] = "vllm"


class NcclLine(_Event):
    """A line of NCCL or of one of its plugins. device: CUDA device index, not the rank."""

    kind: Literal["nccl"] = "nccl"
    host: str
    pid: int
    tid: int
    device: int | None = None
    function: str | None = None


class C10dLine(_Event):
    """A line of torch's C++ logger. work: the collective it names, enqueued and completed: the group's progress."""

    kind: Literal["c10d"] = "c10d"
    sequence: int | None = None
    operation: str | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    enqueued: int | None = None
    completed: int | None = None


class EngineConfig(_Event):
    """vLLM's engine configuration."""

    kind: Literal["engine_config"] = "engine_config"
    version: str | None = None
    settings: dict[str, Any]


class LaunchArgs(_Event):
    """Arguments with which the server was started."""

    kind: Literal["launch_args"] = "launch_args"
    arguments: dict[str, Any]


class EngineStats(_Event):
    """vLLM's periodic statistics; `engines` stands instead of `engine` where one line sums up several."""

    kind: Literal["engine_stats"] = "engine_stats"
    engine: int | None = None
    engines: int | None = None
    prompt_rate: float | None = None
    generation_rate: float | None = None
    running: int | None = None
    waiting: int | None = None
    swapped: int | None = None
    kv_cache_usage: float | None = None
    prefix_cache_hit_rate: float | None = None
    external_hit_rate: float | None = None
    preemptions: int | None = None
    deferred: int | None = None


class AccessLog(_Event):
    """One answered HTTP request."""

    kind: Literal["access"] = "access"
    client: str
    method: str
    path: str
    status: int


class CudaOom(_Event):
    """PyTorch's out-of-memory sentence. device: "CUDA", "HIP" ..."""

    kind: Literal["cuda_oom"] = "cuda_oom"
    device: str
    gpu: int | None = None
    requested: int
    total: int | None = None
    free: int | None = None
    in_use: int | None = None
    allowed: int | None = None
    allocated: int | None = None
    private_pools: int | None = None
    unallocated: int | None = None


class CudaError(_Event):
    """A CUDA error as torch words it."""

    kind: Literal["cuda_error"] = "cuda_error"
    error: str


class NcclError(_Event):
    """torch's report of a failed NCCL call."""

    kind: Literal["nccl_error"] = "nccl_error"
    where: str
    result: str
    nccl_version: str


class Xid(_Event):
    """An Xid of the GPU driver. The fields from `unit` on are those of the NVLink 5 codes 144 to 150."""

    kind: Literal["xid"] = "xid"
    bus: str
    code: int
    pid: int | None = None
    name: str | None = None
    detail: str = ""
    unit: str | None = None
    fatal: bool | None = None
    link: int | None = None


class Sxid(_Event):
    """An SXid of an NVSwitch."""

    kind: Literal["sxid"] = "sxid"
    switch: str
    bus: str
    code: int
    fatal: bool | None = None
    detail: str = ""


class OomKill(_Event):
    """The kernel's OOM killer. constraint: CONSTRAINT_MEMCG is a container's limit, CONSTRAINT_NONE the host's."""

    kind: Literal["oom_kill"] = "oom_kill"
    stage: Literal["invoked", "chosen", "killed"]
    task: str
    pid: int | None = None
    constraint: str | None = None
    memcg: str | None = None
    anon_rss: int | None = None


class Segfault(_Event):
    """A segmentation fault that the kernel logged."""

    kind: Literal["segfault"] = "segfault"
    task: str
    pid: int
    library: str | None = None


class DockerError(_Event):
    """An error of a container client, the daemon or runc; `reasons` from the outermost to the innermost."""

    kind: Literal["docker_error"] = "docker_error"
    origin: str
    reasons: list[str]


class ContainerdLine(_Event):
    """A logfmt line of dockerd, containerd or another Go program."""

    kind: Literal["containerd"] = "containerd"
    attributes: str = ""


class KubeletEvent(_Event):
    """A line of the events table of `kubectl describe`."""

    kind: Literal["kubelet_event"] = "kubelet_event"
    type: str
    reason: str
    age: str
    reporter: str


class Frame(BaseModel):
    """One frame of a stack."""

    file: str
    line: int
    function: str


class RaisedEvent(BaseModel):
    """One exception of a chain. link: how it stands to the one before it ("", cause, context or group)."""

    type: str
    message: str
    line: int
    link: str = ""
    frames: list[Frame] = Field(default_factory=list)


class TracebackEvent(_Event):
    """A printed traceback, deepest exception first; `line` and `message` are those of the deepest."""

    kind: Literal["traceback"] = "traceback"
    start_line: int
    end_line: int
    chain: list[RaisedEvent]


Event = Annotated[
    PlainLine
    | VllmLine
    | NcclLine
    | C10dLine
    | EngineConfig
    | LaunchArgs
    | EngineStats
    | AccessLog
    | CudaOom
    | CudaError
    | NcclError
    | Xid
    | Sxid
    | OomKill
    | Segfault
    | DockerError
    | ContainerdLine
    | KubeletEvent
    | TracebackEvent,
    Field(discriminator="kind"),
]
EVENTS: TypeAdapter[Event] = TypeAdapter(Event)

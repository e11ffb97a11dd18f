"""Root faults with the cascade that each makes in the other processes."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.incidents.world import Rank, World

FORWARD = [
    "vllm/v1/executor/multiproc_executor.py|944|worker_busy_loop|output = func(*args, **kwargs)",
    "vllm/v1/worker/gpu_worker.py|771|execute_model|output = self.model_runner.execute_model(scheduler_output)",
    "vllm/v1/worker/gpu_model_runner.py|3120|execute_model|model_output = self._model_forward(input_ids)",
]
LOADING = [
    "vllm/v1/worker/gpu_worker.py|318|load_model|self.model_runner.load_model()",
    "vllm/model_executor/model_loader/default_loader.py|286|load_weights|loaded = model.load_weights(self.get_all_weights())",
]


@dataclass(frozen=True)
class Fault:
    """make prints the fault into a world, at a rank, and returns when it happened.

    layers: right answers. whole_node: every rank of the node shows it. kernel: the witness is the kernel's log.
    least_ranks: with fewer it cannot happen, or not be told. joins: the culprit's node comes as far as to join the others,
    so that its log shows a new start.
    """

    name: str
    layers: tuple[str, ...]
    make: Callable[[World, Rank], None]
    whole_node: bool = False
    kernel: bool = False
    least_ranks: int = 2
    joins: bool = True


def peers_lose(world: World, culprit: Rank, at: float, *, whole_node: bool = False) -> None:
    """What the others print of a rank that is gone: closed connections at once, or a time-out much later."""
    rng = world.rng
    late = rng.random() < 0.4
    work = rng.randrange(200, 90000)
    for rank in world.ranks:
        if rank.number == culprit.number or (whole_node and rank.node is culprit.node):
            continue
        if rng.random() < 0.15 and world.size > 4:
            continue  # not all get to say something
        when = at + (600 + rng.uniform(0, 3) if late else rng.uniform(0.05, 2.5))
        if late:
            timed_out(world, rank, when, work, "ALLREDUCE", 7340032)
        else:
            port = rng.randrange(30000, 60000)
            world.nccl(
                rank,
                when,
                f"socketProgress: Connection closed by remote peer {culprit.node.address}<{port}>",
                warn="misc/socket.cc:64",
            )
            world.nccl(rank, when, "misc/socket.cc:81 -> 6")
            world.c10d(
                rank,
                when + 0.4,
                "E",
                "ProcessGroupNCCL.cpp:2093",
                f"[PG ID 2 PG GUID 3 Rank {rank.number}] Process group watchdog thread terminated with exception: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, remote process exited or there was a network error, NCCL version 2.28.9",
            )
    head = world.nodes[0]
    when = at + (602 if late else 3.5)
    world.engine(head, when, "ERROR", "core.py:1104", "EngineCore encountered a fatal error.")
    world.put(
        when + 0.5,
        f"node {head.number}",
        f"(APIServer pid=1) ERROR {world.stamp(head, when + 0.5, 'vllm')} [async_llm.py:704] AsyncLLM output_handler failed.",
    )
    world.put(
        when + 0.6,
        f"node {head.number}",
        "(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    )


def timed_out(
    world: World, rank: Rank, when: float, work: int, operation: str, numel: int, *, root: bool = False
) -> None:
    world.c10d(
        rank,
        when,
        "E",
        "ProcessGroupNCCL.cpp:689",
        f"[Rank {rank.number}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, OpType={operation}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for {600000 + world.rng.randrange(5, 90)} milliseconds before timing out.",
        root=root,
    )
    world.c10d(
        rank,
        when + 0.01,
        "E",
        "ProcessGroupNCCL.cpp:2303",
        f"[PG ID 0 PG GUID 0(default_pg) Rank {rank.number}]  failure detected by watchdog at work sequence id: {work} PG status: last enqueued work: {work}, last completed work: {work - 1}",
    )


def waiting_for_node(world: World, culprit: Rank, at: float) -> None:
    """Rendezvous of the others while one node never joins."""
    for rank in world.ranks:
        if rank.node is culprit.node:
            continue
        when = at + 600 + world.rng.uniform(0, 2)
        joined = world.size - sum(r.node is culprit.node for r in world.ranks)
        stream = f"rank {rank.number}"
        world.put(when, stream, f"[rank{rank.number}]: Traceback (most recent call last):")
        world.put(
            when,
            stream,
            f'[rank{rank.number}]:   File "/opt/venv/lib/python3.12/site-packages/torch/distributed/rendezvous.py", line 278, in _env_rendezvous_handler',
        )
        world.put(
            when,
            stream,
            f"[rank{rank.number}]:     store = _create_c10d_store(master_addr, master_port, rank, world_size, timeout)",
        )
        world.put(
            when,
            stream,
            f"[rank{rank.number}]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. {joined}/{world.size} clients joined.",
        )


def failed_attempt(world: World) -> None:
    """An earlier start of the same deployment that failed of something else, in the same files."""
    reason = world.rng.choice(
        [
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 79.11 GiB of which 700.12 MiB is free.",
            "FileNotFoundError: [Errno 2] No such file or directory: '/models/k3-mini/model-00002-of-00061.safetensors'",
        ]
    )
    world.start(30)
    for rank in world.ranks:
        world.exception(rank, 31 + world.rng.uniform(0, 1), LOADING, reason)
    head = world.nodes[0]
    world.engine(head, 33, "ERROR", "core.py:1104", "EngineCore failed to start.")
    world.restart(80)


def decoys(world: World, *, removed: bool) -> None:
    """Things that stand in every long-lived host's logs and have nothing to do with it."""
    rng = world.rng
    for node in world.nodes:
        if rng.random() < (0.3 if world.has_kernel_logs and not removed else 0.05):
            at = -rng.uniform(7_000, 80_000)
            pid = rng.randrange(100_000, 200_000)
            task = rng.choice(["node_exporter", "java", "fluent-bit"])
            world.kernel(
                node,
                at,
                f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,oom_memcg=/system.slice/{task}.service,task_memcg=/system.slice/{task}.service,task={task},pid={pid},uid=65534",
            )
            world.kernel(
                node,
                at + 0.1,
                f"Memory cgroup out of memory: Killed process {pid} ({task}) total-vm:901234kB, anon-rss:512000kB, file-rss:0kB, shmem-rss:0kB, UID:65534 pgtables:1400kB oom_score_adj:0",
            )
            world.kernel(node, at + 60, "mlx5_core 0000:5e:00.0 ens1f0np0: Link up")


def _serving(world: World) -> float:
    at = world.rng.uniform(130, 260)
    world.start(at)
    return at


def cuda_oom(world: World, culprit: Rank) -> None:
    at = _serving(world)
    world.exception(
        culprit,
        at,
        FORWARD,
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU {culprit.local} has a total capacity of 139.80 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 138.67 GiB memory in use.",
    )
    peers_lose(world, culprit, at)


def startup_oom(world: World, culprit: Rank) -> None:
    at = world.rng.uniform(22, 55)
    world.start(at)
    world.exception(
        culprit,
        at,
        LOADING,
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU {culprit.local} has a total capacity of 79.11 GiB of which 900.12 MiB is free.",
    )
    peers_lose(world, culprit, at)


def illegal_access(world: World, culprit: Rank) -> None:
    at = _serving(world)
    world.exception(
        culprit, at, FORWARD, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    )
    peers_lose(world, culprit, at)


def device_assert(world: World, culprit: Rank) -> None:
    at = _serving(world)
    world.exception(culprit, at, FORWARD, "torch.AcceleratorError: CUDA error: device-side assert triggered")
    peers_lose(world, culprit, at)


def _gpu_fault(world: World, culprit: Rank, code: int, text: str) -> None:
    at = _serving(world)
    node = culprit.node
    bus = f"PCI:0000:{0x1B + 0x10 * culprit.local:x}:00"
    world.kernel(node, at - 4000, "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms")
    world.kernel(node, at, f"NVRM: Xid ({bus}): {code}, pid={culprit.pid}, name=VLLM::Worker_TP, {text}", root=True)
    for rank in world.ranks:
        if rank.node is node and (rank is culprit or world.rng.random() < 0.5):
            world.script_exception(
                rank,
                at + world.rng.uniform(-0.3, 2),
                FORWARD,
                "torch.AcceleratorError: CUDA error: unspecified launch failure",
            )
    for line in world.lines:
        line.root = line.root and line.stream.startswith("kernel")  # the exceptions are its effect
    peers_lose(world, culprit, at + 2, whole_node=True)


def xid79(world: World, culprit: Rank) -> None:
    _gpu_fault(world, culprit, 79, "GPU has fallen off the bus.")


def xid48(world: World, culprit: Rank) -> None:
    _gpu_fault(world, culprit, 48, "DBE (double bit error) ECC Error")


def xid74(world: World, culprit: Rank) -> None:
    _gpu_fault(world, culprit, 74, "NVLink: fatal error detected on link 3(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")


def _killed(world: World, culprit: Rank, memcg: bool) -> None:
    at = _serving(world)
    node, rng = culprit.node, world.rng
    container = f"{rng.getrandbits(256):064x}"
    world.kernel(
        node, at - 0.02, "VLLM::Worker_TP invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"
    )
    if memcg:
        world.kernel(
            node,
            at,
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-{container}.scope,mems_allowed=0-1,oom_memcg=/system.slice/docker-{container}.scope,task_memcg=/system.slice/docker-{container}.scope,task=VLLM::Worker_TP,pid={culprit.pid},uid=0",
            root=True,
        )
    else:
        world.kernel(
            node,
            at,
            f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=docker-{container}.scope,mems_allowed=0-1,global_oom,task_memcg=/system.slice/docker-{container}.scope,task=VLLM::Worker_TP,pid={culprit.pid},uid=0",
            root=True,
        )
    kind = "Memory cgroup out of memory" if memcg else "Out of memory"
    world.kernel(
        node,
        at + 0.1,
        f"{kind}: Killed process {culprit.pid} (VLLM::Worker_TP) total-vm:90123456kB, anon-rss:68123456kB, file-rss:1200kB, shmem-rss:0kB, UID:0 pgtables:140000kB oom_score_adj:0",
    )
    world.engine(
        node,
        at + 1,
        "ERROR",
        "multiproc_executor.py:284",
        f"Worker proc VllmWorker-{culprit.number} died unexpectedly, shutting down executor.",
    )
    peers_lose(world, culprit, at)


def cgroup_kill(world: World, culprit: Rank) -> None:
    _killed(world, culprit, True)


def host_kill(world: World, culprit: Rank) -> None:
    _killed(world, culprit, False)


def container_state(world: World, culprit: Rank) -> None:
    """No kernel log, but docker's record of the container."""
    at = _serving(world)
    node = culprit.node
    world.put(at + 30, f"state {node.number}", "\n".join([
        "[", "    {", f'        "Id": "{world.rng.getrandbits(256):064x}",', '        "Path": "vllm",', '        "State": {', '            "Status": "exited",', '            "Running": false,', '            "Paused": false,']))  # fmt: skip
    world.put(at + 30.1, f"state {node.number}", '            "OOMKilled": true,', root=True)
    world.put(at + 30.2, f"state {node.number}", "\n".join(['            "Dead": false,', '            "Pid": 0,', '            "ExitCode": 137,', '            "Error": ""', "        }", "    }", "]"]))  # fmt: skip
    peers_lose(world, culprit, at, whole_node=True)


def shared_memory(world: World, culprit: Rank) -> None:
    at = 11.9
    world.start(at)
    size = world.rng.choice([33030528, 9637888])
    name = f"/dev/shm/nccl-{world.rng.getrandbits(24):06x}"
    world.nccl(
        culprit,
        at,
        f"Error: failed to extend {name} to {size} bytes, error: No space left on device (28)",
        warn="misc/shmutils.cc:87",
        root=True,
    )
    world.nccl(
        culprit,
        at,
        f"Error while creating shared memory segment {name} (size {size - 4}), error: No space left on device (28)",
        warn="misc/shmutils.cc:129",
    )
    peers_lose(world, culprit, at + 0.5)


def shard_missing(world: World, culprit: Rank) -> None:
    at = world.rng.uniform(22, 55)
    world.start(at)
    world.exception(
        culprit,
        at,
        LOADING,
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/k3-mini/model-00007-of-00061.safetensors'",
    )
    peers_lose(world, culprit, at)


def module_missing(world: World, culprit: Rank) -> None:
    world.start(6, skip=frozenset({culprit.node.number}))
    world.script_exception(
        culprit,
        4,
        ["vllm/entrypoints/cli/main.py|31|main|import vllm.entrypoints.cli.serve"],
        "ModuleNotFoundError: No module named 'flashinfer'",
    )
    waiting_for_node(world, culprit, 6)


def no_gpu(world: World, culprit: Rank) -> None:
    world.start(6, skip=frozenset({culprit.node.number}))
    world.script_exception(
        culprit,
        4,
        ["torch/cuda/__init__.py|412|_lazy_init|torch._C._cuda_init()"],
        "RuntimeError: No CUDA GPUs are available",
    )
    waiting_for_node(world, culprit, 6)


def interface_missing(world: World, culprit: Rank) -> None:
    at = 10.5
    world.start(at)
    world.nccl(culprit, at, "Bootstrap : no socket interface found", warn="bootstrap.cc:114", root=True)
    peers_lose(world, culprit, at + 1)


def no_net(world: World, culprit: Rank) -> None:
    at = 10.5
    world.start(at)
    world.nccl(culprit, at, "Failed to initialize any NET plugin", warn="plugin/net.cc:379", root=True)
    peers_lose(world, culprit, at + 1)


def memlock(world: World, culprit: Rank) -> None:
    at = 12.5
    world.start(at)
    world.nccl(
        culprit,
        at,
        "Call to ibv_reg_mr failed with error Cannot allocate memory [errno 12]",
        warn="misc/ibvwrap.cc:210",
        root=True,
    )
    peers_lose(world, culprit, at + 1)


def mismatch(world: World, culprit: Rank) -> None:
    at = _serving(world)
    work = world.rng.randrange(100, 9000)
    for rank in world.ranks:
        other = rank is culprit
        timed_out(
            world,
            rank,
            at + world.rng.uniform(0, 1),
            work,
            "ALLGATHER" if other else "ALLREDUCE",
            4096 if other else 8192,
            root=True,
        )


def straggler(world: World, culprit: Rank) -> None:
    at = _serving(world)
    work = world.rng.randrange(100, 9000)
    for rank in world.ranks:
        if rank is not culprit:
            timed_out(world, rank, at + world.rng.uniform(0, 1), work, "ALLREDUCE", 8192, root=True)
    when = at + 4
    world.c10d(
        culprit,
        when,
        "E",
        "ProcessGroupNCCL.cpp:1849",
        f"[PG ID 0 PG GUID 0(default_pg) Rank {culprit.number}] Observed flight recorder dump signal from another rank via TCPStore.",
    )
    world.c10d(
        culprit,
        when,
        "E",
        "ProcessGroupNCCL.cpp:1914",
        f"[PG ID 0 PG GUID 0(default_pg) Rank {culprit.number}] Received a dump signal due to a collective timeout from  rank {(culprit.number + 1) % world.size} and we will try our best to dump the debug info. Last enqueued NCCL work: {work - 1}, last completed NCCL work: {work - 1}.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks",
    )


def host_allocation(world: World, culprit: Rank) -> None:
    at = world.rng.uniform(22, 55)
    world.start(at)
    world.exception(
        culprit,
        at,
        LOADING,
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 64424509440 bytes. Error code 12 (Cannot allocate memory)",
    )
    peers_lose(world, culprit, at)


FAULTS = (
    Fault("cuda_oom", ("inference_oom",), cuda_oom),
    Fault("startup_oom", ("startup_oom",), startup_oom),
    Fault("illegal_access", ("gpu_kernel",), illegal_access),
    Fault("device_assert", ("gpu_kernel",), device_assert),
    Fault("xid79", ("hardware",), xid79, whole_node=True, kernel=True),
    Fault("xid48", ("hardware",), xid48, whole_node=True, kernel=True),
    Fault("xid74", ("hardware",), xid74, whole_node=True, kernel=True),
    Fault("cgroup_kill", ("host_oom",), cgroup_kill, kernel=True),
    Fault("host_kill", ("host_oom",), host_kill, kernel=True),
    Fault("container_state", ("host_oom",), container_state, whole_node=True),
    Fault("shared_memory", ("container",), shared_memory),
    Fault("shard_missing", ("model",), shard_missing),
    Fault("module_missing", ("dependency",), module_missing, whole_node=True, joins=False),
    Fault("no_gpu", ("cuda",), no_gpu, whole_node=True, joins=False),
    Fault("interface_missing", ("nccl",), interface_missing),
    Fault("no_net", ("nccl",), no_net),
    Fault("memlock", ("nccl",), memlock),
    Fault("mismatch", ("nccl",), mismatch, least_ranks=3),
    Fault("straggler", ("nccl",), straggler, least_ranks=3),
    Fault("host_allocation", ("host_oom",), host_allocation),
)

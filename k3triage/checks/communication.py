"""Communication: what one host and several need before NCCL can work."""

from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.model.checks import Check, Group, State

_GROUP = Group.COMMUNICATION
_NCCL = ("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html", "2026-12-01")
_ENV = ("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html", "2026-12-01")
_DOCKER = ("https://docs.vllm.ai/en/stable/deployment/docker.html", "2026-12-01")
# docker gives 64 MiB, and NCCL takes tens of MiB for every pair of ranks.
_LEAST_SHM = 1 << 30
_LEAST_MEMLOCK = 1 << 30
_COMMAND = "env | grep -E 'NCCL|UCX|CUDA_VISIBLE_DEVICES'; ip link; lsmod | grep -E 'mlx5|nvidia'; ibv_devinfo"


def communication_checks(context: Context) -> Iterator[Check]:
    """Shared memory, and for several nodes: RDMA, pinned memory, the interface that NCCL is told to use."""
    yield from _shm(context)
    yield from _fabric(context)
    multi = context.multi_node()
    if multi is False:
        return
    if multi:
        yield _rdma(context)
        yield from _rdma_off(context)
        yield from _memlock(context)
    yield from _interface(context)
    yield from _two_peermem(context)
    if multi is None:
        yield context.answer(
            "comm.topology",
            _GROUP,
            "the nodes and the path between them are known",
            State.UNKNOWN,
            of="gpus_per_host",
            source=_NCCL,
            command=_COMMAND,
            note="nothing tells whether the deployment spans several nodes",
        )


def _shm(context: Context) -> Iterator[Check]:
    """/dev/shm: a host's IPC namespace has the host's, whatever size docker notes for the container."""
    if context.value("ipc_mode") == "host" and "dev_shm" not in context.facts:
        yield context.answer(
            "comm.shm",
            _GROUP,
            "/dev/shm holds at least 1 GiB",
            State.OK,
            of="ipc_mode",
            fact="the container uses the host's /dev/shm",
            source=_DOCKER,
        )
        return
    name = "dev_shm" if "dev_shm" in context.facts else "shm_size"
    size = context.value(name)
    if not isinstance(size, int):
        return
    yield context.answer(
        "comm.shm",
        _GROUP,
        "/dev/shm holds at least 1 GiB",
        State.OK if size >= _LEAST_SHM else State.VIOLATED,
        of=name,
        fact=f"{size / (1 << 20):,.0f} MiB",
        source=_DOCKER,
        fix="Start the container with --ipc=host or --shm-size 16g",
    )


def _fabric(context: Context) -> Iterator[Check]:
    state = context.value("fabric")
    if state is None:
        return
    good = str(state).lower() in ("completed", "not supported")
    yield context.answer(
        "comm.fabric",
        _GROUP,
        "the NVLink fabric is initialised",
        State.OK if good else State.VIOLATED,
        of="fabric",
        fact=f"fabric state {state}",
        source=("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/", "2026-12-01"),
        fix="systemctl status nvidia-fabricmanager: it must run, in the driver's version; till then CUDA answers 802",
    )


def _rdma(context: Context) -> Check:
    ports = context.value("rdma_ports") or ()
    active = [port for port in ports if port.active]
    rdma = context.value("rdma")
    state = State.UNKNOWN if rdma is None else State.OK if rdma else State.VIOLATED
    fact = None
    if ports:
        fact = f"{len(active)} of {len(ports)} RDMA ports are active"
    elif rdma is not None:
        fact = str(context.value("rdma_absent") or f"rdma is {rdma}")
    return context.answer(
        "comm.rdma",
        _GROUP,
        "several nodes reach each other over an active RDMA port",
        state,
        of=["rdma", "rdma_ports"],
        fact=fact,
        source=_NCCL,
        command="ibv_devinfo   # inside the container, on every node",
        fix="Give the container the devices (--device /dev/infiniband, or the host's network), and bring the ports up",
    )


def _rdma_off(context: Context) -> Iterator[Check]:
    if str(context.value("env.NCCL_IB_DISABLE") or "0") == "1" and context.value("rdma"):
        yield context.answer(
            "comm.rdma_in_use",
            _GROUP,
            "NCCL may use the RDMA ports that are there",
            State.VIOLATED,
            of="env.NCCL_IB_DISABLE",
            source=_ENV,
            fix="unset NCCL_IB_DISABLE",
        )


def _memlock(context: Context) -> Iterator[Check]:
    limit = context.value("limit.memlock")
    if limit is None:
        return
    good = limit == "unlimited" or (isinstance(limit, int) and limit >= _LEAST_MEMLOCK)
    yield context.answer(
        "comm.memlock",
        _GROUP,
        "memory for RDMA may be pinned without limit",
        State.OK if good else State.VIOLATED,
        of="limit.memlock",
        fact=f"max locked memory {limit}",
        source=_NCCL,
        fix="Start the container with --ulimit memlock=-1; for a service set LimitMEMLOCK=infinity",
    )


def _interface(context: Context) -> Iterator[Check]:
    interfaces = context.value("interfaces")
    for variable in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        wanted = context.value(f"env.{variable}")
        if not wanted or not interfaces:
            continue
        text = str(wanted)
        if text.startswith("^"):
            continue  # names what to leave out
        exact = text.startswith("=") or variable.startswith("GLOO")
        names = [name for name in text.lstrip("=").split(",") if name]
        found = [i for i in interfaces if any(i.name == n if exact else i.name.startswith(n) for n in names)]
        up = [interface for interface in found if interface.up]
        yield context.answer(
            f"comm.{variable.lower()}",
            _GROUP,
            f"{variable} names an interface that is up",
            State.OK if up else State.VIOLATED,
            of=f"env.{variable}",
            fact=f"{text}: " + ("up" if up else "down" if found else "no such interface"),
            source=_ENV,
            fix=f"Set {variable} to one of: {', '.join(i.name for i in interfaces if i.up and i.name != 'lo')[:120]}",
        )


def _two_peermem(context: Context) -> Iterator[Check]:
    modules = context.value("modules") or frozenset()
    if {"nvidia_peermem", "nv_peer_mem"} <= set(modules):
        yield context.answer(
            "comm.one_peermem",
            _GROUP,
            "only one module serves GPUDirect RDMA",
            State.VIOLATED,
            of="modules",
            fact="nvidia_peermem and nv_peer_mem are both loaded",
            source=("https://github.com/deepseek-ai/DeepEP/issues/36", "2026-12-01"),
            fix="modprobe -r nv_peer_mem",
        )

"""What a host tells about its GPUs, its kernel, its network and its limits."""

from k3triage.collect.steps import Step

FOLDER = "host"
_MARGIN = 60
_QUERY = "--query-gpu=index,name,driver_version,memory.total,memory.used,pstate,ecc.errors.uncorrected.volatile.total"


def host_steps(since: float | None = None) -> list[Step]:
    """Steps for this host. since: start of what failed, in Unix seconds.

    Kernel lines from before it are left out where the host can tell their age: a fault of last week is not today's.
    """
    rows: list[tuple[str, str, tuple[str, ...]]] = [
        ("nvidia-smi-topo.txt", "links between GPUs and NICs", ("nvidia-smi topo -m",)),
        ("lsmod.txt", "kernel modules", ("lsmod",)),
        ("ip-link.txt", "network interfaces", ("ip link",)),
        ("ibv_devinfo.txt", "RDMA devices", ("ibv_devinfo", "ibstat")),
        ("df.txt", "disk space", ("df -h",)),
        ("free.txt", "host memory", ("free -m",)),
        ("uname.txt", "kernel version", ("uname -a",)),
        ("nvcc.txt", "CUDA toolkit of the host (not that of the container)", ("nvcc --version",)),
        ("nvidia-ctk.txt", "NVIDIA Container Toolkit", ("nvidia-ctk --version",)),
        (
            "fabricmanager.txt",
            "state of the fabric manager",
            ("systemctl show nvidia-fabricmanager --property=LoadState,ActiveState,SubState,Result",),
        ),
    ]
    return [
        Step(_at("nvidia-smi.txt"), "GPUs and driver, on the host", (("nvidia-smi",),), keep_failed=True),
        Step(_at("nvidia-smi-q.txt"), "GPUs in full", (("nvidia-smi", "-q"),), keep_failed=True),
        Step(_at("nvidia-smi.csv"), "GPU memory and ECC", (("nvidia-smi", _QUERY, "--format=csv"),)),
        Step(_at("kernel.log"), "kernel log", _kernel(since)),
        Step(_at("nvidia-driver.txt"), "loaded driver", path="/proc/driver/nvidia/version"),
        Step(_at("os-release.txt"), "distribution", path="/etc/os-release"),
        Step(_at("docker-daemon.json"), "settings of the Docker daemon", path="/etc/docker/daemon.json", shape="json"),
        Step(_at("ulimit.txt"), "limits of a shell on the host", (("sh", "-c", "ulimit -a"),)),
        *(Step(_at(name), what, tuple(tuple(line.split()) for line in lines)) for name, what, lines in rows),
    ]


def _kernel(since: float | None) -> tuple[tuple[str, ...], ...]:
    journal = ("journalctl", "--dmesg", "--quiet", "--no-pager", "--output=short-iso")
    timed = ("dmesg", "--time-format=iso")
    if since is None:
        return (journal, timed, ("dmesg", "-T"), ("dmesg",))
    start = f"--since=@{int(since) - _MARGIN}"
    return ((*journal, start), (*timed, start), timed, ("dmesg", "-T"), ("dmesg",))


def _at(name: str) -> str:
    return f"{FOLDER}/{name}"

"""Kernel logs, container states, events and job records confirm or overturn what the server's own log shows."""

import pytest

from tests.incidents.conftest import Run

OURS = "ab12" * 16
OTHER = "cd34" * 16
PS = (
    "CONTAINER ID   IMAGE                      COMMAND        CREATED       STATUS                       NAMES\n"
    f'{OURS[:12]}   vllm/vllm-openai:kimi-k3   "vllm serve"   2 hours ago   Exited (137) 2 minutes ago   k3\n'
)
PROBE = """Events:
  Type     Reason     Age               From     Message
  ----     ------     ----              ----     -------
  Warning  Unhealthy  2m (x30 over 7m)  kubelet  Liveness probe failed: Get "http://10.42.0.9:8000/health": dial tcp
  Normal   Killing    1m (x4 over 20m)  kubelet  Container vllm failed liveness probe, will be restarted
"""


def inspect(oom_killed: str = "false", code: int = 137) -> str:
    return f"""[
    {{
        "Id": "{OURS}",
        "Created": "2026-11-02T03:00:00.1Z",
        "Path": "vllm",
        "Args": [
            "serve",
            "/models/k3-mini"
        ],
        "State": {{
            "Status": "exited",
            "Running": false,
            "OOMKilled": {oom_killed},
            "Dead": false,
            "Pid": 0,
            "ExitCode": {code},
            "Error": "",
            "FinishedAt": "2026-11-02T03:04:05.2Z"
        }},
        "Name": "/k3"
    }}
]
"""


def describe(container: str = OURS) -> str:
    return f"""Name:             k3-0
Namespace:        serve
Node:             gpu-3/10.24.1.13
Containers:
  vllm:
    Container ID:  containerd://{container}
    Image:         vllm/vllm-openai:kimi-k3
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
    Restart Count:  4
"""


def kill(container: str, *, task: str = "python3", kube: bool = False) -> str:
    group = (
        f"/kubepods.slice/kubepods-podcc33.slice/cri-containerd-{container}.scope"
        if kube
        else f"/system.slice/docker-{container}.scope"
    )
    return f"""[ 4021.500100] {task} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[ 4021.501200] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={group},task_memcg={group},task={task},pid=7001,uid=0
[ 4021.501300] Memory cgroup out of memory: Killed process 7001 ({task}) total-vm:81234567kB, anon-rss:66000000kB, file-rss:900kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0
"""


def event(what: str, attributes: str) -> str:
    return f"2026-11-02T03:04:05.100000000Z container {what} {OURS} ({attributes}, image=vllm/vllm-openai:kimi-k3, name=k3)\n"


DIED = event("die", "execDuration=240, exitCode=137")
WORKER_DIED = "(EngineCore_DP0 pid=4107) ERROR 11-20 10:01:44 [multiproc_executor.py:300] Worker proc VllmWorker-3 died unexpectedly, shutting down executor.\n"


@pytest.mark.parametrize(
    ("files", "status", "cause"),
    [
        ({"ps.txt": PS}, "inconclusive", "host_oom.exit_137"),
        ({"inspect.json": inspect()}, "inconclusive", "host_oom.exit_137"),
        ({"describe.txt": describe()}, "inconclusive", "host_oom.exit_137"),
        ({"events.txt": DIED}, "inconclusive", "host_oom.exit_137"),
        ({"sacct.txt": "8812.0   vllm   FAILED   137:0   gpu-[1-2]\n"}, "inconclusive", "host_oom.exit_137"),
        ({"inspect.json": inspect("true")}, "diagnosed", "host_oom.container_oom_killed"),
        ({"inspect.json": inspect(), "dmesg.txt": kill(OURS)}, "diagnosed", "host_oom.cgroup_oom_kill"),
        ({"ps.txt": PS, "dmesg.txt": kill(OURS)}, "diagnosed", "host_oom.cgroup_oom_kill"),
        ({"inspect.json": inspect("true"), "dmesg.txt": kill(OURS)}, "diagnosed", "host_oom.cgroup_oom_kill"),
        ({"inspect.json": inspect(), "dmesg.txt": kill(OTHER)}, "inconclusive", "host_oom.exit_137"),
        ({"ps.txt": PS, "dmesg.txt": kill(OTHER)}, "inconclusive", "host_oom.exit_137"),
        ({"describe.txt": describe(), "dmesg.txt": kill(OURS, kube=True)}, "diagnosed", "host_oom.cgroup_oom_kill"),
        ({"describe.txt": describe(), "dmesg.txt": kill(OTHER, kube=True)}, "inconclusive", "host_oom.exit_137"),
        ({"describe.txt": describe() + PROBE}, "diagnosed", "container.liveness_probe_killed"),
        (
            {"describe.txt": describe() + PROBE, "dmesg.txt": kill(OTHER, kube=True)},
            "diagnosed",
            "container.liveness_probe_killed",
        ),
        ({"events.txt": event("kill", "signal=9") + DIED}, "diagnosed", "container.killed_by_docker"),
        ({"events.txt": event("oom", "exitCode=0") + DIED}, "diagnosed", "host_oom.container_oom_killed"),
        (
            {"sacct.txt": "8812.0   vllm   OUT_OF_ME+   0:125   515233444K   gpu-[1-2]\n"},
            "diagnosed",
            "host_oom.slurm_oom_kill",
        ),
        ({"sacct.txt": "8812.0   vllm   NODE_FAIL   0:0   gpu-[1-2]\n"}, "inconclusive", "unknown.slurm_node_fail"),
        (
            {
                "log.txt": WORKER_DIED,
                "dmesg.txt": "[  991.200000] VLLM::Worker_TP[4211]: segfault at 10 ip 00007f3 sp 00007ff error 4 in libnccl.so.2[7f30+1000]\n",
            },
            "unknown_failure",
            "unknown.segfault",
        ),
    ],
)
def test_what_the_witnesses_come_to(run: Run, files: dict[str, str], status: str, cause: str) -> None:
    report = run(files)
    assert report.verdict is not None
    assert (report.status.value, report.verdict.cause) == (status, cause)
    backwards = run(files, sorted(files, reverse=True))
    assert backwards.verdict == report.verdict


def test_a_strangers_kill_does_not_explain_a_fault_of_our_own(run: Run) -> None:
    own = "\n".join(
        [
            "(APIServer pid=1) INFO:     Application startup complete.",
            "(EngineCore_DP0 pid=44) ERROR 11-20 10:01:44 [core.py:1104] EngineCore encountered a fatal error.",
            "(EngineCore_DP0 pid=44) ERROR 11-20 10:01:44 [core.py:1104] Traceback (most recent call last):",
            '(EngineCore_DP0 pid=44) ERROR 11-20 10:01:44 [core.py:1104]   File "/v/vllm/v1/engine/core.py", line 9, in step',
            "(EngineCore_DP0 pid=44) ERROR 11-20 10:01:44 [core.py:1104] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1.12 GiB is free.",
            "",
        ]
    )
    old = (
        kill(OTHER, task="fluent-bit")
        .replace("[ 4021.5", "[Fri Nov 20 02:00:00 2026] [ 4021.5")
        .replace("] [ 4021.501", "] ")
    )
    lines = [line.split("] ", 1)[-1].split("] ", 1)[-1] for line in old.splitlines()]
    dated = "".join(f"[Fri Nov 20 02:00:00 2026] {line}\n" for line in lines)
    report = run({"vllm.log": own, "dmesg.txt": dated})
    assert report.verdict is not None
    assert report.verdict.layer.value == "inference_oom"


def test_the_kernels_victim_is_named(run: Run) -> None:
    log = (
        "(Worker_TP3 pid=7001) INFO 11-20 10:00:00 [parallel_state.py:1923] rank 3 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 3\n"
        + WORKER_DIED
    )
    report = run({"node0.log": log, "node0-dmesg.log": kill(OTHER)})
    assert report.verdict is not None
    assert report.verdict.cause == "host_oom.cgroup_oom_kill"
    assert any("7001" in reason and "rank 3" in reason for reason in report.verdict.why)


def test_a_killed_raylet_explains_the_actors_that_died(run: Run) -> None:
    log = (
        "(EngineCore_DP0 pid=88) ERROR 11-20 10:01:44 [core.py:1104] ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
        "(raylet) The node with node id: 0a1b and address: 10.24.0.12 and node name: 10.24.0.12 has been marked dead because the detector has missed too many heartbeats from it.\n"
    )
    report = run({"head.log": log, "node1-dmesg.log": kill(OTHER, task="raylet")})
    assert report.verdict is not None
    assert report.verdict.cause == "host_oom.cgroup_oom_kill"
    assert {f.explained_by for f in report.findings if f.role.value == "cascade"} == {"host_oom.cgroup_oom_kill"}

"""Containers, pods and processes by recorded output: what is asked for, what is absent and why, what is kept secret."""

import json
import shlex
from typing import Any

from k3triage import triage
from k3triage.collect.gather import Wanted
from k3triage.collect.machine import Output
from tests.collect.helpers import (
    API_KEY,
    CAUSE,
    HF,
    NOW,
    ODD,
    PASSWORD,
    SECOND_KEY,
    UNKNOWN,
    VARIABLES,
    WORDS,
    Bundle,
    FakeMachine,
    failing_log,
    gathered,
)

IMAGE = "vllm/vllm-openai:harbor"
IMAGE_ID = "sha256:" + "5e" * 32
SMI = b"| NVIDIA-SMI 580.95.05    Driver Version: 580.95.05    CUDA Version: 13.0 |\n"


def container(name: str = "server", **state: Any) -> dict[str, Any]:
    known = {"Status": "exited", "Running": False, "ExitCode": 1, "StartedAt": "2026-11-30T10:00:00.123456789Z"}
    return {
        "Id": "ab" * 32,
        "Name": f"/{name}",
        "Created": "2026-11-30T09:00:00.5Z",
        "Path": "vllm",
        "Args": WORDS,
        "Image": IMAGE_ID,
        "RestartCount": 0,
        "State": {**known, **state},
        "Config": {"Image": IMAGE, "Entrypoint": ["vllm", "serve"], "Env": [f"{k}={v}" for k, v in VARIABLES.items()]},
        "HostConfig": {"Runtime": "nvidia", "ShmSize": 1 << 30},
    }


def docker_machine(**state: Any) -> FakeMachine:
    image = [
        {"RepoTags": [IMAGE], "RepoDigests": [f"vllm/vllm-openai@{IMAGE_ID}"], "Config": {"Env": [f"HF_TOKEN={HF}"]}}
    ]
    return FakeMachine(
        {
            "docker inspect --type container server": json.dumps([container(**state)]).encode(),
            f"docker image inspect {IMAGE_ID}": json.dumps(image).encode(),
            "docker context inspect": b"unix:///var/run/docker.sock\n",
            "docker logs --timestamps server": failing_log(),
            "docker events": f"2026-11-30T10:00:00Z container die ab (exitCode=1, team.token={ODD})\n".encode(),
            "docker run": b"INFO starting\n0.11.2\n",
            "docker exec": b"0.11.2\n",
            "nvidia-smi": SMI,
        }
    )


def verdict(bundle: Bundle, tmp_path: Any) -> tuple[str, str]:
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(bundle.data)
    report = triage(str(path))
    assert report.verdict is not None
    return report.verdict.cause, report.verdict.first_anomaly.source.removeprefix(f"{path}/")


def test_a_stopped_container_is_asked_through_its_image(tmp_path: Any) -> None:
    machine = docker_machine()
    bundle, summary = gathered(machine, Wanted(containers=["server"]))
    assert (summary.targets, summary.unknown, summary.has_log) == (["container server"], [], True)
    assert bundle.leaks() == []
    (probe,) = [
        line for line in machine.ran if "vllm --version" not in line and line.endswith(f"vllm {IMAGE_ID} --version")
    ]
    words = shlex.split(probe)
    assert words[:2] == ["docker", "run"] and {"--rm", "--network", "none", "--pull", "never"} <= set(words)
    assert "NVIDIA_VISIBLE_DEVICES=void" in words
    launch = bundle.text("container-server/launch.txt")
    assert f"image: {IMAGE}\n" in launch and f"digests: vllm/vllm-openai@{IMAGE_ID}\n" in launch
    assert bundle.text("container-server/vllm-version.txt") == "0.11.2\n"
    assert bundle.members["host/nvidia-smi.txt"] == SMI
    assert "container-server/nvidia-smi.txt" not in bundle.members, "without its GPUs it would tell nothing"
    assert verdict(bundle, tmp_path) == (CAUSE, "container-server/server.log")


def test_nothing_that_changes_the_host_is_run() -> None:
    for state in ({}, {"Running": True, "Status": "running", "ExitCode": 0}):
        machine = docker_machine(**state)
        gathered(machine, Wanted(containers=["server"]))
        for line in machine.ran:
            words = shlex.split(line)
            if words[0] == "docker":
                allowed = {
                    "inspect",
                    "image",
                    "logs",
                    "events",
                    "version",
                    "info",
                    "context",
                    "ps",
                    "exec",
                    "run",
                    "rm",
                }
                assert words[1] in allowed
                # Only what was started here is removed again.
                assert words[1] != "rm" or words[-1].startswith("k3triage-collect-")
                assert words[1] != "run" or "--rm" in words


def test_a_running_container_is_asked_itself() -> None:
    bundle, _ = gathered(docker_machine(Running=True, Status="running"), Wanted(containers=["server"]))
    assert bundle.entry("vllm --version")["command"] == ["docker", "exec", "server", "vllm", "--version"]


def test_the_manifest_says_what_came_of_everything() -> None:
    bundle, summary = gathered(docker_machine(), Wanted(containers=["server"]))
    manifest = bundle.manifest
    assert (manifest["format"], manifest["version"], manifest["redacted"], manifest["host"]) == (
        "k3triage-bundle",
        1,
        True,
        "node7",
    )
    assert manifest["created"].startswith("2026-11-30T")
    for entry in manifest["entries"]:
        if entry["member"] is None:
            assert entry["state"] == "absent" and entry["reason"] and entry["wanted"]
        else:
            assert entry["bytes"] == len(bundle.members[entry["member"]]) and len(entry["sha256"]) == 64
    log = bundle.entry("log from its start")
    assert (log["exit_code"], log["cut_bytes"], log["state"]) == (0, 0, "gathered")
    assert bundle.entry("kernel modules")["reason"] == "lsmod is not installed"
    assert (
        len(bundle.members) - 1 == summary.gathered == sum(entry["member"] is not None for entry in manifest["entries"])
    )


def test_a_log_that_takes_too_long_is_followed_by_its_end() -> None:
    machine = docker_machine()
    machine.commands["docker logs --timestamps server"] = Output(failing_log(), code=None, problem="stopped after 20 s")
    machine.commands["docker logs --timestamps --tail"] = b"the end\n"
    bundle, _ = gathered(machine, Wanted(containers=["server"]))
    entry = bundle.entry("log from its start")
    assert (entry["state"], entry["reason"], entry["exit_code"]) == ("incomplete", "stopped after 20 s", None)
    assert bundle.members["container-server/server.log"].startswith(failing_log()[:100])
    assert bundle.members["container-server/server.tail.log"] == b"the end\n"


def test_a_probe_that_hangs_is_removed() -> None:
    machine = docker_machine()
    machine.commands["docker run"] = Output(code=None, problem="stopped after 20 s")
    machine.commands["docker rm --force"] = b""
    bundle, _ = gathered(machine, Wanted(containers=["server"]))
    assert any(line.startswith("docker rm --force k3triage-collect-") for line in machine.ran)
    assert bundle.entry("vllm --version")["reason"] == "stopped after 20 s"


def test_a_refusal_of_docker_is_no_log_and_no_evidence() -> None:
    machine = docker_machine()
    refusal = b"Error response from daemon: configured logging driver does not support reading\n"
    machine.commands["docker logs --timestamps server"] = Output(refusal, code=1)
    machine.commands["docker run"] = Output(b"", b'docker: exec: "vllm": executable file not found in $PATH\n', 127)
    machine.commands["nvidia-smi"] = Output(b"NVIDIA-SMI has failed because it couldn't communicate\n", b"", 9)
    bundle, summary = gathered(machine, Wanted(containers=["server"]))
    assert not summary.has_log and "does not support reading" in bundle.entry("log from its start")["reason"]
    assert "executable file not found" in bundle.entry("vllm --version")["reason"]
    evidence = bundle.entry("GPUs and driver, on the host")
    assert (evidence["state"], evidence["exit_code"]) == ("incomplete", 9), "a driver that fails is what is looked for"
    assert bundle.text("host/nvidia-smi.txt").startswith("NVIDIA-SMI has failed")


def test_a_daemon_elsewhere_is_not_mixed_with_this_host() -> None:
    machine = docker_machine()
    machine.commands["docker context inspect"] = f"ssh://ops:{PASSWORD}@gpu-host-3\n".encode()
    bundle, _ = gathered(machine, Wanted(containers=["server"]))
    assert bundle.leaks() == []
    assert not any(name.startswith("host/") for name in bundle.members)
    assert "gpu-host-3" in bundle.entry("everything about the host")["reason"]
    assert "nvidia-smi" not in machine.ran


def test_kernel_lines_of_an_earlier_day_are_not_asked_for() -> None:
    for restarts, start in ((0, 1_796_032_800 - 60), (3, 1_796_029_200 - 60)):
        machine = docker_machine()
        value = {**container(), "RestartCount": restarts}
        machine.commands["docker inspect --type container server"] = json.dumps([value]).encode()
        gathered(machine, Wanted(containers=["server"]))
        assert any(line.endswith(f"--since=@{start}") for line in machine.ran if line.startswith("journalctl")), (
            restarts
        )


def test_auto_takes_what_failed_last() -> None:
    machine = docker_machine()
    machine.commands["docker ps"] = b"a\nb\nc\nd\n"
    listed = [
        container("web", ExitCode=3, FinishedAt="2026-11-30T12:00:00Z")
        | {"Config": {"Image": "nginx"}, "Path": "n", "Args": []},
        container("old", FinishedAt="2026-11-29T12:00:00Z"),
        container("server", FinishedAt="2026-11-30T11:00:00Z"),
        container("fine", ExitCode=0, Running=True, FinishedAt="0001-01-01T00:00:00Z"),
    ]
    machine.commands["docker inspect --type container a b c d"] = json.dumps(listed).encode()
    bundle, summary = gathered(machine)
    assert bundle.manifest["targets"][0]["name"] == "server"
    assert summary.notes == [
        "took the container server",
        "left out old, fine; name what belongs together with --container",
    ]


def pod(running: bool) -> dict[str, Any]:
    state = (
        {"running": {"startedAt": "2026-11-30T10:00:00Z"}} if running else {"waiting": {"reason": "CrashLoopBackOff"}}
    )
    env = [{"name": name, "value": value} for name, value in VARIABLES.items()]
    env.append({"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "wandb"}}})  # type: ignore[dict-item]
    return {
        "metadata": {
            "name": "vllm-0",
            "namespace": "serving",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(env)},
        },
        "spec": {
            "nodeName": "gpu-12.cluster.local",
            "initContainers": [{"name": "fetch", "image": "alpine:3", "args": ["--password", ODD]}],
            "containers": [
                {"name": "proxy", "image": "envoy:1"},
                {"name": "server", "image": IMAGE, "command": ["vllm"], "args": WORDS, "env": env},
            ],
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-11-30T09:59:00Z",
            "containerStatuses": [
                {"name": "server", "imageID": f"docker.io/{IMAGE_ID}", "restartCount": 4, "state": state}
            ],
        },
    }


def cluster(running: bool = False) -> FakeMachine:
    logs = "kubectl logs --namespace serving vllm-0 --container"
    described = (
        f"Name:  vllm-0\nContainers:\n  server:\n    Args:\n      --api-key\n      {API_KEY}\n      {SECOND_KEY}\n"
        f"    Environment:\n      FAVOURITE:  {UNKNOWN}\n"
        "Events:\n  Warning  BackOff  5s (x3 over 1m)  kubelet  Back-off restarting failed container\n"
    )
    return FakeMachine(
        {
            "docker": Output(b"", b"Cannot connect to the Docker daemon\n", 1),
            "kubectl get pod --namespace serving vllm-0": json.dumps(pod(running)).encode(),
            "kubectl get pods": json.dumps({"items": [pod(running)]}).encode(),
            "kubectl describe pod --namespace serving vllm-0": described.encode(),
            "kubectl describe node gpu-12.cluster.local": Output(b"", b"nodes is forbidden\n", 1),
            "kubectl get events --namespace serving": b"LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n5s  Warning  BackOff  pod/vllm-0  x\n",
            f"{logs} server --timestamps": b"2026-11-30T10:05:00Z INFO starting again\n",
            f"{logs} server --timestamps --previous": failing_log(),
            f"{logs} fetch --timestamps": b"done\n",
            "kubectl exec --namespace serving vllm-0 --container server -- vllm": b"0.11.2\n",
            "kubectl exec --namespace serving vllm-0 --container server -- cat /proc/1/environ": "\0".join(
                f"{name}={value}" for name, value in VARIABLES.items()
            ).encode(),
            "nvidia-smi": SMI,
        }
    )


def test_a_pod_is_gathered_with_the_run_before_its_restart(tmp_path: Any) -> None:
    machine = cluster()
    bundle, summary = gathered(machine, Wanted(pods=["serving/vllm-0"]))
    assert (summary.targets, summary.unknown) == (["pod serving-vllm-0"], [])
    assert bundle.leaks() == []
    folder = "pod-serving-vllm-0"
    assert bundle.text(f"{folder}/fetch.log") == "done\n"
    assert bundle.members[f"{folder}/server.previous.log"].count(b"\n") == failing_log().count(b"\n")
    launch = bundle.text(f"{folder}/launch.txt")
    assert f"image: {IMAGE}\n" in launch and IMAGE_ID in launch and "restarts: 4\n" in launch
    assert "--api-key '[redacted]' '[redacted]'" in launch
    assert "x3 over 1m" in bundle.text(f"{folder}/describe.txt")
    assert bundle.entry("node")["reason"] == "exit code 1: nodes is forbidden"
    assert "not running" in bundle.entry("vllm --version")["reason"]
    assert not any(line.startswith("kubectl exec") for line in machine.ran)
    assert "gpu-12.cluster.local" in bundle.entry("everything about the host")["reason"]
    assert verdict(bundle, tmp_path) == (CAUSE, f"{folder}/server.previous.log")


def test_a_running_pod_is_asked_itself_and_its_node_where_this_is_it() -> None:
    machine = cluster(running=True)
    machine.files["/proc/sys/kernel/hostname"] = b"gpu-12\n"
    bundle, _ = gathered(machine, Wanted(pods=["serving/vllm-0"]))
    assert bundle.leaks() == []
    assert bundle.text("pod-serving-vllm-0/vllm-version.txt") == "0.11.2\n"
    assert "VLLM_USE_V1=1\n" in bundle.text("pod-serving-vllm-0/env.txt")
    assert bundle.members["host/nvidia-smi.txt"] == SMI


def test_auto_finds_a_pod_where_docker_does_not_answer() -> None:
    bundle, summary = gathered(cluster())
    assert bundle.manifest["targets"][0]["kind"] == "pod"
    assert summary.notes == ["container: Cannot connect to the Docker daemon", "took the pod serving/vllm-0"]


def process_machine() -> FakeMachine:
    root = "/proc/4711"
    site = "/opt/venv/lib/python3.12/site-packages"
    fields = ["S", "1", *["0"] * 17, "360000", "0"]
    return FakeMachine(
        {
            "journalctl --quiet --no-pager --output=short-iso --unit=vllm.service": b"2026-11-30T10:00:00+0000 n vllm[4711]: hello\n"
        },
        {
            "/proc/stat": b"cpu 1 2\nbtime 1796000000\n",
            f"{root}/cmdline": "\0".join(["/opt/venv/bin/python3", "/opt/venv/bin/vllm", *WORDS, ""]).encode(),
            f"{root}/environ": "\0".join(f"{name}={value}" for name, value in VARIABLES.items()).encode(),
            f"{root}/stat": f"4711 (VLLM (x) y) {' '.join(fields)}\n".encode(),
            f"{root}/cgroup": b"0::/system.slice/vllm.service\n",
            f"{root}/maps": f"7f00-7f01 r-xp 0 0 0 {site}/torch/lib/libtorch.so\n".encode(),
            f"{root}/limits": b"Max open files  1024  4096  files\n",
            f"{root}/fd/1": failing_log(),
            f"{root}/root{site}/vllm-0.11.2.dist-info/METADATA": b"",
            f"{root}/root{site}/torch-2.9.0+cu130.dist-info/METADATA": b"",
            "/proc/99/cmdline": b"tail\0-f\0/var/log/vllm\0",
            "/proc/12/cmdline": b"VLLM::EngineCore\0",
            "/proc/12/stat": b"12 (VLLM::EngineCor) S 4711 0\n",
        },
        {
            f"{root}/fd/1": "/var/log/vllm.log",
            f"{root}/fd/2": "/var/log/vllm.log",
            f"{root}/exe": "/usr/bin/python3.12",
        },
    )


def test_a_process_is_read_and_nothing_of_it_is_run(tmp_path: Any) -> None:
    machine = process_machine()
    bundle, summary = gathered(machine, Wanted(processes=[4711]))
    assert (summary.targets, summary.has_log) == (["process 4711"], True)
    assert bundle.leaks() == []
    assert bundle.text("process-4711/vllm-version.txt") == "0.11.2\n"
    assert bundle.text("process-4711/pip-list.txt") == "torch==2.9.0+cu130\nvllm==0.11.2\n"
    assert "program: /usr/bin/python3.12\n" in bundle.text("process-4711/launch.txt")
    assert "NCCL_SOCKET_IFNAME=eth0\n" in bundle.text("process-4711/env.txt")
    assert "process-4711/server.stderr.log" not in bundle.members, "both streams go into one file"
    assert "hello" in bundle.text("process-4711/journal.log")
    assert not any("/opt/venv" in line or "python" in line for line in machine.ran)
    assert f"--since=@{1796000000 + 3600 - 60}" in " ".join(machine.ran)
    assert verdict(bundle, tmp_path) == (CAUSE, "process-4711/server.log")


def test_auto_takes_the_server_not_its_workers_or_a_reader_of_its_log() -> None:
    bundle, summary = gathered(process_machine())
    assert bundle.manifest["targets"] == [
        {"kind": "process", "name": "4711", "folder": "process-4711", "elsewhere": None, "problem": None}
    ]
    assert summary.notes[-1] == "took the process 4711"


def test_a_process_that_writes_into_a_terminal_is_told() -> None:
    machine = process_machine()
    machine.links = {}
    machine.files["/proc/4711/cgroup"] = b"0::/user.slice/user-0.slice/session-1.scope\n"
    bundle, summary = gathered(machine, Wanted(processes=[4711]))
    assert not summary.has_log
    assert "neither into a file nor into the journal" in bundle.entry("log from its start")["reason"]


def test_nothing_at_all_is_still_a_bundle() -> None:
    bundle, summary = gathered(FakeMachine())
    assert (summary.targets, summary.gathered, summary.has_log) == ([], 0, False)
    assert list(bundle.members) == ["manifest.json"]
    assert summary.notes == [
        "container: docker is not installed",
        "pod: kubectl is not installed",
        "process: no process looks like a vLLM server",
    ]
    assert bundle.manifest["created"] and NOW


def test_what_is_named_and_not_there_is_told() -> None:
    machine = docker_machine()
    machine.commands["docker inspect --type container nobody"] = Output(
        b"[]\n", b"Error: No such container: nobody\n", 1
    )
    bundle, summary = gathered(machine, Wanted(["server", "nobody"], ["x/y"], [9]))
    assert summary.targets == ["container server"]
    assert [line.split(":")[0] for line in summary.unknown] == ["container nobody", "pod x-y", "process 9"]
    assert "container-server/server.log" in bundle.members and bundle.leaks() == []


def test_broken_answers_do_no_harm() -> None:
    for answer in (b"", b"{", b"[]", b"[1]", b"[{}]", b'[{"State": 5, "Config": [], "Args": null}]', b"\xff\0"):
        machine = docker_machine()
        machine.commands["docker inspect --type container server"] = answer
        machine.commands["kubectl get pod --namespace a b"] = answer
        bundle, _ = gathered(machine, Wanted(["server"], ["a/b"]))
        assert "manifest.json" in bundle.members

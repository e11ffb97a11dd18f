"""A pod, as kubectl tells of it."""

import json
from collections.abc import Mapping
from typing import Any

from k3triage.collect import environ
from k3triage.collect.machine import Machine
from k3triage.collect.scrub import argument_secrets, hide_arguments
from k3triage.collect.steps import LARGE, Gathered, Step, absent, last_line, made, perform
from k3triage.collect.target import VLLM, Target, launch_text, part, seconds
from k3triage.report.redact import LineRedactor

_TAIL = "50000"
_HOSTNAME = "/proc/sys/kernel/hostname"
_PYTHON = "import importlib.metadata as m; print(m.version('vllm'))"
_WAITING = ("CrashLoopBackOff", "Error", "OOMKilled")


def find_pod(machine: Machine, name: str, timeout: float, *, redact: bool = True) -> Target:
    """The pod "namespace/name" (or "name") with the steps that gather it; `problem` is set where kubectl knows none."""
    namespace, _, pod = name.rpartition("/")
    scope = ("--namespace", namespace) if namespace else ()
    target = Target("pod", name.replace("/", "-"))
    step = Step(target.at("pod.json"), "pod", (("kubectl", "get", "pod", *scope, pod, "--output=json"),), shape="json")
    (found,) = perform(machine, step, timeout)
    target.gathered.append(found)
    value = _object(found.data)
    if value is None:
        target.problem = found.reason or "kubectl printed no pod"
        return target
    spec, status = part(value, "spec"), part(value, "status")
    containers = [item for item in [*_list(spec, "initContainers"), *_list(spec, "containers")] if item.get("name")]
    states = {
        str(item.get("name")): item
        for item in [*_list(status, "initContainerStatuses"), *_list(status, "containerStatuses")]
    }
    for container in containers:
        target.secrets |= environ.secrets(_variables(container)) | argument_secrets(_command(container))
    target.since = seconds(status.get("startTime"))
    node = str(spec.get("nodeName") or "")
    target.elsewhere = _elsewhere(machine, node)
    main = next((item for item in containers if VLLM.search(f"{item.get('image')} {_command(item)}")), None)
    main = main or next(iter(_list(spec, "containers")), None)
    target.steps = _about(target, scope, pod, node)
    for container in containers:
        target.steps += _logs(target, scope, pod, str(container["name"]))
    if main is not None:
        state = states.get(str(main.get("name")), {})
        target.gathered.append(_launch(target, main, state, node, redact))
        if "running" in part(state, "state"):
            target.steps += _inside(target, scope, pod, str(main["name"]))
        else:
            why = f"the container {main['name']} is not running, so no command can be run in it"
            target.gathered.append(absent(target.at("vllm-version.txt"), "vllm --version", why))
    return target


def _launch(
    target: Target, container: Mapping[str, Any], state: Mapping[str, Any], node: str, redact: bool
) -> Gathered:
    rows = [
        ("pod", target.name),
        ("container", container.get("name")),
        ("node", node),
        ("image", container.get("image")),
        ("digests", state.get("imageID")),
        ("restarts", state.get("restartCount")),
        ("state", json.dumps(state.get("state"))),
        ("last state", json.dumps(state.get("lastState"))),
        ("resources", json.dumps(container.get("resources"))),
    ]
    command = _command(container)
    words = hide_arguments(command, LineRedactor(target.secrets)) if redact else command
    return made(target.at("launch.txt"), "launch command, image tag and digest", launch_text(rows, words))


def _about(target: Target, scope: tuple[str, ...], pod: str, node: str) -> list[Step]:
    selector = f"--field-selector=involvedObject.name={pod}"
    steps = [
        Step(
            target.at("describe.txt"),
            "pod and its events",
            (("kubectl", "describe", "pod", *scope, pod),),
            shape="describe",
        ),
        Step(target.at("events.txt"), "events of the pod", (("kubectl", "get", "events", *scope, selector),)),
        Step(target.at("kubectl-version.txt"), "versions of the cluster", (("kubectl", "version"),)),
    ]
    if node:
        steps.append(Step(target.at("node.txt"), "node", (("kubectl", "describe", "node", node),), shape="describe"))
    return steps


def _logs(target: Target, scope: tuple[str, ...], pod: str, container: str) -> list[Step]:
    base = ("kubectl", "logs", *scope, pod, "--container", container, "--timestamps")
    tail = Step(
        target.at(f"{container}.tail.log"),
        f"end of the log of {container}, which was too long to be read whole in time",
        ((*base, f"--tail={_TAIL}"),),
        limit=LARGE,
        patience=4,
    )
    return [
        Step(
            target.at(f"{container}.previous.log"),
            f"log of the run of {container} before the last restart",
            ((*base, "--previous"),),
            limit=LARGE,
            patience=4,
        ),
        Step(
            target.at(f"{container}.log"),
            f"log of {container} from its start",
            (base,),
            limit=LARGE,
            patience=4,
            instead=tail,
        ),
    ]


def _inside(target: Target, scope: tuple[str, ...], pod: str, container: str) -> list[Step]:
    def command(*words: str) -> tuple[str, ...]:
        return ("kubectl", "exec", *scope, pod, "--container", container, "--", *words)

    def step(member: str, what: str, *commands: tuple[str, ...], **options: Any) -> Step:
        return Step(target.at(member), what, tuple(command(*words) for words in commands), patience=4, **options)

    return [
        step("vllm-version.txt", "vllm --version", ("vllm", "--version"), ("python3", "-c", _PYTHON), shape="version"),
        step(
            "pip-list.txt", "Python packages", ("pip", "list"), ("python3", "-m", "pip", "list"), ("uv", "pip", "list")
        ),
        step("env.txt", "environment of the server", ("cat", "/proc/1/environ"), shape="environ"),
        step("nvidia-smi.txt", "GPUs as the container sees them", ("nvidia-smi",), keep_failed=True),
        step("ldconfig.txt", "shared libraries that the loader finds", ("ldconfig", "-p")),
        step("limits.txt", "limits of the server", ("cat", "/proc/1/limits")),
        step("df.txt", "disk space and /dev/shm", ("df", "-h")),
        step("ip-link.txt", "network interfaces of the pod", ("ip", "link")),
    ]


def candidates(machine: Machine, timeout: float) -> tuple[list[str], str | None]:
    """Pods ("namespace/name") that look like vLLM servers, those in trouble first; why there are none."""
    command = ("kubectl", "get", "pods", "--all-namespaces", "--output=json")
    output = machine.run(command, timeout=timeout, limit=LARGE)
    if output.problem or output.code:
        return [], output.problem or last_line(output) or "kubectl failed"
    found: list[tuple[bool, float, str]] = []
    for pod in _list(_object(output.data) or {}, "items"):
        spec, status, meta = part(pod, "spec"), part(pod, "status"), part(pod, "metadata")
        if not any(VLLM.search(f"{item.get('image')} {_command(item)}") for item in _list(spec, "containers")):
            continue
        name = f"{meta.get('namespace')}/{meta.get('name')}"
        found.append((_troubled(status), seconds(status.get("startTime")) or 0.0, name))
    found.sort(reverse=True)
    return [name for _, _, name in found], None if found else "no pod of the cluster looks like a vLLM server"


def _troubled(status: Mapping[str, Any]) -> bool:
    for item in _list(status, "containerStatuses"):
        now = part(item, "state")
        if item.get("restartCount") or part(now, "waiting").get("reason") in _WAITING:
            return True
        if part(now, "terminated").get("exitCode"):
            return True
    return status.get("phase") == "Failed"


def _elsewhere(machine: Machine, node: str) -> str | None:
    here = machine.read(_HOSTNAME, 4096).data.decode("utf-8", "replace").strip()
    if here and node.partition(".")[0] == here.partition(".")[0]:
        return None
    where = f"the node {node}" if node else "no node yet"
    return f"the pod is on {where}, this host is {here or 'another'}; run k3triage collect there"


def _variables(container: Mapping[str, Any]) -> dict[str, str]:
    return {str(item.get("name")): str(item["value"]) for item in _list(container, "env") if item.get("value")}


def _command(container: Mapping[str, Any]) -> list[str]:
    return [str(word) for name in ("command", "args") for word in container.get(name) or []]


def _object(data: bytes | None) -> dict[str, Any] | None:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    items = value.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

"""A container, as Docker tells of it."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from k3triage.collect import environ
from k3triage.collect.machine import Machine
from k3triage.collect.scrub import argument_secrets, hide_arguments
from k3triage.collect.steps import LARGE, SMALL, Gathered, Step, last_line, made, perform
from k3triage.collect.target import VLLM, Target, launch_text, part, seconds
from k3triage.report.redact import LineRedactor

_TAIL = "50000"
_PYTHON = "import importlib.metadata as m; print(m.version('vllm'))"
_PROBE = ("--rm", "--pull", "never", "--network", "none", "--env", "NVIDIA_VISIBLE_DEVICES=void")
_LOCAL = ("unix://", "npipe://", "fd://")


def find_container(machine: Machine, name: str, timeout: float, now: float, *, redact: bool = True) -> Target:
    """The container of this name or id with the steps that gather it; `problem` is set where Docker knows none."""
    target = Target("container", name)
    step = Step(
        target.at("inspect.json"), "container", (("docker", "inspect", "--type", "container", name),), shape="json"
    )
    (found,) = perform(machine, step, timeout)
    target.gathered.append(found)
    container = _first(found.data)
    if container is None:
        target.problem = found.reason or "docker inspect printed no container"
        return target
    config, state = part(container, "Config"), part(container, "State")
    running = bool(state.get("Running"))
    variables = environ.assignments(map(str, config.get("Env") or []))
    command = [str(container.get("Path") or ""), *map(str, container.get("Args") or [])]
    target.secrets = environ.secrets(variables) | argument_secrets(command)
    # After restarts of Docker's own, the fault may be that of an earlier start.
    first = container.get("Created") if container.get("RestartCount") else state.get("StartedAt")
    target.since = seconds(first) or seconds(container.get("Created"))
    target.elsewhere = _elsewhere(machine, timeout)
    target.gathered.append(made(target.at("env.txt"), "environment of the container", _nul(variables), "environ"))
    image_id = str(container.get("Image") or config.get("Image") or "")
    image_step = Step(target.at("image.json"), "image", (("docker", "image", "inspect", image_id),), shape="json")
    (image,) = perform(machine, image_step, timeout)
    target.gathered.append(image)
    target.gathered.append(_launch(target, container, _first(image.data) or {}, command, redact))
    target.steps = [
        *_outside(target, name, seconds(container.get("Created")), now),
        *_inside(target, name, image_id, running),
    ]
    return target


def _launch(
    target: Target, container: Mapping[str, Any], image: Mapping[str, Any], command: Sequence[str], redact: bool
) -> Gathered:
    config, state, host = part(container, "Config"), part(container, "State"), part(container, "HostConfig")
    rows = [
        ("container", str(container.get("Name") or "").lstrip("/")),
        ("image", config.get("Image")),
        ("image id", container.get("Image")),
        ("tags", ", ".join(map(str, image.get("RepoTags") or []))),
        ("digests", ", ".join(map(str, image.get("RepoDigests") or []))),
        ("entrypoint", json.dumps(config.get("Entrypoint"))),
        ("status", state.get("Status")),
        ("exit code", state.get("ExitCode")),
        ("started", state.get("StartedAt")),
        ("finished", state.get("FinishedAt")),
        ("restarts", container.get("RestartCount")),
        ("runtime", host.get("Runtime")),
        ("network", host.get("NetworkMode")),
        ("ipc", host.get("IpcMode")),
        ("shm size", host.get("ShmSize")),
        ("gpus", json.dumps(host.get("DeviceRequests"))),
    ]
    words = hide_arguments(command, LineRedactor(target.secrets)) if redact else list(command)
    return made(target.at("launch.txt"), "launch command, image tag and digest", launch_text(rows, words))


def _outside(target: Target, name: str, created: float | None, now: float) -> list[Step]:
    logs = ("docker", "logs", "--timestamps")
    start = str(int(created)) if created is not None else "24h"
    events = ("docker", "events", "--since", start, "--until", str(int(now) + 1), "--filter", f"container={name}")
    return [
        Step(
            target.at("server.log"),
            "log from its start",
            ((*logs, name),),
            limit=LARGE,
            patience=4,
            merge=True,
            instead=Step(
                target.at("server.tail.log"),
                "end of the log, which was too long to be read whole in time",
                ((*logs, "--tail", _TAIL, name),),
                limit=LARGE,
                patience=4,
                merge=True,
            ),
        ),
        Step(target.at("events.txt"), "events of the container", (events,)),
        Step(target.at("docker-version.txt"), "Docker's version", (("docker", "version"),)),
        Step(target.at("docker-info.txt"), "Docker's runtimes and storage", (("docker", "info"),)),
    ]


def _inside(target: Target, name: str, image: str, running: bool) -> list[Step]:
    """What only programs of the image tell: in the container while it runs, else in a throw-away one without GPUs."""
    probe = f"k3triage-collect-{uuid.uuid4().hex[:12]}"

    def command(number: int, *words: str) -> tuple[str, ...]:
        if running:
            return ("docker", "exec", name, *words)
        return ("docker", "run", *_PROBE, "--name", f"{probe}-{number}", "--entrypoint", words[0], image, *words[1:])

    def step(number: int, member: str, what: str, *commands: tuple[str, ...], **options: Any) -> Step:
        ready = tuple(command(number, *words) for words in commands)
        cleanup = () if running else ("docker", "rm", "--force", f"{probe}-{number}")
        return Step(target.at(member), what, ready, cleanup=cleanup, patience=4, **options)

    steps = [
        step(
            1, "vllm-version.txt", "vllm --version", ("vllm", "--version"), ("python3", "-c", _PYTHON), shape="version"
        ),
        step(
            2,
            "pip-list.txt",
            "Python packages",
            ("pip", "list"),
            ("python3", "-m", "pip", "list"),
            ("uv", "pip", "list"),
        ),
        step(3, "ldconfig.txt", "shared libraries that the loader finds", ("ldconfig", "-p")),
    ]
    if running:
        steps += [
            step(4, "nvidia-smi.txt", "GPUs as the container sees them", ("nvidia-smi",), keep_failed=True),
            step(5, "limits.txt", "limits of the server", ("cat", "/proc/1/limits")),
            step(6, "df.txt", "disk space and /dev/shm", ("df", "-h")),
        ]
    return steps


def candidates(machine: Machine, timeout: float) -> tuple[list[str], str | None]:
    """Names of the containers that look like vLLM servers, the likeliest to have failed first; why there are none."""
    output = machine.run(("docker", "ps", "--all", "--quiet", "--no-trunc"), timeout=timeout, limit=SMALL)
    if output.problem or output.code:
        return [], output.problem or last_line(output) or "docker ps failed"
    ids = output.data.decode("ascii", "replace").split()[:500]
    if not ids:
        return [], "Docker has no containers"
    output = machine.run(("docker", "inspect", "--type", "container", *ids), timeout=timeout, limit=LARGE)
    found: list[tuple[bool, float, str]] = []
    for container in _all(output.data):
        config, state = part(container, "Config"), part(container, "State")
        words = [config.get("Image"), container.get("Name"), container.get("Path"), *(container.get("Args") or [])]
        if not any(VLLM.search(str(word)) for word in words):
            continue
        failed = bool(state.get("ExitCode") or state.get("Restarting") or state.get("OOMKilled") or state.get("Error"))
        when = seconds(state.get("FinishedAt")) or seconds(state.get("StartedAt")) or 0.0
        found.append((failed, when, str(container.get("Name") or container.get("Id")).lstrip("/")))
    found.sort(reverse=True)
    return [name for _, _, name in found], None if found else "no container of Docker looks like a vLLM server"


def _elsewhere(machine: Machine, timeout: float) -> str | None:
    output = machine.run(
        ("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"), timeout=timeout, limit=SMALL
    )
    endpoint = output.data.decode("utf-8", "replace").strip()
    if output.code != 0 or not endpoint or endpoint.startswith(_LOCAL):
        return None
    return f"the container runs on another host ({endpoint}); run k3triage collect there"


def _nul(variables: Mapping[str, str]) -> str:
    return "\0".join(f"{name}={value}" for name, value in variables.items())


def _all(data: bytes | None) -> list[dict[str, Any]]:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        return []
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first(data: bytes | None) -> dict[str, Any] | None:
    return next(iter(_all(data)), None)

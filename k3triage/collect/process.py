"""A plain process: read from /proc; nothing of its program is run."""

import re
from collections.abc import Sequence

from k3triage.collect import environ
from k3triage.collect.machine import Machine
from k3triage.collect.scrub import argument_secrets, hide_arguments
from k3triage.collect.steps import LARGE, SMALL, Gathered, Step, absent, made
from k3triage.collect.target import Target, launch_text
from k3triage.model.lazy import lazy
from k3triage.report.redact import LineRedactor

_PROGRAM = lazy(r"(?:^|/)vllm$|^VLLM::")
_PYTHON = lazy(r"(?:^|/)python[\d.]*$")
_SCRIPT = lazy(r"(?:^|/)vllm$|^vllm\.entrypoints\.|(?:^|/)api_server\.py$")
_SITE = lazy(r"(/\S*/(?:site|dist)-packages)/")
_PACKAGE = lazy(r"(?P<name>.+)-(?P<version>\d[^-]*)\.dist-info$")
_UNIT = lazy(r"/([\w@.:\\-]+\.service)(?:/|$)")
# The kernel counts a process' start in these ticks on every architecture that vLLM runs on.
_TICKS = 100
_START = 19
_DELETED = " (deleted)"


def find_process(machine: Machine, pid: int, *, redact: bool = True) -> Target:
    """The process of this id with the steps that gather it; `problem` is set where there is none."""
    target = Target("process", str(pid))
    root = f"/proc/{pid}"
    line = machine.read(f"{root}/cmdline", SMALL)
    if line.problem or not line.data:
        target.problem = line.problem or "the process has no command line (it has ended, or is the kernel's)"
        target.gathered.append(absent(target.at("launch.txt"), "launch command", target.problem))
        return target
    command = line.data.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
    variables = machine.read(f"{root}/environ", SMALL)
    given = environ.assignments(variables.data.decode("utf-8", "surrogateescape").split("\0"))
    target.secrets = environ.secrets(given) | argument_secrets(command)
    target.since = _started(machine, root)
    words = hide_arguments(command, LineRedactor(target.secrets)) if redact else command
    rows = [("process", pid), ("program", machine.link(f"{root}/exe")), ("folder", machine.link(f"{root}/cwd"))]
    target.gathered.append(made(target.at("launch.txt"), "launch command", launch_text(rows, words)))
    packages = _packages(machine, root)
    target.gathered.append(packages)
    target.gathered.append(_version(target, packages))
    target.steps = [
        *_logs(machine, target, root),
        Step(target.at("env.txt"), "environment of the server", path=f"{root}/environ", shape="environ"),
        Step(target.at("limits.txt"), "limits of the server", path=f"{root}/limits"),
        Step(target.at("status.txt"), "memory and threads of the server", path=f"{root}/status"),
    ]
    return target


def _logs(machine: Machine, target: Target, root: str) -> list[Step]:
    """Files behind standard output and error, and the journal where it is a service."""
    steps: list[Step] = []
    files: list[str] = []
    for number in ("1", "2"):
        path = machine.link(f"{root}/fd/{number}")
        if path is not None and path.startswith("/") and not path.startswith("/dev/") and path not in files:
            files.append(path)
            # Through /proc the file is found although it was deleted, or lies in another mount namespace.
            steps.append(
                Step(
                    target.at("server.log" if len(files) == 1 else "server.stderr.log"),
                    f"log from its start, {path.removesuffix(_DELETED)}",
                    path=f"{root}/fd/{number}",
                    limit=LARGE,
                )
            )
    unit = _UNIT.search(machine.read(f"{root}/cgroup", SMALL).data.decode("utf-8", "replace"))
    if unit and not unit.group(1).startswith(("user@", "docker", "containerd", "ssh")):
        journal = ("journalctl", "--quiet", "--no-pager", "--output=short-iso", f"--unit={unit.group(1)}")
        start = (f"--since=@{int(target.since) - 60}",) if target.since is not None else ()
        steps.append(
            Step(
                target.at("journal.log"), f"journal of {unit.group(1)}", ((*journal, *start),), limit=LARGE, patience=4
            )
        )
    if not steps:
        target.gathered.append(
            absent(
                target.at("server.log"),
                "log from its start",
                "the server writes neither into a file nor into the journal: save what its terminal or pipe shows",
            )
        )
    return steps


def _packages(machine: Machine, root: str) -> Gathered:
    """Python packages by the folders from which the process has loaded libraries."""
    target, what = f"process-{root.rpartition('/')[2]}/pip-list.txt", "Python packages"
    maps = machine.read(f"{root}/maps", LARGE)
    if maps.problem:
        return absent(target, what, maps.problem)
    folders = sorted(set(_SITE.findall(maps.data.decode("utf-8", "replace"))))
    found: dict[str, str] = {}
    for folder in folders:
        for name in machine.names(f"{root}/root{folder}"):
            if package := _PACKAGE.match(name):
                found.setdefault(package["name"].lower().replace("_", "-"), package["version"])
    if not found:
        return absent(target, what, "the process has loaded no Python package")
    return made(target, what, "".join(f"{name}=={version}\n" for name, version in sorted(found.items())))


def _version(target: Target, packages: Gathered) -> Gathered:
    member, what = target.at("vllm-version.txt"), "vllm --version, by the installed package"
    lines = (packages.data or b"").decode("utf-8", "surrogateescape").splitlines()
    version = next((line.partition("==")[2] for line in lines if line.startswith("vllm==")), None)
    return made(member, what, f"{version}\n") if version else absent(member, what, "the package vllm is not among them")


def _started(machine: Machine, root: str) -> float | None:
    fields = machine.read(f"{root}/stat", SMALL).data.rpartition(b")")[2].split()
    boot = re.search(rb"^btime (\d+)", machine.read("/proc/stat", SMALL).data, re.MULTILINE)
    if boot is None or len(fields) <= _START or not fields[_START].isdigit():
        return None
    return int(boot.group(1)) + int(fields[_START]) / _TICKS


def candidates(machine: Machine) -> tuple[list[str], str | None]:
    """Ids of processes that are vLLM servers, the outermost first; why there are none."""
    found: list[int] = []
    for name in machine.names("/proc"):
        if name.isdigit():
            words = machine.read(f"/proc/{name}/cmdline", SMALL).data.decode("utf-8", "replace").split("\0")
            if _is_server(words):
                found.append(int(name))
    parents = {pid: _parent(machine, pid) for pid in found}
    found = sorted(pid for pid in found if parents[pid] not in parents)
    return [str(pid) for pid in found], None if found else "no process looks like a vLLM server"


def _is_server(words: Sequence[str]) -> bool:
    """Whether a command line starts vLLM, by itself or through Python; `tail -f vllm` does not."""
    if _PYTHON.search(words[0]):
        return any(_SCRIPT.search(word) for word in words[1:4])
    return _PROGRAM.search(words[0]) is not None


def _parent(machine: Machine, pid: int) -> int:
    fields = machine.read(f"/proc/{pid}/stat", SMALL).data.rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0

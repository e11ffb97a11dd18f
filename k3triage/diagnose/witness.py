"""Kernel lines as witnesses: a kernel log tells of every process of the host, most of them not ours.

A kernel line names its victim by pid, name and control group. It is about us where the pid or container is one that the
other inputs know, or the name is vLLM's; it is about someone else where the containers are known and it names another.
"""

import re
from collections.abc import Sequence

from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import Finding
from k3triage.grammar.sentences import oom_kill
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass

_PID = lazy(r"\bpid[=: ]+'?(\d{1,10})|(?:Killed?|reaped) process (\d{1,10})|\[(\d{1,10})\]: segfault")
# The kernel cuts names at 15 characters.
_NAMES = r"(?:VLLM::|vllm|ray::|raylet|gcs_server|sglang)"
_OURS = lazy(rf"(?:task|name)={_NAMES}|\({_NAMES}")
_TASK = lazy(r"\btask=([^,\s]{1,64})|reaped process \d{1,10} \(([^)]{1,64})\)")
_CONTAINER = lazy(
    r"(?:docker|cri-containerd|crio|libpod)-([0-9a-f]{12,64})\.scope|/docker/([0-9a-f]{12,64})|/([0-9a-f]{64})\b"
)
# Names that an inference server's processes may have, and others' as well.
_MAYBE_OURS = lazy(r"python|pt_|vllm|ray|raylet|sglang|torch|uvicorn|bash|sh$|cicc|nvcc|cc1|ninja|ptxas", re.IGNORECASE)
_ID = 12
# dmesg's dates drift from the wall clock by minutes, on hosts that slept by more.
_LONG = 3600.0


@dataclass(slots=True)
class _Victim:
    """Whom a kernel line is about, as far as it says."""

    pid: int | None
    container: str | None
    ours_by_name: bool
    stranger: bool


def related(pool: Sequence[Finding], cast: Cast) -> list[Finding]:
    """The findings without kernel lines about others.

    Where some kernel line is about us, those that name other victims are left out; and so are, always, those about
    another container than the ones that the inputs tell of. A line that names nobody (a GPU's own error) stays.
    """
    victims = {id(f): _victim(f) for f in pool if _of_kernel(f)}
    if not victims:
        return list(pool)
    pids = {pid for who in cast.inputs if not who.kernel for pid in who.pids}
    containers = {name for who in cast.inputs if not who.kernel for name in who.containers}
    _same_kill(pool, victims)
    ours = {
        key
        for key, v in victims.items()
        if v.ours_by_name or v.pid in pids or (v.container and v.container in containers)
    }
    nobody = {key for key, v in victims.items() if v.pid is None and v.container is None and not v.stranger}
    foreign = {key for key, v in victims.items() if key not in ours and v.container and containers}
    strangers = {key for key, v in victims.items() if v.stranger and key not in ours}
    idle = {id(f) for f in pool if id(f) in victims and f.role == "suspect"}
    if strangers | idle >= {id(f) for f in pool} and any(not who.kernel for who in cast.inputs):
        return []  # others died, a disk or a cable had trouble, and nothing of ours failed
    if any(f.role == "root" and id(f) not in victims for f in pool):
        foreign |= strangers  # what states a cause of our own needs no stranger's death
    elif any(not who.kernel for who in cast.inputs):
        # A whole host that ran out touches us, a group of its own or another day does not.
        foreign |= {
            id(f) for f in pool if id(f) in strangers and (_in_its_own_group(f) or _long_before(f, pool, victims))
        }
    return [f for f in pool if (key := id(f)) not in victims or key in ours | nobody or not (ours or key in foreign)]


def _of_kernel(finding: Finding) -> bool:
    """Whether the kernel says it; journals and collectors may print its words without its header."""
    header = finding.line.header
    return header.kind == "kernel" or oom_kill(header.message) is not None


def _in_its_own_group(finding: Finding) -> bool:
    message = finding.line.header.message
    return "CONSTRAINT_MEMCG" in message or message.startswith("Memory cgroup")


def _long_before(finding: Finding, pool: Sequence[Finding], victims: dict[int, _Victim]) -> bool:
    """Whether a dated kernel line is from another day's work than every failure of ours."""
    clocks = [f.clock for f in pool if id(f) not in victims and f.clock is not None]
    return finding.clock is not None and bool(clocks) and finding.clock < min(clocks) - _LONG


def _same_kill(pool: Sequence[Finding], victims: dict[int, _Victim]) -> None:
    """One kill is told in several lines, and only one of them names the container."""
    by_pid: dict[tuple[int, int], str] = {}
    for finding in pool:
        victim = victims.get(id(finding))
        if victim is not None and victim.pid is not None and victim.container is not None:
            by_pid[finding.input, victim.pid] = victim.container
    last: dict[int, str | None] = {}
    for finding in sorted((f for f in pool if id(f) in victims), key=lambda f: (f.input, -f.index)):
        victim = victims[id(finding)]
        if victim.container is None and victim.pid is not None:
            victim.container = by_pid.get((finding.input, victim.pid))
        if victim.container is None and victim.pid is None and "invoked oom-killer" in finding.line.header.message:
            victim.container = last.get(finding.input)  # the line that opens the report of the kill below it
        last[finding.input] = victim.container


def _victim(finding: Finding) -> _Victim:
    message = finding.line.header.message
    found = _PID.search(message)
    pid = int(next(group for group in found.groups() if group)) if found else None
    told = oom_kill(message)
    group = str((told or {}).get("memcg") or "")
    match = _CONTAINER.search(group)
    container = next(part for part in match.groups() if part)[:_ID] if match else None
    named = _TASK.search(message)
    task = str((told or {}).get("task") or (named.group(1) or named.group(2) if named else ""))
    ours = _OURS.search(message) is not None
    return _Victim(pid, container, ours, bool(task) and not ours and _MAYBE_OURS.match(task) is None)


def victim_sentence(chosen: Finding, cast: Cast) -> list[str]:
    """Which process of ours a kernel line is about, where the pid tells."""
    if not _of_kernel(chosen):
        return []
    victim = _victim(chosen)
    for number, who in enumerate(cast.inputs):
        if victim.pid is not None and not who.kernel and victim.pid in who.pids:
            identity = cast.of_pid(number, victim.pid)
            return [f"Process {victim.pid} of the kernel's line is {identity.name or 'a process'} in the other inputs."]
        if victim.container is not None and not who.kernel and victim.container in who.containers:
            return [f"The kernel's line is about container {victim.container}, which the other inputs show."]
    return []

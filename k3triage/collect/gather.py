"""Chooses what a bundle is about and gathers it."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from k3triage.collect import docker, kube, process
from k3triage.collect.bundle import BundleWriter
from k3triage.collect.host import FOLDER, host_steps
from k3triage.collect.machine import Machine
from k3triage.collect.scrub import Scrubber
from k3triage.collect.steps import Gathered, Step, absent, perform
from k3triage.collect.target import Target

# Commands wait for drivers and daemons, not for processors; more at once would disturb a server that still runs.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to gather; where nothing is named, what looks like a vLLM server is looked for."""

    containers: Sequence[str] = ()
    pods: Sequence[str] = ()
    processes: Sequence[int] = ()

    def __bool__(self) -> bool:
        return bool(self.containers or self.pods or self.processes)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a bundle holds. unknown: named targets that could not be found. notes: sentences for the user."""

    targets: list[str]
    gathered: int
    absent: list[str]
    unknown: list[str]
    notes: list[str]
    has_log: bool


def collect(
    machine: Machine,
    wanted: Wanted,
    stream: IO[bytes],
    *,
    timeout: float,
    redact: bool = True,
    clock: Callable[[], float] = time.time,
) -> Summary:
    """Gather what is wanted and write the bundle into a stream. What is not there is recorded and never raises.

    timeout: seconds for a usual command; logs and commands that start Python take up to four times as long.
    """
    now = clock()
    notes: list[str] = []
    targets = _named(machine, wanted, timeout, now, redact) if wanted else _found(machine, timeout, now, redact, notes)
    scrubber = Scrubber(frozenset().union(*(target.secrets for target in targets)), redact)
    writer = BundleWriter(stream, now)
    try:
        _fill(writer, _everything(machine, targets, timeout), scrubber)
    except BaseException:
        writer.abandon()
        raise
    writer.close(
        {
            "created": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
            "host": machine.read("/proc/sys/kernel/hostname", 4096).data.decode("utf-8", "replace").strip(),
            "redacted": redact,
            "targets": [
                {
                    "kind": t.kind,
                    "name": t.name,
                    "folder": t.folder,
                    "elsewhere": scrubber.sentence(t.elsewhere),
                    "problem": scrubber.sentence(t.problem),
                }
                for t in targets
            ],
            "notes": [scrubber.sentence(note) for note in notes],
        }
    )
    members = [entry["member"] for entry in writer.entries if entry["member"]]
    return Summary(
        targets=[f"{target.kind} {target.name}" for target in targets if target.problem is None],
        gathered=len(members),
        absent=[f"{e['what']} ({e['reason']})" for e in writer.entries if e["member"] is None],
        unknown=[f"{target.kind} {target.name}: {target.problem}" for target in targets if target.problem],
        notes=notes,
        has_log=any(name.endswith(".log") and not name.startswith(f"{FOLDER}/") for name in members),
    )


def _fill(writer: BundleWriter, results: Iterator[Gathered], scrubber: Scrubber) -> None:
    for gathered in results:
        data = None if gathered.data is None else scrubber.scrub(gathered.data, gathered.step.shape)
        writer.add(gathered, data, scrubber.words(gathered.command), scrubber.sentence(gathered.reason))


def _named(machine: Machine, wanted: Wanted, timeout: float, now: float, redact: bool) -> list[Target]:
    return [
        *(docker.find_container(machine, name, timeout, now, redact=redact) for name in wanted.containers),
        *(kube.find_pod(machine, name, timeout, redact=redact) for name in wanted.pods),
        *(process.find_process(machine, pid, redact=redact) for pid in wanted.processes),
    ]


def _found(machine: Machine, timeout: float, now: float, redact: bool, notes: list[str]) -> list[Target]:
    """One server: of Docker, else of Kubernetes, else a process. Several at once might be of different incidents."""
    kinds: list[tuple[str, str, Callable[[], tuple[list[str], str | None]], Callable[[str], Target]]] = [
        (
            "container",
            "--container",
            lambda: docker.candidates(machine, timeout),
            lambda name: docker.find_container(machine, name, timeout, now, redact=redact),
        ),
        (
            "pod",
            "--pod",
            lambda: kube.candidates(machine, timeout),
            lambda name: kube.find_pod(machine, name, timeout, redact=redact),
        ),
        (
            "process",
            "--pid",
            lambda: process.candidates(machine),
            lambda name: process.find_process(machine, int(name), redact=redact),
        ),
    ]
    for kind, option, look, find in kinds:
        names, why = look()
        if names:
            notes.append(f"took the {kind} {names[0]}")
            if len(names) > 1:
                notes.append(f"left out {', '.join(names[1:10])}; name what belongs together with {option}")
            return [find(names[0])]
        notes.append(f"{kind}: {' '.join((why or 'none').split())[:300]}")
    return []


def _everything(machine: Machine, targets: Sequence[Target], timeout: float) -> Iterator[Gathered]:
    """All results, in the same order every time."""
    steps: list[Step] = []
    for target in targets:
        yield from target.gathered
        steps += target.steps
    here = [target for target in targets if target.elsewhere is None]
    starts = [target.since for target in here if target.since is not None]
    about_host = host_steps(min(starts, default=None))
    if targets and not here:
        # What this host says of GPUs and kernel would be taken for what the server's host says.
        reason = next(target.elsewhere for target in targets if target.elsewhere)
        yield absent(f"{FOLDER}/nvidia-smi.txt", "everything about the host", reason)
    else:
        steps += about_host
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            for results in pool.map(lambda step: perform(machine, step, timeout), steps):
                yield from results
        except BaseException:  # the user's Ctrl-C above all: it must not wait for what hangs
            pool.shutdown(wait=False, cancel_futures=True)
            machine.stop()
            raise

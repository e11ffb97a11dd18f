"""One synthetic incident a seed: files as an operator would bring them, and the right answer."""

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.incidents.faults import FAULTS, Fault, decoys, failed_attempt
from tests.incidents.world import Line, Rank, World

if TYPE_CHECKING:
    from k3triage.model.report import Report


@dataclass
class Incident:
    """files: name -> lines. roots: (file, line) of every line that states the fault. removed: the witness is not there."""

    seed: int
    fault: Fault
    files: dict[str, list[str]]
    roots: set[tuple[str, int]]
    culprit: Rank
    removed: bool = False
    names: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    kernel_removed: bool = False

    def right(self, report: "Report") -> tuple[bool, bool]:
        """Layer right, line right."""
        verdict = report.verdict
        if verdict is None:
            return False, False
        place = (verdict.first_anomaly.source, verdict.first_anomaly.line)
        return verdict.layer.value in self.fault.layers, place in self.roots

    def names_absent(self, report: "Report") -> bool:
        """Inconclusive, and what is missing names the culprit's rank, node, address or file."""
        verdict = report.verdict
        if verdict is None or report.status.value != "inconclusive":
            return False
        texts = [item.what for item in verdict.missing]
        if self.kernel_removed:
            return any("kernel log" in text.lower() for text in texts)
        return any(any(name in text for name in self.names) or self.ranks & _ranks(text) for text in texts)


def _ranks(text: str) -> set[int]:
    found: set[int] = set()
    for part in re.findall(r"\branks? ([\d, to]+)", text):
        for first, _, last in (piece.strip().partition(" to ") for piece in part.split(",")):
            if first.strip().isdigit():
                found.update(range(int(first), int(last or first) + 1))
    return found


def make(seed: int, *, removed: bool = False) -> Incident | None:
    """The incident of a seed; None where it cannot have its witness removed (nothing would be left, or no echo)."""
    rng = random.Random(seed)
    fault = FAULTS[seed % len(FAULTS)]
    world = World(rng)
    while world.size < fault.least_ranks or (fault.whole_node and len(world.nodes) < 2):
        world = World(rng)
    culprit = rng.choice(world.ranks)
    if fault.joins and rng.random() < 0.25:
        failed_attempt(world)
    fault.make(world, culprit)
    decoys(world, removed=removed)
    files: dict[str, list[Line]] = {}
    for line in sorted(world.lines):
        files.setdefault(_file(world, line.stream), []).append(line)
    incident = Incident(seed, fault, {}, set(), culprit, removed)
    if removed and not _remove(world, fault, culprit, files, incident):
        return None
    for name, lines in files.items():
        lines = _interleave(lines, rng)
        lines = _cut(lines, rng, name)
        incident.files[name] = [line.text for line in lines]
        incident.roots.update((name, number) for number, line in enumerate(lines, 1) if line.root)
    return incident


def _file(world: World, stream: str) -> str:
    kind, number = stream.split()
    if kind == "kernel":
        return f"{world.nodes[int(number)].name}-dmesg.log"
    if kind == "state":
        return f"{world.nodes[int(number)].name}-inspect.json"
    if kind == "rank" and world.per_rank_files:
        return f"rank{number}.log"
    node = world.ranks[int(number)].node if kind == "rank" else world.nodes[int(number)]
    return f"{node.name}.log"


def _remove(world: World, fault: Fault, culprit: Rank, files: dict[str, list[Line]], incident: Incident) -> bool:
    node = culprit.node
    kernel = f"{node.name}-dmesg.log"
    if fault.kernel and not fault.whole_node and world.rng.random() < 0.5:
        incident.kernel_removed = True
        del files[kernel]
        return True
    if len(world.nodes) > 1 and (fault.whole_node or not world.per_rank_files or world.rng.random() < 0.3):
        gone = {_file(world, f"rank {rank.number}") for rank in world.ranks if rank.node is node}
        gone |= {f"{node.name}.log", kernel, f"{node.name}-inspect.json"}
        incident.ranks = {rank.number for rank in world.ranks if rank.node is node}
        incident.names = {node.name, node.address}
    elif world.per_rank_files and not fault.whole_node:
        gone = {f"rank{culprit.number}.log", kernel}
        incident.ranks = {culprit.number}
        incident.names = {f"rank{culprit.number}.log"}
    else:
        return False
    for name in gone:
        files.pop(name, None)
    return any(name.startswith("rank") or len(lines) > 3 for name, lines in files.items()) and _echoed(files)


def _echoed(files: dict[str, list[Line]]) -> bool:
    """Whether what is left shows that something failed."""
    marks = ("NCCL WARN", "Watchdog caught", "DistStoreError", "remote process exited", "EngineDeadError")
    return any(mark in line.text for lines in files.values() for line in lines for mark in marks)


def _interleave(lines: list[Line], rng: random.Random) -> list[Line]:
    """Lines of one file in the order in which they arrive: each process keeps its own, others come in between."""
    streams: dict[str, list[Line]] = {}
    for line in lines:
        streams.setdefault(line.stream, []).append(line)
    delay = {stream: rng.uniform(0, 0.4) for stream in streams}
    keyed = [
        (line.at + delay[stream], number, position, line)
        for number, (stream, own) in enumerate(streams.items())
        for position, line in enumerate(own)
    ]
    keyed.sort(key=lambda item: item[:3])
    return [item[3] for item in keyed]


def _cut(lines: list[Line], rng: random.Random, name: str) -> list[Line]:
    """A random head or tail cut off, the root never."""
    roots = [number for number, line in enumerate(lines) if line.root]
    if not name.endswith(".log") or len(lines) < 20:
        return lines
    last = roots[0] if roots else len(lines) // 2
    start = rng.randrange(0, max(1, last // 2)) if rng.random() < 0.25 else 0
    end = len(lines)
    if rng.random() < 0.25 and (roots or "kernel" in name):
        end = rng.randrange(max(roots or [last]) + 1, len(lines) + 1)
    return lines[start:end]

"""Who said it: node, container, process, rank, parallel ranks and GPU of every line, over all inputs of an incident.

Sources, best first: the line's own prefix and header, what the same process said of itself earlier (vLLM's and NCCL's
rank lines), the other lines of the input, the input's name.
"""

import re
from collections import Counter
from collections.abc import Sequence

from k3triage.diagnose.parsed import ParsedInput, process_of
from k3triage.model.lazy import lazy
from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field

_ASSIGNED = lazy(r"\brank (\d{1,6}) in world size (\d{1,6}) is assigned as (.{0,200})")
_GROUP = lazy(r"\b(DP|PP|TP|EP) rank (\d{1,6})")
_INIT = lazy(r"^world_size=(\d{1,6}) rank=(\d{1,6}) local_rank=(\d{1,6})")
_COMM = lazy(r"\brank (\d{1,6}) n[Rr]anks (\d{1,6}) cudaDev (\d{1,4})")
_COMM_ID = lazy(r"\bcommId (0x[0-9a-f]+)")
_WORLD = lazy(r"\brank (\d{1,6})\b.{0,40}\bworld_size=(\d{1,6})")
_ADDRESS = lazy(r"Using \[?\w*\]?[\w.]*:(\d+\.\d+\.\d+\.\d+)<")
_NAMED_RANK = lazy(r"(?:^|[^a-z])(?:global_?)?rank[-_]?(\d{1,5})(?!\d|\.\d)", re.IGNORECASE)
_NAMED_NODE = lazy(
    r"(?:^|/)((?:[a-z0-9]+[_-]){0,4})((?:node|host|worker|gpu|server|machine)[-_]?\d{1,6})", re.IGNORECASE
)
# What a file's name says of its content, not of its node: "vllm-node3.log", "dmesg_gpu-7.txt".
_CONTENT = lazy(r"log|vllm|dmesg|kern|nccl|journal|docker|inspect|describe|events|syslog|messages", re.IGNORECASE)
_NAMED_POD = lazy(r"(?:^|/)([a-z0-9][\w-]*-\d{1,4})(?:\.(?:log|txt|out|err|jsonl?|gz|zst|xz|bz2)){1,2}$")
_CONTAINER = lazy(
    r"(?:containerd|docker|cri-o)://([0-9a-f]{12,64})|\"Id\": ?\"([0-9a-f]{64})\"|^([0-9a-f]{12,64}) {2,}\S"
    r"|\bcontainer (?:die|oom|kill|stop|start|create) ([0-9a-f]{12,64})"
)
_PODS = lazy(r"^Node: +([\w.-]+)(?:/([\d.]+))?$")
# A line of an interleaved file is cheap to look at; that many different speakers are more than any run has.
_MOST_SPEAKERS = 20_000
Key = tuple[int, str | None, int | None, int | None, str | None]


@dataclass(slots=True, frozen=True)
class Identity:
    """Who wrote a line. nodes: every name that the node is known under; groups: rank by "tp", "pp", "dp" and "ep"."""

    input: int
    node: str | None = None
    nodes: frozenset[str] = frozenset()
    container: str | None = None
    process: str | None = None
    pid: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    gpu: int | None = None
    groups: tuple[tuple[str, int], ...] = ()
    kernel: bool = False

    @property
    def name(self) -> str:
        """The shortest name by which an operator finds it: rank, node, process."""
        parts = []
        if self.rank is not None:
            parts.append(f"rank {self.rank}")
        elif self.process and not self.kernel:
            parts.append(self.process)
        elif self.kernel:
            parts.append("kernel")
        if self.node:
            parts.append(f"on {self.node}" if parts else self.node)
        return " ".join(parts)


@dataclass(slots=True)
class InputCast:
    """What one input as a whole tells of its speakers. ranks: global ranks heard in it."""

    nodes: set[str] = field(default_factory=set)
    containers: set[str] = field(default_factory=set)
    communicators: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    rank: int | None = None
    kernel: bool = False
    node: str | None = None


@dataclass(slots=True)
class _Known:
    rank: int | None = None
    local_rank: int | None = None
    gpu: int | None = None
    groups: tuple[tuple[str, int], ...] = ()


class Cast:
    """All speakers of an incident."""

    def __init__(self, inputs: Sequence[ParsedInput]) -> None:
        self.world: int | None = None
        self.inputs: list[InputCast] = []
        self._known: dict[tuple[int, int], _Known] = {}
        self._cache: dict[Key, Identity] = {}
        for number, parsed in enumerate(inputs):
            self.inputs.append(self._read(number, parsed))

    def who(self, number: int, line: Line) -> Identity:
        """Who wrote a line of input `number`."""
        process = process_of(line)
        pid = process.pid if process.pid is not None else line.header.process.pid
        rank = process.rank if process.rank is not None else line.header.process.rank
        node = process.node or line.header.process.node
        key = (number, process.name, pid, rank, node)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) > _MOST_SPEAKERS:
                self._cache.clear()
            found = self._cache[key] = self._make(key, process.container)
        return found

    def of_pid(self, number: int, pid: int) -> Identity:
        """The process with that id in input `number`."""
        known = next((who for key, who in self._cache.items() if key[0] == number and key[2] == pid), None)
        return known or self._make((number, None, pid, None, None), None)

    @property
    def ranks(self) -> set[int]:
        """Global ranks heard in any input."""
        return {rank for cast in self.inputs for rank in cast.ranks}

    @property
    def nodes(self) -> set[str]:
        """Every name and address of a node that some input comes from."""
        return {name for cast in self.inputs for name in cast.nodes | cast.addresses}

    @property
    def speaking(self) -> list[int]:
        """Numbers of the inputs that programs wrote, kernel logs left out."""
        return [number for number, cast in enumerate(self.inputs) if not cast.kernel]

    def _make(self, key: Key, container: str | None) -> Identity:
        number, name, pid, rank, node = key
        cast = self.inputs[number]
        known = self._known.get((number, pid)) if pid is not None else None
        known = known or _Known()
        shown = known.rank if known.rank is not None else rank if rank is not None else cast.rank
        return Identity(
            input=number,
            node=cast.node or node,
            nodes=frozenset(cast.nodes | ({node} if node else set())),
            container=container or (next(iter(sorted(cast.containers))) if len(cast.containers) == 1 else None),
            process=name,
            pid=pid,
            rank=None if cast.kernel else shown,
            local_rank=known.local_rank,
            gpu=known.gpu,
            groups=known.groups,
            kernel=cast.kernel,
        )

    def _read(self, number: int, parsed: ParsedInput) -> InputCast:
        cast = InputCast()
        seen: set[tuple[int | None, int | None, str | None]] = set()
        kernel = written = 0
        hosts: Counter[str] = Counter()
        for line in parsed.lines:
            kernel += line.header.kind == "kernel"
            written += bool(line.header.message)
            process = process_of(line)
            rank = process.rank if process.rank is not None else line.header.process.rank
            pid = process.pid if process.pid is not None else line.header.process.pid
            node = process.node or line.header.process.node
            if node:
                hosts[node] += 1
            if (pid, rank, node) not in seen and len(seen) < _MOST_SPEAKERS:
                seen.add((pid, rank, node))
                if rank is not None:
                    cast.ranks.add(rank)
                if pid is not None:
                    cast.pids.add(pid)
            self._learn(number, cast, line, pid)
        cast.kernel = kernel * 2 > written
        self._by_name(cast, parsed.name)
        if cast.node is None and hosts:
            cast.node = max(sorted(hosts), key=hosts.__getitem__)
        if len(hosts) == 1 or (hosts and cast.node in hosts):
            cast.nodes.add(max(sorted(hosts), key=hosts.__getitem__))
        told = {known.rank for (source, _), known in self._known.items() if source == number and known.rank is not None}
        if told:
            # What vLLM and NCCL call the global rank is better than a rank read off a worker's name.
            cast.ranks = told | {rank for pid, rank, _ in seen if rank is not None and (number, pid) not in self._known}
        if cast.rank is not None:
            cast.ranks.add(cast.rank)
        elif len(cast.ranks) == 1 and len(cast.pids) <= 1:
            cast.rank = next(iter(cast.ranks))
        if cast.kernel:
            cast.ranks.clear()
        return cast

    def _learn(self, number: int, cast: InputCast, line: Line, pid: int | None) -> None:
        """Take in what a line says of ranks, communicators, addresses and containers."""
        text = line.header.message
        if "rank" in text:
            self._learn_rank(number, cast, text, pid)
        if "NCCL INFO" in line.record.text or line.header.kind == "nccl":
            if found := _ADDRESS.search(text):
                cast.addresses.add(found[1])
            if found := _COMM_ID.search(text):
                cast.communicators.add(found[1])
        if "ontainer" in text or '"Id"' in text or text[:1] in "0123456789abcdef":
            for match in _CONTAINER.finditer(text[:600]):
                cast.containers.add(next(group for group in match.groups() if group)[:12])
        if text.startswith("Node: ") and (found := _PODS.match(text)):
            cast.nodes.update(part for part in found.groups() if part)
            cast.node = cast.node or found[1]

    def _learn_rank(self, number: int, cast: InputCast, text: str, pid: int | None) -> None:
        known = _Known()
        if found := _ASSIGNED.search(text):
            known.rank, world = int(found[1]), int(found[2])
            known.groups = tuple((name.lower(), int(rank)) for name, rank in _GROUP.findall(found[3]))
        elif found := _INIT.match(text):
            world, known.rank, known.local_rank = (int(part) for part in found.groups())
        elif found := _WORLD.search(text):
            known.rank, world = int(found[1]), int(found[2])
        elif "cudaDev" in text and (found := _COMM.search(text)):
            rank, size, known.gpu = (int(part) for part in found.groups())
            # Only the largest communicator numbers its members as the world does.
            if self.world is None or size >= self.world:
                known.rank, world = rank, size
            else:
                world = 0
        else:
            return
        self.world = max(self.world or 0, world) or None
        if known.rank is not None:
            cast.ranks.add(known.rank)
        if pid is None:
            return
        old = self._known.setdefault((number, pid), _Known())
        for name in ("rank", "local_rank", "gpu"):
            value = getattr(known, name)
            if value is not None and (name != "rank" or old.rank is None or world == self.world):
                setattr(old, name, value)
        old.groups = known.groups or old.groups

    @staticmethod
    def _by_name(cast: InputCast, name: str) -> None:
        short = "/".join(name.replace("\\", "/").split("/")[-2:])
        if found := _NAMED_NODE.search(short):
            bare, whole = found[2], found[1] + found[2]
            cast.nodes.update((bare, whole))
            cast.node = cast.node or (bare if _CONTENT.search(found[1]) else whole)
        elif (found := _NAMED_POD.search(short)) and not found[1].lower().startswith("rank"):
            cast.nodes.add(found[1])
            cast.node = cast.node or found[1]
        ranks = set(_NAMED_RANK.findall(short.rpartition("/")[2]))
        if len(ranks) == 1 and not cast.kernel:
            cast.rank = int(ranks.pop())

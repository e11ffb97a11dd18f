"""A made-up deployment that runs: nodes with clocks of their own, ranks, processes, and the lines that they print."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass
class Node:
    """One host. skew: seconds its clock is ahead; boot: moment of its boot, for kernel times; dated: dmesg -T."""

    number: int
    name: str
    address: str
    skew: float
    boot: float
    dated: bool


@dataclass
class Rank:
    """One worker process."""

    number: int
    node: Node
    local: int
    pid: int


@dataclass(order=True)
class Line:
    """A printed line: true moment, order within the moment, the stream it goes to."""

    at: float
    order: int
    stream: str = field(compare=False)
    text: str = field(compare=False)
    root: bool = field(compare=False, default=False)


class World:
    """A deployment of one seed, and everything printed in it.

    Streams are named by whom they come from: "rank 3", "node 1" (engine and API server), "kernel 1", "state 1".
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.epoch = datetime(2026, 12, 31, 23, 52) if rng.random() < 0.1 else datetime(2026, 11, 18, 7, 20)
        count = rng.choice([1, 1, 2, 2, 3, 4, 8])
        per_node = rng.choice([2, 2, 4, 8]) if count == 1 else rng.choice([1, 2, 4, 8])
        skewed = rng.random() < 0.5
        stem = rng.choice(["gpu-", "node", "k3-worker-", "h200-"])
        self.nodes = [
            Node(
                number,
                f"{stem}{number}",
                f"10.24.{rng.randrange(1, 9)}.{10 + number}",
                rng.uniform(-170, 170) if skewed else rng.uniform(-0.05, 0.05),
                -rng.uniform(1e5, 9e5),
                rng.random() < 0.4,
            )
            for number in range(count)
        ]
        self.ranks = [
            Rank(node.number * per_node + local, node, local, rng.randrange(300, 60000))
            for node in self.nodes
            for local in range(per_node)
        ]
        self.per_rank_files = rng.random() < 0.5
        self.lines: list[Line] = []
        self._order = 0
        self.communicator = f"0x{rng.getrandbits(64):016x}"
        self.has_kernel_logs = False

    @property
    def size(self) -> int:
        return len(self.ranks)

    def put(self, at: float, stream: str, text: str, *, root: bool = False) -> None:
        """Print a line; a text of several lines is printed at once."""
        for part in text.split("\n"):
            self._order += 1
            self.lines.append(Line(at, self._order, stream, part, root and part == text.split("\n")[-1]))

    def stamp(self, node: Node, at: float, form: str) -> str:
        """The moment by the node's clock."""
        moment = self.epoch + timedelta(seconds=at + node.skew)
        if form == "vllm":
            return moment.strftime("%m-%d %H:%M:%S")
        if form == "c10d":
            return f"{moment.month:02d}{moment:%d %H:%M:%S}.{moment.microsecond:06d}{self.rng.randrange(1000):03d}"
        return moment.strftime("%Y-%m-%d %H:%M:%S")

    # What a worker, NCCL, torch, the engine and the kernel print.

    def worker(self, rank: Rank, at: float, level: str, place: str, text: str, *, root: bool = False) -> None:
        head = f"(Worker_TP{rank.number} pid={rank.pid}) {level} {self.stamp(rank.node, at, 'vllm')} [{place}] "
        self.put(at, f"rank {rank.number}", head + text, root=root)

    def exception(self, rank: Rank, at: float, frames: list[str], error: str) -> None:
        """A worker's traceback as vLLM logs it; the last line is the root."""
        place = "multiproc_executor.py:949"
        self.worker(rank, at, "ERROR", place, "WorkerProc hit an exception.")
        self.worker(rank, at, "ERROR", place, "Traceback (most recent call last):")
        for frame in frames:
            file, line, function, code = frame.split("|")
            self.worker(
                rank,
                at,
                "ERROR",
                place,
                f'  File "/opt/venv/lib/python3.12/site-packages/{file}", line {line}, in {function}',
            )
            self.worker(rank, at, "ERROR", place, f"    {code}")
        self.worker(rank, at, "ERROR", place, error, root=True)

    def script_exception(self, rank: Rank, at: float, frames: list[str], error: str) -> None:
        """A traceback as torchrun's workers print it."""
        stream = f"rank {rank.number}"
        self.put(at, stream, f"[rank{rank.number}]: Traceback (most recent call last):")
        for frame in frames:
            file, line, function, code = frame.split("|")
            self.put(
                at,
                stream,
                f'[rank{rank.number}]:   File "/opt/venv/lib/python3.12/site-packages/{file}", line {line}, in {function}',
            )
            self.put(at, stream, f"[rank{rank.number}]:     {code}")
        self.put(at, stream, f"[rank{rank.number}]: {error}", root=True)

    def nccl(self, rank: Rank, at: float, text: str, *, warn: str = "", root: bool = False) -> None:
        who = f"{rank.node.name}:{rank.pid}:{rank.pid + 7} [{rank.local}]"
        if warn:
            self.put(at, f"rank {rank.number}", "")
            line = f"[{self.stamp(rank.node, at, 'iso')}] {who} {warn} NCCL WARN {text}"
        else:
            line = f"{who} NCCL INFO {text}"
        self.put(at, f"rank {rank.number}", line, root=root)

    def c10d(self, rank: Rank, at: float, level: str, place: str, text: str, *, root: bool = False) -> None:
        head = f"[rank{rank.number}]:[{level}{self.stamp(rank.node, at, 'c10d')} {place}] "
        self.put(at, f"rank {rank.number}", head + text, root=root)

    def engine(self, node: Node, at: float, level: str, place: str, text: str, *, root: bool = False) -> None:
        head = f"(EngineCore_DP0 pid={7000 + node.number}) {level} {self.stamp(node, at, 'vllm')} [{place}] "
        self.put(at, f"node {node.number}", head + text, root=root)

    def kernel(self, node: Node, at: float, text: str, *, root: bool = False) -> None:
        if node.dated:
            moment = self.epoch + timedelta(seconds=at + node.skew)
            head = f"[{moment:%a %b} {moment.day:2d} {moment:%H:%M:%S} {moment.year}] "
        else:
            head = f"[{at - node.boot:12.6f}] "
        self.has_kernel_logs = True
        self.put(at, f"kernel {node.number}", head + text, root=root)

    def restart(self, after: float) -> None:
        """Let what comes next happen that much later, in new processes; nothing printed so far is the root."""
        self.epoch += timedelta(seconds=after)
        for node in self.nodes:
            node.boot -= after
        for line in self.lines:
            line.at -= after
            line.root = False
        for rank in self.ranks:
            rank.pid += 997
        self.communicator = f"0x{self.rng.getrandbits(64):016x}"

    # A life without faults.

    def start(self, until: float, *, skip: frozenset[int] = frozenset()) -> float:
        """Start-up of every rank but those of `skip` nodes up to the moment `until`; returns when serving begins."""
        rng = self.rng
        for rank in self.ranks:
            if rank.node.number in skip:
                continue
            at = rng.uniform(0, 2)
            steps = [
                (at, "gpu_worker.py:231", "Using V2 model runner"),
                (
                    at + 1,
                    "parallel_state.py:1588",
                    f"world_size={self.size} rank={rank.number} local_rank={rank.local} distributed_init_method=tcp://{self.nodes[0].address}:29511 backend=nccl",
                ),
            ]
            for when, place, text in steps:
                if when < until:
                    self.worker(rank, when, "INFO", place, text)
            joined = 12.0
            if skip or joined > until:
                continue
            self.nccl(rank, joined - 1, f"Bootstrap: Using eth0:{rank.node.address}<0>")
            self.nccl(rank, joined - 1, "NCCL version 2.28.9+cuda13.0")
            bus = f"{0x1B + 0x10 * rank.local:x}000"
            tail = f"rank {rank.number} nranks {self.size} cudaDev {rank.local} nvmlDev {rank.local} busId {bus} commId {self.communicator}"
            self.nccl(rank, joined - 0.5, f"ncclCommInitRank comm 0x5{rank.pid:07x} {tail} - Init START")
            if joined + 0.4 > until:
                continue
            self.nccl(
                rank, joined + rng.uniform(0, 0.3), f"ncclCommInitRank comm 0x5{rank.pid:07x} {tail} - Init COMPLETE"
            )
            self.worker(
                rank,
                joined + rng.uniform(0.3, 0.6),
                "INFO",
                "parallel_state.py:1923",
                f"rank {rank.number} in world size {self.size} is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank {rank.number}, EP rank N/A, EPLB rank N/A",
            )
            for when, place, text in (
                (20, "gpu_model_runner.py:3551", "Starting to load model /models/k3-mini..."),
                (60 + rng.uniform(0, 9), "default_loader.py:267", "Loading weights took 38.20 seconds"),
                (75, "backends.py:548", "Dynamo bytecode transform time: 9.11 s"),
                (90, "gpu_model_runner.py:4466", "Graph capturing finished in 8 secs, took 0.61 GiB"),
            ):
                if when < until:
                    self.worker(rank, when + rng.uniform(0, 0.5), "INFO", place, text)
        head = self.nodes[0]
        if not skip:
            for when, place, text in (
                (
                    5,
                    "core.py:77",
                    f"Initializing a V1 LLM engine (v0.24.0) with config: model='/models/k3-mini', tensor_parallel_size={self.size}",
                ),
                (80, "kv_cache_utils.py:1291", "GPU KV cache size: 812,160 tokens"),
            ):
                if when < until:
                    self.engine(head, when, "INFO", place, text)
            if until > 100:
                self.put(100, f"node {head.number}", "(APIServer pid=1) INFO:     Application startup complete.")
        when = 110.0
        while when < until and not skip:
            self.put(
                when,
                f"node {head.number}",
                f"(APIServer pid=1) INFO {self.stamp(head, when, 'vllm')} [loggers.py:127] Engine 000: Avg prompt throughput: {rng.uniform(200, 900):.1f} tokens/s, Avg generation throughput: {rng.uniform(100, 400):.1f} tokens/s, Running: {rng.randrange(1, 9)} reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: {rng.uniform(20, 60):.1f}%",
            )
            if rng.random() < 0.4:
                self.put(
                    when + 1,
                    f"node {head.number}",
                    f'(APIServer pid=1) INFO:     10.24.0.3:{rng.randrange(30000, 60000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
                )
            for rank in rng.sample(self.ranks, min(3, self.size)):
                if rng.random() < 0.2:
                    self.worker(
                        rank,
                        when + rng.uniform(0, 5),
                        "INFO",
                        "jit_monitor.py:60",
                        "Kernel compiled during inference: fused_moe",
                    )
            when += 10
        return 105.0

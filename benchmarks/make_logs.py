"""Writes synthetic deployment logs of any size: `python benchmarks/make_logs.py healthy 1GiB out.log`.

Kinds: `healthy` (start-up, serving, a crash in the last lines), `flooded` (a third of the lines are one rank's
repeated tracebacks), `docker` (healthy, as Docker's json-file driver writes it), `cri` (healthy, as containerd does).
A crash after a minute and then, for the rest of the log: `dense` (failing requests: five of six lines are candidates),
`errors` (one ERROR line again and again), `loop` (the server restarts and fails in the same way), `trace`
(NCCL_DEBUG=TRACE), `xid` (one Xid). The same kind, size and seed give the same bytes.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

# Every line is made with this clock, which is then replaced block by block: formatting each line anew is too slow.
CLOCK = b"07-14 09:00:00"
ISO = b"2026-07-14T09:00:00.123456789Z"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """Bytes of "64KiB", "512M", "1GiB" or a plain number."""
    number = text.rstrip("iBb")
    if number and number[-1].upper() in UNITS:
        return int(float(number[:-1]) * UNITS[number[-1].upper()])
    return int(number)


def _stats(rng: random.Random) -> str:
    return (
        f"(APIServer pid=1) INFO 07-14 09:00:00 [loggers.py:248] Engine {rng.randrange(8):03d}: "
        f"Avg prompt throughput: {rng.uniform(40, 9000):.1f} tokens/s, "
        f"Avg generation throughput: {rng.uniform(40, 2600):.1f} tokens/s, Running: {rng.randrange(60)} reqs, "
        f"Waiting: {rng.randrange(9)} reqs, GPU KV cache usage: {rng.uniform(1, 92):.1f}%, "
        f"Prefix cache hit rate: {rng.uniform(20, 80):.1f}%"
    )


def _access(rng: random.Random) -> str:
    path = rng.choice(["/v1/chat/completions", "/v1/completions", "/health", "/metrics", "/v1/models"])
    verb = "POST" if "completions" in path else "GET"
    return (
        f"(APIServer pid=1) INFO:     10.8.{rng.randrange(256)}.{rng.randrange(256)}:{rng.randrange(20000, 60000)}"
        f' - "{verb} {path} HTTP/1.1" 200 OK'
    )


def _request(rng: random.Random) -> str:
    key = f"chatcmpl-{rng.getrandbits(128):032x}"
    return rng.choice(
        [
            f"(APIServer pid=1) INFO 07-14 09:00:00 [logger.py:42] Received request {key}: params: "
            f"SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, temperature={rng.random():.2f}, "
            f"top_p=0.95, top_k=0, seed=None, stop=[], max_tokens={rng.randrange(64, 8192)}), lora_request: None.",
            f"(APIServer pid=1) INFO 07-14 09:00:00 [async_llm.py:321] Added request {key}.",
        ]
    )


def _nccl(rng: random.Random) -> str:
    rank, peer, channel = rng.randrange(8), rng.randrange(8), rng.randrange(24)
    head = f"(Worker_TP{rank} pid={700 + rank}) gpu-a17:{700 + rank}:{940 + rank} [{rank}] NCCL INFO "
    return head + rng.choice(
        [
            f"Channel {channel:02d}/0 : {rank}[{rank}] -> {peer}[{peer}] via P2P/CUMEM/read",
            f"Trees [{channel}] {peer}/-1/-1->{rank}->{(rank + 1) % 8}",
            f"NET/IB : Using [0]mlx_bond_{rank}:1/RoCE [RO]; OOB bond0:10.8.3.{rng.randrange(256)}<0>",
            f"Connected all rings, use ring PXN 0 GDR {rank % 2}",
        ]
    )


def _healthy_lines(rng: random.Random, count: int) -> list[bytes]:
    makers = rng.choices([_access, _request, _stats, _nccl], weights=[50, 25, 12, 13], k=count)
    return [make(rng).encode() for make in makers]


START = [
    b"(APIServer pid=1) INFO 07-14 09:00:00 [api_server.py:1912] vLLM API server version 0.27.1",
    b"(APIServer pid=1) INFO 07-14 09:00:00 [utils.py:233] non-default args: {'model': 'acme/reasoner-70b'}",
    b"(EngineCore_DP0 pid=420) INFO 07-14 09:00:00 [core.py:94] Initializing a V1 LLM engine (v0.27.1)",
    b"(Worker_TP0 pid=700) INFO 07-14 09:00:00 [gpu_model_runner.py:3021] Starting to load model acme/reasoner-70b",
    b"(Worker_TP0 pid=700) INFO 07-14 09:00:00 [default_loader.py:308] Loading weights took 41.77 seconds",
    b"(EngineCore_DP0 pid=420) INFO 07-14 09:00:00 [kv_cache_utils.py:1291] GPU KV cache size: 418,224 tokens",
    b"(APIServer pid=1) INFO:     Application startup complete.",
]


def _crash(rng: random.Random, rank: int) -> list[bytes]:
    head = f"(Worker_TP{rank} pid={700 + rank}) ERROR 07-14 09:00:00 [multiproc_executor.py:671] "
    frames = []
    for name in ("execute_model", "forward", "_run", "apply"):
        frames.append(
            f'{head}  File "/opt/venv/lib/python3.12/site-packages/vllm/worker/{name}.py", line {rng.randrange(900)}'
        )
        frames.append(f"{head}    return self.{name}(*args, **kwargs)")
    text = [
        f"{head}WorkerProc hit an exception.",
        f"{head}Traceback (most recent call last):",
        *frames,
        f"{head}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {rng.randrange(2, 900)}.00 MiB.",
    ]
    return [line.encode() for line in text]


def _failed_request(rng: random.Random) -> list[str]:
    key = f"chatcmpl-{rng.getrandbits(64):016x}"
    head = "(APIServer pid=1) ERROR 07-14 09:00:00 "
    return [
        f"{head}[serving_chat.py:{rng.randrange(900)}] Error in chat completion stream generator for {key}.",
        f"{head}[serving_chat.py:1200] Traceback (most recent call last):",
        f"{head}[serving_chat.py:1200] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
        f"(APIServer pid=1) ERROR:    Exception in ASGI application for 10.8.{rng.randrange(256)}.7",
        f"{head}[async_llm.py:{rng.randrange(900)}] AsyncLLM output_handler failed: EngineDeadError",
    ]


def _flood(kind: str, rng: random.Random, quiet: list[bytes]) -> list[bytes]:
    """Entries of one or more lines that follow the crash of a log of that kind."""
    if kind == "dense":
        return ["\n".join(_failed_request(rng)).encode() + b"\n" + rng.choice(quiet) for _ in range(6_000)]
    if kind == "errors":
        head = "(APIServer pid=1) ERROR 07-14 09:00:00 [serving_chat.py:1200] "
        return [f"{head}Error in chat completion for request {n}: the engine is dead".encode() for n in range(20_000)]
    if kind == "loop":
        return [b"\n".join([*START, *rng.choices(quiet, k=200), *_crash(rng, 3)]) for _ in range(40)]
    if kind == "trace":
        head = "gpu-a17:703:943 [3] "
        return [
            f"{head}{rng.randrange(10**6)}.{rng.randrange(10**6):06d} proxyProgress:{rng.randrange(900)} NCCL TRACE "
            f"peer {rng.randrange(8)} step {rng.randrange(4096)} of 4096, {rng.randrange(1 << 20)} bytes".encode()
            for _ in range(20_000)
        ]
    return [
        f"[{n // 10 + 80_000}.{n:06d}] NVRM: Xid (PCI:0000:3b:00): 31, pid=703, name=Worker_TP3, Ch 00000000, "
        f"intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{n % 16} faulted @ 0x7f{n % 4096:03x}_00000000. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ".encode()
        for n in range(20_000)
    ]


FLOODS = ("dense", "errors", "loop", "trace", "xid")


def blocks(kind: str, size: int, seed: int = 7) -> Iterator[bytes]:
    """Blocks of whole lines, together at least `size` bytes, of a log of that kind."""
    rng = random.Random(f"{kind}-{seed}")
    pool = _healthy_lines(rng, 40_000)
    wrap = {"docker": _docker, "cri": _cri}.get(kind, _plain)
    if kind == "flooded":
        crashes = [b"\n".join(_crash(rng, rng.randrange(8))) for _ in range(400)]
        pool = rng.choices([*pool[:22_000], *(crashes * 3)], k=20_000)
    lines = [wrap(line) for entry in pool for line in entry.split(b"\n")] if wrap is not _plain else pool
    written, second = 0, 0
    start = b"\n".join(wrap(line) for line in START) + b"\n"
    yield start
    written += len(start)
    end = b"\n".join(wrap(line) for line in _crash(rng, 3)) + b"\n"
    if kind in FLOODS:
        yield b"\n".join(rng.choices(lines, k=500)) + b"\n" + end
        # Nothing may look as if the server answered again.
        lines, end = _flood(kind, rng, [_nccl(rng).encode() for _ in range(2_000)]), b""
    while written < size - len(end):
        second += 1
        block = _at(second, b"\n".join(rng.choices(lines, k=4_000)) + b"\n")
        written += len(block)
        yield block
    yield _at(second + 1, end)


def _at(second: int, block: bytes) -> bytes:
    """The block with the clock so many seconds after the start."""
    day, rest = divmod(second + 9 * 3600, 86_400)
    clock = f"07-{14 + day % 14:02d} {rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return block.replace(CLOCK, clock.encode()).replace(ISO[:19], b"2026-" + clock.replace(" ", "T").encode())


def _plain(line: bytes) -> bytes:
    return line


def _docker(line: bytes) -> bytes:
    record = {"log": line.decode() + "\n", "stream": "stderr", "time": ISO.decode()}
    return json.dumps(record, separators=(",", ":")).encode()


def _cri(line: bytes) -> bytes:
    return ISO + b" stderr F " + line


def write(kind: str, size: int, path: Path, seed: int = 7) -> None:
    """Write such a log to `path`."""
    with path.open("wb") as file:
        for block in blocks(kind, size, seed):
            file.write(block)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["healthy", "flooded", "docker", "cri", *FLOODS])
    parser.add_argument("size", type=parse_size)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    write(options.kind, options.size, options.path, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

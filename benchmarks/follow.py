"""Seconds from the line of a failure to its verdict: `python benchmarks/follow.py --rounds 5`.

`k3triage --follow` reads a pipe, and a file that grows, while a server writes its usual lines into it; then a rank
crashes. Prints the latencies of both and their medians.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import make_logs

ROOT = Path(__file__).resolve().parent.parent
_SETTLE = 2.0


def latency(way: str, rate: int, folder: Path) -> float:
    """One run: `rate` lines a second before and after the crash."""
    log = folder / "node0.log"
    log.write_bytes(b"")
    command = [
        sys.executable,
        "-m",
        "k3triage",
        "--follow",
        "--format",
        "ndjson",
        *([str(log)] if way == "file" else []),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None
        file = log.open("ab", buffering=0)
        raw = process.stdin
        send: Callable[[bytes], object] = file.write if way == "file" else raw.write
        lines = b"".join(make_logs.blocks("healthy", 600_000)).splitlines(keepends=True)
        end = next(number for number, line in enumerate(lines) if b"WorkerProc hit an exception" in line)
        begin, usual, crash = b"".join(lines[:7]), lines[7:end], b"".join(lines[end:])
        rng = random.Random(5)
        lock, stop = threading.Lock(), threading.Event()

        def say(data: bytes) -> None:
            with lock:
                send(data)
                raw.flush()

        def serve() -> None:
            say(begin)
            while not stop.wait(0.02):
                say(b"".join(rng.choices(usual, k=max(1, rate // 50))))

        thread = threading.Thread(target=serve)
        thread.start()
        time.sleep(_SETTLE)
        start = time.perf_counter()
        say(crash)
        for line in process.stdout:
            if json.loads(line)["type"] == "verdict":
                break
        seconds = time.perf_counter() - start
        stop.set()
        thread.join()
        file.close()
        process.terminate()
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=1_000, help="lines a second")
    options = parser.parse_args()
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ("pipe", "file"):
            seconds = [round(latency(way, options.rate, Path(folder)), 3) for _ in range(options.rounds)]
            result[way] = {"seconds": seconds, "median": statistics.median(seconds)}
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

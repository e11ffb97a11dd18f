"""Logs in the envelopes of container runtimes, long lines torn into their partial lines."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = (ROOT / "fixtures" / "demo" / "kv-cache-too-small.log").read_text(encoding="utf-8")
NCCL = "".join(
    f"(Worker_TP{rank} pid={610 + rank}) gpu-b4:{610 + rank}:{900 + rank} [{rank}] NCCL INFO Channel {n:02d}/0 : "
    f"{rank}[{rank}] -> {(rank + 1) % 4}[{(rank + 1) % 4}] via P2P/CUMEM\n"
    for n in range(12)
    for rank in range(4)
)
SERVING = "".join(
    f'(APIServer pid=1) INFO:     10.2.0.{n}:{40000 + n} - "POST /v1/completions HTTP/1.1" 200 OK\n' for n in range(90)
)
CRASH = """\
(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [multiproc_executor.py:671] WorkerProc hit an exception.
(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [multiproc_executor.py:671] Traceback (most recent call last):
(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [multiproc_executor.py:671]   File "/opt/x/worker.py", line 81, in execute
(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [multiproc_executor.py:671]     return self.model(batch)
(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [multiproc_executor.py:671] torch.OutOfMemoryError: CUDA out of memory. \
Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.31 GiB is free.
"""
EXPORT = json.dumps([{"log": line + "\n", "time": "2026-11-30T12:00:00Z"} for line in CRASH.splitlines()], indent=1)
TEXTS = {
    "demo": DEMO,
    "crash": DEMO.splitlines(keepends=True)[0] + NCCL + SERVING + CRASH + SERVING,
    "restart": DEMO + NCCL + SERVING + CRASH,
    "long": DEMO + (NCCL + SERVING) * 5 + CRASH * 2 + SERVING * 3,
    "healthy": NCCL + SERVING,
    "open end": CRASH.rstrip("\n"),
}
_PART = 60
_TIME = "2026-11-30T12:00:00.123456789Z"


def _parts(line: str) -> list[str]:
    return [line[at : at + _PART] for at in range(0, len(line), _PART)] or [""]


def docker_json(text: str) -> str:
    """Docker's json-file driver: a line too long for its buffer comes in records of which only the last ends it."""
    out = []
    for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
        parts = _parts(line)
        parts[-1] += "\n"
        out += [json.dumps({"log": part, "stream": "stderr", "time": _TIME}) for part in parts]
    return "\n".join(out) + "\n"


def cri(text: str) -> str:
    """containerd's log file, with P for a part and F for the last of a line."""
    out = []
    for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
        parts = _parts(line)
        out += [f"{_TIME} stderr {'P' if n < len(parts) else 'F'} {part}" for n, part in enumerate(parts, 1)]
    return "\n".join(out) + "\n"


def compose(text: str) -> str:
    """`docker compose logs`."""
    return "".join(f"vllm-1  | {line}" for line in text.splitlines(keepends=True))


ENVELOPES = {"plain": str, "docker-json": docker_json, "cri": cri, "compose": compose}
LOGS: dict[str, bytes] = {
    **{f"{name} in {form}": wrap(text).encode() for name, text in TEXTS.items() for form, wrap in ENVELOPES.items()},
    "a JSON export": EXPORT.encode(),
    "with a byte order mark": b"\xef\xbb\xbf" + CRASH.encode(),
    "bytes that are no text": b"\xff\x00\xfe\n" + CRASH.encode() + b"\x80",
    "nothing": b"",
}

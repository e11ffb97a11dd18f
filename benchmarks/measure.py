"""Runs commands in turn and compares their times and memory in the same round."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Row = dict[str, float]


def measure(command: list[str]) -> Row:
    """Wall time, processor time (s) and peak memory (MB) of one run, from start to exit."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    # grep stops at the first match where its output goes to /dev/null, so that is for those that print it all.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        sink: Any = subprocess.DEVNULL if command[0] in ("cat", "gzip", "zstd") else output
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=sink, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):  # 1: grep found nothing, k3triage a failure
            errors.seek(0)
            raise RuntimeError(f"{command} ended with {process.returncode}: {errors.read()[-500:]!r}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def compare(commands: Mapping[str, list[str]], rounds: int, base: str, scale: Mapping[str, float]) -> dict[str, Row]:
    """Medians per command; `ratio` and `cpu_ratio` are the medians of the rounds' own ratios to `base`.

    scale: by what the times of a command that ran over less than the others are multiplied.
    """
    for command in commands.values():
        measure(command)
    runs: dict[str, list[Row]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            run = measure(command)
            factor = scale.get(name, 1.0)
            runs[name].append({"wall": run["wall"] * factor, "cpu": run["cpu"] * factor, "peak_mb": run["peak_mb"]})
    result = {}
    for name, own in runs.items():
        row = {key: statistics.median(run[key] for run in own) for key in ("wall", "cpu")}
        row["peak_mb"] = max(run["peak_mb"] for run in own)
        row["best_wall"] = min(run["wall"] for run in own)
        if base in runs:
            pairs = list(zip(own, runs[base], strict=True))
            row["ratio"] = statistics.median(a["wall"] / b["wall"] for a, b in pairs)
            row["cpu_ratio"] = statistics.median(a["cpu"] / b["cpu"] for a, b in pairs)
        result[name] = row
    return result


def machine() -> dict[str, Any]:
    """Facts without which the figures mean nothing."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    versions = {}
    for tool in ("rg", "grep"):
        if path := shutil.which(tool):
            done = subprocess.run([path, "--version"], capture_output=True, text=True)
            versions[tool] = done.stdout.splitlines()[0]
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def k3triage(*words: str) -> list[str]:
    """The command as an installed one runs: the entry point in this interpreter."""
    return [sys.executable, str(HERE / "k3triage_command.py"), *words]

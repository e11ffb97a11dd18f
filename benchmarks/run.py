"""Compares the scan with other tools on the same file: `python benchmarks/run.py --size 1GiB`.

Each round runs every contender once, in turn, so that a busy machine slows all of them; times are medians over the
rounds and ratios are medians of the rounds' own ratios. Writes results.json and results.md.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from make_logs import parse_size

HERE = Path(__file__).resolve().parent
LITERALS = HERE / "yardstick_literals.txt"
# The line loop reads only a log of this size of the same kind; its time is scaled up.
LOOP_BYTES = 32 << 20
RIPGREP = "ripgrep -c -F, 1 thread"


def contenders(path: Path, small: Path) -> dict[str, tuple[list[str], float]]:
    """Name to (command, by what its time is multiplied)."""
    size = path.stat().st_size
    scan = [sys.executable, str(HERE / "scan_file.py"), str(path)]
    table: dict[str, tuple[list[str], float]] = {}
    if rg := shutil.which("rg"):
        table[RIPGREP] = ([rg, "-a", "-c", "-F", "-j1", "-f", str(LITERALS), str(path)], 1)
    if grep := shutil.which("grep"):
        table["grep -c -F"] = (["env", "LC_ALL=C", grep, "-a", "-c", "-F", "-f", str(LITERALS), str(path)], 1)
    table["cat"] = (["cat", str(path)], 1)
    table["k3triage scan, 1 thread"] = ([*scan, "--jobs", "1"], 1)
    table["k3triage scan, 2 threads"] = ([*scan, "--jobs", "2"], 1)
    table["k3triage scan, as a pipe"] = ([*scan, "--jobs", "2", "--piped"], 1)
    table["k3triage scan, plain Python"] = ([*scan, "--engine", "re"], 1)
    table["k3triage scan, rule pack, 2 threads"] = ([*scan, "--jobs", "2", "--pack"], 1)
    if (HERE.parent / "k3triage" / "cli" / "main.py").exists():
        table["k3triage FILE"] = ([sys.executable, "-m", "k3triage", "--exit-zero", str(path)], 1)
    table["Python re, line by line"] = (
        [sys.executable, str(HERE / "line_loop.py"), str(small)],
        size / small.stat().st_size,
    )
    return table


def starts(tiny: Path) -> dict[str, list[str]]:
    """Commands whose time is all start-up."""
    table = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "k3triage scan, small log": [sys.executable, str(HERE / "scan_file.py"), str(tiny)],
    }
    if (HERE.parent / "k3triage" / "cli" / "main.py").exists():
        table["k3triage small log"] = [sys.executable, "-m", "k3triage", "--exit-zero", str(tiny)]
    return table


def measure(command: list[str]) -> dict[str, float]:
    """Wall time, processor time (s) and peak memory (MB) of one run."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    # grep stops at the first match where its output goes to /dev/null, so that is for `cat` alone.
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL if command[0] == "cat" else output,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=HERE.parent,
        ) as process,
    ):
        message = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    # grep and ripgrep exit with 1 where nothing matched.
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{command} failed: {message.decode(errors='replace')[-500:]}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def compare(commands: dict[str, tuple[list[str], float]], rounds: int, base: str) -> dict[str, dict[str, float]]:
    """Medians per contender; `ratio` and `cpu_ratio` are against `base` in the same round."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for command, _ in commands.values():
        measure(command)
    for _ in range(rounds):
        for name, (command, factor) in commands.items():
            run = measure(command)
            runs[name].append({"wall": run["wall"] * factor, "cpu": run["cpu"] * factor, "peak_mb": run["peak_mb"]})
    result = {}
    for name, own in runs.items():
        row = {key: statistics.median(run[key] for run in own) for key in ("wall", "cpu", "peak_mb")}
        if base in runs:
            pairs = list(zip(own, runs[base], strict=True))
            row["ratio"] = statistics.median(a["wall"] / b["wall"] for a, b in pairs)
            row["cpu_ratio"] = statistics.median(a["cpu"] / b["cpu"] for a, b in pairs)
        result[name] = row
    return result


def make(kind: str, size: int, path: Path) -> None:
    """Write a log. In a process of its own: what this one holds would count as its children's peak memory."""
    subprocess.run([sys.executable, str(HERE / "make_logs.py"), kind, str(size), str(path)], check=True)


def machine() -> dict[str, Any]:
    """Facts without which the figures mean nothing."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    version = ""
    if rg := shutil.which("rg"):
        version = subprocess.run([rg, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "ripgrep": version,
    }


def table_head(*names: str) -> list[str]:
    return ["| " + " | ".join(names) + " |", "| " + " | ".join("---" for _ in names) + " |"]


def markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    facts = report["machine"]
    out = [
        "# Benchmark of the scan",
        "",
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, Python {facts['python']}, {facts['ripgrep']}, "
        f"load {facts['load_before']:.1f} before the runs. Files are in the page cache; {report['rounds']} rounds.",
        "Medians. Ratios are against ripgrep with the same literals in the same round; `cpu` adds up all threads.",
    ]
    for kind, rows in report["logs"].items():
        out += ["", f"## {kind}, {rows['bytes'] / (1 << 20):.0f} MiB", ""]
        out += table_head("contender", "wall s", "GB/s", "ratio", "cpu s", "cpu ratio", "peak MB")
        for name, row in rows["contenders"].items():
            speed = rows["bytes"] / row["wall"] / 1e9
            ratio, cpu_ratio = row.get("ratio", float("nan")), row.get("cpu_ratio", float("nan"))
            out.append(
                f"| {name} | {row['wall']:.2f} | {speed:.2f} | {ratio:.2f} | {row['cpu']:.2f} | {cpu_ratio:.2f} "
                f"| {row['peak_mb']:.0f} |"
            )
    out += ["", "## Start-up", "", *table_head("command", "wall ms", "cpu ms", "times `python -c pass`", "peak MB")]
    for name, row in report["start"].items():
        wall, cpu = row["wall"] * 1000, row["cpu"] * 1000
        out.append(f"| {name} | {wall:.0f} | {cpu:.0f} | {row['ratio']:.1f} | {row['peak_mb']:.0f} |")
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=parse_size, default=1 << 30)
    parser.add_argument("--kinds", nargs="+", default=["healthy", "flooded"], help="see make_logs.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the logs are made; default: a temporary folder")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of results.json and results.md")
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(), "rounds": options.rounds, "logs": {}}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind in options.kinds:
            path, small = Path(folder) / f"{kind}.log", Path(folder) / "small.log"
            make(kind, options.size, path)
            make(kind, min(LOOP_BYTES, options.size), small)
            rows = compare(contenders(path, small), options.rounds, RIPGREP)
            report["logs"][kind] = {"bytes": path.stat().st_size, "contenders": rows}
            path.unlink()
        tiny = Path(folder) / "tiny.log"
        make("healthy", 100_000, tiny)
        table = {name: (command, 1.0) for name, command in starts(tiny).items()}
        report["start"] = compare(table, max(options.rounds, 7), "python -c pass")
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.output / "results.md").write_text(markdown(report))
    print(markdown(report), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

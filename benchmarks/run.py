"""All benchmarks with one command: `python benchmarks/run.py`; add `--readme` to write the table into README.md.

Whole processes from start to exit, files in the page cache. Each round runs every contender once, in turn, so that a
busy machine slows all of them; times are medians over the rounds, ratios are medians of the rounds' own ratios. Writes
results.json and results.md, and the plots as SVG. `--scale 0.05` makes everything small. Peers: cat and wc as the
limit, ripgrep and GNU grep with fixed literals (yardstick_literals.txt), a Python loop with one regular expression;
Drain3 for events (extra `bench`, see events.py), one Ray worker for two (extra `ray`, see ray_data.py).
"""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_logs import FLOODS
from measure import HERE, Row, compare, k3triage, machine, measure
from plot import loglog
from tables import markdown

LITERALS = HERE / "yardstick_literals.txt"
# The line loop reads only a log of this size of the same kind; its time is scaled up.
LOOP_BYTES = 32 << 20
RIPGREP = "ripgrep -c -F, 1 thread"
CAT = "cat > /dev/null"
OURS = "k3triage FILE"
GIB = 1 << 30
SUITES = ("healthy", "docker", "dense", "packed", "floods", "engines", "memory", "start", "sizes", "events")
SUITES += ("follow", "ray")


def make(kind: str, size: int, path: Path) -> Path:
    """Write a log. In a process of its own: what this one holds would count as its children's peak memory."""
    subprocess.run([sys.executable, str(HERE / "make_logs.py"), kind, str(size), str(path)], check=True)
    return path


def ripgrep(path: Path) -> list[str]:
    return ["rg", "-a", "-c", "-F", "-j1", "-f", str(LITERALS), str(path)]


def peers(path: Path, small: Path) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Commands by name, and by what the times of some are multiplied."""
    commands = {RIPGREP: ripgrep(path)} if shutil.which("rg") else {}
    commands[CAT] = ["cat", str(path)]
    commands["wc -l"] = ["wc", "-l", str(path)]
    commands["GNU grep -c -F"] = ["env", "LC_ALL=C", "grep", "-a", "-c", "-F", "-f", str(LITERALS), str(path)]
    loop = "Python re, line by line"
    commands[loop] = [sys.executable, str(HERE / "line_loop.py"), str(small)]
    return commands, {loop: path.stat().st_size / small.stat().st_size}


class Bench:
    """The suites; each adds its figures to `report`."""

    def __init__(self, folder: Path, rounds: int, scale: float) -> None:
        self.folder = folder
        self.rounds = rounds
        self.scale = scale
        self.report: dict[str, Any] = {"machine": machine(), "rounds": rounds, "scale": scale, "logs": {}}

    def _log(self, kind: str, size: int) -> Path:
        return make(kind, max(int(size * self.scale), 1 << 20), self.folder / f"{kind}.log")

    def _compare(self, kind: str, size: int) -> None:
        path = self._log(kind, size)
        small = make(kind, min(LOOP_BYTES, path.stat().st_size), self.folder / "small.log")
        commands, factors = peers(path, small)
        commands[OURS] = k3triage(str(path))
        commands["k3triage --jobs 1 FILE"] = k3triage("--jobs", "1", str(path))
        rows = compare(commands, self.rounds, RIPGREP, factors)
        against_cat = rows[OURS]["wall"] / rows[CAT]["wall"]
        self.report["logs"][kind] = {"bytes": path.stat().st_size, "contenders": rows, "times_cat": against_cat}
        path.unlink()

    def healthy(self) -> None:
        """A server that crashes in its last lines."""
        self._compare("healthy", 4 * GIB)

    def docker(self) -> None:
        """The same as json-file lines."""
        self._compare("docker", 2 * GIB)

    def dense(self) -> None:
        """Failing requests: five of six lines are candidates."""
        self._compare("dense", GIB)

    def packed(self) -> None:
        """Compressed logs, beside the programs that only unpack them."""
        path = self._log("healthy", GIB)
        rows = {}
        for program, ending in (("gzip", "gz"), ("zstd", "zst")):
            if shutil.which(program) is None:
                print(f"packed: {program} is not installed, left out", file=sys.stderr)
                continue
            packed = path.with_suffix(f".log.{ending}")
            with packed.open("wb") as file:
                subprocess.run([program, "-c", str(path)], stdout=file, check=True)
            alone, ours = f"{program} -dc", f"k3triage FILE.{ending}"
            rows |= compare({alone: [program, "-dc", str(packed)], ours: k3triage(str(packed))}, self.rounds, alone, {})
            packed.unlink()
        self.report["packed"] = {"bytes": path.stat().st_size, "contenders": rows}
        path.unlink()

    def floods(self) -> None:
        """The verdict of each flooded log, and how long it takes."""
        rows = {}
        for kind in FLOODS:
            path = self._log(kind, 64 << 20)
            done = subprocess.run(
                k3triage("--format", "json", "--exit-zero", str(path)), capture_output=True, check=True
            )
            verdict = json.loads(done.stdout)["verdict"] or {"cause": "none", "first_anomaly": {"line": 0}}
            run = measure(k3triage(str(path)))
            rows[kind] = {**run, "cause": verdict["cause"], "line": verdict["first_anomaly"]["line"]}
            path.unlink()
        self.report["floods"] = rows

    def engines(self) -> None:
        """Both engines."""
        path = self._log("healthy", GIB)
        commands = {RIPGREP: ripgrep(path)}
        for name in ("hyperscan", "re"):
            commands[f"--engine {name}"] = k3triage("--engine", name, str(path))
        self.report["engines"] = compare(commands, self.rounds, RIPGREP, {})
        path.unlink()

    def memory(self) -> None:
        """Peak memory by size, and with one line of 1 GiB."""
        rows: dict[str, Row] = {}
        for parts in (1, 4, 16):
            path = self._log("healthy", parts * GIB)
            runs = [measure(k3triage(str(path))) for _ in range(3)]
            rows[f"{parts} GiB"] = max(runs, key=lambda run: run["peak_mb"])
            path.unlink()
        whole = self.folder / "whole.log"
        with whole.open("wb") as file:
            file.write(b"INFO start\n")
            block = b"x" * (1 << 20)
            for _ in range(max(1, int(1024 * self.scale))):
                file.write(block)
            file.write(b"\nRuntimeError: CUDA error: device-side assert triggered\n")
        rows["one line of 1 GiB"] = measure(k3triage(str(whole)))
        whole.unlink()
        self.report["memory"] = rows

    def start(self) -> None:
        """Commands whose time is all start-up."""
        tiny = make("healthy", 2 << 10, self.folder / "tiny.log")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "k3triage --help": k3triage("--help"),
            "k3triage, log of 2 KB": k3triage(str(tiny)),
            "k3triage --format json, log of 2 KB": k3triage("--format", "json", str(tiny)),
        }
        # Short runs scatter more.
        rounds = self.report["start_rounds"] = max(self.rounds, 31)
        self.report["start"] = compare(commands, rounds, "python -c pass", {})

    def sizes(self) -> None:
        """Wall time over size, for the plots."""
        series: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for kind in ("healthy", "docker", "dense"):
            own: dict[str, list[tuple[float, float]]] = {}
            for mib in (1, 4, 16, 64, 256, 1024):
                path = self._log(kind, mib << 20)
                commands = {"cat": ["cat", str(path)], "ripgrep": ripgrep(path), "k3triage": k3triage(str(path))}
                for name, command in commands.items():
                    measure(command)
                    best = min(measure(command)["wall"] for _ in range(3))
                    own.setdefault(name, []).append((mib * self.scale, best))
                path.unlink()
            series[kind] = own
        self.report["sizes"] = series

    def events(self) -> None:
        """Typed events of every line, beside Drain3."""
        if importlib.util.find_spec("drain3") is None:
            print("events: drain3 is not installed (extra `bench`), left out", file=sys.stderr)
            return
        size = str(max(int((64 << 20) * self.scale), 1 << 20))
        command = [sys.executable, str(HERE / "events.py"), "--size", size, "--kinds", "healthy", "docker"]
        done = subprocess.run([*command, "--rounds", str(self.rounds)], capture_output=True, text=True, check=True)
        rows = (line.split(" ", 1) for line in done.stdout.splitlines())
        self.report["events"] = {kind: json.loads(figures) for kind, figures in rows}

    def follow(self) -> None:
        """From the line of a failure to its verdict, on live inputs."""
        self.report["follow"] = self._script("follow.py", "--rounds", str(self.rounds))

    def ray(self) -> None:
        """Two workers of a local Ray cluster beside one."""
        if importlib.util.find_spec("ray") is None:
            print("ray: ray is not installed (extra `ray`), left out", file=sys.stderr)
            return
        size = max(int(16 * GIB * self.scale), 64 << 20)
        slices = str(max(size // 16, 4 << 20))
        options = ("--size", str(size), "--slice", slices, "--rounds", str(self.rounds), "--folder", str(self.folder))
        self.report["ray"] = self._script("ray_data.py", *options)

    def _script(self, name: str, *options: str) -> Any:
        command = [sys.executable, str(HERE / name), *options]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def write_plots(report: dict[str, Any], folder: Path) -> None:
    """One SVG for each kind of log that was measured over size."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, series in report.get("sizes", {}).items():
        svg = loglog(f"Time over size, {kind} log", "size of the log", "seconds, start to exit", series)
        (folder / f"benchmark-{kind}.svg").write_text(svg, encoding="utf-8")


def write_readme(text: str, path: Path) -> None:
    """Put the figures between the markers of the README."""
    begin, end = "<!-- benchmark:begin -->", "<!-- benchmark:end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path} lacks {begin} and {end}")
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SUITES, default=list(SUITES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes")
    parser.add_argument("--folder", type=Path, help="where the logs are made, 17 GiB at a time; default: temporary")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of results.json and results.md")
    parser.add_argument("--plots", type=Path, default=HERE.parent / "docs" / "assets", help="folder of the plots")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md and the plots into docs")
    parser.add_argument("--again", action="store_true", help="keep figures of other suites from an earlier run")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    stored = options.output / "results.json"
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bench = Bench(Path(folder), options.rounds, options.scale)
        if options.again and stored.exists():
            earlier = json.loads(stored.read_text())
            bench.report = {**earlier, **{key: bench.report[key] for key in ("machine", "rounds", "scale")}}
        for suite in options.only:
            print(suite, file=sys.stderr, flush=True)
            getattr(bench, suite)()
            stored.write_text(json.dumps(bench.report, indent=1) + "\n")
    text = markdown(bench.report)
    (options.output / "results.md").write_text(text, encoding="utf-8")
    print(text, end="")
    if options.readme:
        write_plots(bench.report, options.plots)
        write_readme(text, HERE.parent / "README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

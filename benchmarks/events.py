"""Events a second against Drain3's log lines a second: `python benchmarks/events.py --size 64MiB`.

Both read the same generated log in one run, in processes of their own on one core, in turn. `k3triage events` writes
its JSON to a file; Drain3 reads the lines and mines their templates, and writes nothing: once as its README sets it up
(with the masks for addresses, numbers and hexadecimal words of its example configuration) and once without any masks,
where it only compares words. Processor time, start-up included; ratios are medians of the rounds' own ratios.
Needs the extra `bench`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_logs import parse_size, write

HERE = Path(__file__).resolve().parent
DRAIN = """
import sys
from drain3 import TemplateMiner
from drain3.masking import MaskingInstruction
from drain3.template_miner_config import TemplateMinerConfig
config = TemplateMinerConfig()
edge, end = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
masks = {
    "ID": r"(([0-9a-f]{2,}:){3,}([0-9a-f]{2,}))",
    "IP": r"(\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3})",
    "SEQ": r"([0-9a-f]{6,} ?){3,}",
    "HEX": r"(0x[a-f0-9A-F]+)",
    "NUM": r"([\\-\\+]?\\d+)",
}
if sys.argv[2] == "masked":
    config.masking_instructions = [MaskingInstruction(edge + mask + end, name) for name, mask in masks.items()]
miner = TemplateMiner(None, config)
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for line in log:
        miner.add_log_message(line.rstrip("\\n"))
print(len(miner.drain.clusters), file=sys.stderr)
"""


def measure(command: list[str]) -> float:
    """Processor time in seconds, on one core."""

    def pin() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    with tempfile.TemporaryFile() as output:
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=environment, preexec_fn=pin)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[:3]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=parse_size, default=64 << 20)
    parser.add_argument("--kinds", nargs="+", default=["healthy", "flooded", "docker", "cri"], help="see make_logs.py")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "drain.py")
        script.write_text(DRAIN, encoding="utf-8")
        for kind in options.kinds:
            log = Path(folder, f"{kind}.log")
            write(kind, options.size, log)
            lines = log.read_bytes().count(b"\n")
            commands = {
                "k3triage events": [sys.executable, "-m", "k3triage", "events", str(log)],
                "Drain3, masks of its README": [sys.executable, str(script), str(log), "masked"],
                "Drain3, no masks": [sys.executable, str(script), str(log), "bare"],
            }
            rounds = [{name: measure(command) for name, command in commands.items()} for _ in range(options.rounds)]
            own = "k3triage events"
            result[kind] = {
                "lines": lines,
                "lines_per_second": {
                    name: round(lines / statistics.median(row[name] for row in rounds)) for name in commands
                },
                "ratio": {
                    name: round(statistics.median(row[name] / row[own] for row in rounds), 2)
                    for name in commands
                    if name != own
                },
            }
            log.unlink()
            print(kind, json.dumps(result[kind]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Two workers of a local Ray cluster against one, on the same logs: `python benchmarks/ray_data.py --size 8GiB`.

Prints the ratio of the wall times (median of the rounds' own ratios) and whether both reports equal that of one
process. Each run has a cluster of its own, whose start is not counted, nor is a first call that only makes the workers
load what they need. Needs the extra `ray`.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from make_logs import parse_size, write

os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["PYTHONPATH"] = sys.path[0]


def same(one: Any, other: Any) -> bool:
    """Whether two reports are equal but for `skipped`, which is an estimate on large inputs."""
    rows = [report.model_dump(mode="json") for report in (one, other)]
    for row in rows:
        for item in row["inputs"]:
            del item["skipped"]
    return bool(rows[0] == rows[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=parse_size, default=8 << 30, help="of all logs together")
    parser.add_argument("--kind", default="healthy", help="see make_logs.py")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--slice", type=parse_size, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the logs are made; default: a temporary folder")
    options = parser.parse_args()

    import ray

    import k3triage
    from k3triage.integrations import ray_data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        paths = [Path(folder, f"node{number}.log") for number in range(options.files)]
        for number, path in enumerate(paths):
            write(options.kind, options.size // options.files, path, seed=number)

        warm = Path(folder, "warm", "node.log")
        warm.parent.mkdir()
        write(options.kind, 64 << 20, warm)

        def run(workers: int) -> tuple[float, Any]:
            ray.init(num_cpus=workers, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
            ray_data.triage([warm], slice_bytes=2 << 20)
            start = time.perf_counter()
            (report,) = ray_data.triage(paths, slice_bytes=options.slice).values()
            seconds = time.perf_counter() - start
            ray.shutdown()
            return seconds, report

        start = time.perf_counter()
        alone = k3triage.triage(*paths, jobs=1)
        process = time.perf_counter() - start
        rounds = []
        equal = True
        for _ in range(options.rounds):
            one, first = run(1)
            two, second = run(2)
            equal = equal and same(first, alone) and same(second, alone)
            rounds.append({"one_s": one, "two_s": two, "ratio": one / two})
    result = {
        "bytes": options.size,
        "kind": options.kind,
        "one_process_s": process,
        "rounds": rounds,
        "ratio": statistics.median(row["ratio"] for row in rounds),
        "same_report": equal,
        "load": os.getloadavg()[0],
    }
    print(json.dumps(result, indent=1))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

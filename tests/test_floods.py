"""What stands before a flood decides, however much follows; and the work a flood costs is bounded."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import k3triage

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from make_logs import FLOODS, blocks, write  # noqa: E402
from plot import loglog  # noqa: E402
from run import write_plots, write_readme  # noqa: E402
from tables import markdown  # noqa: E402


def crash_alone(kind: str) -> bytes:
    """Start-up, a minute of serving and the crash of a log of that kind."""
    parts = blocks(kind, 1 << 20)
    return next(parts) + next(parts)


@pytest.mark.parametrize("kind", [kind for kind in FLOODS if kind != "loop"])
def test_the_verdict_is_that_without_the_flood(kind: str, tmp_path: Path) -> None:
    alone = k3triage.triage([crash_alone(kind)])
    path = tmp_path / f"{kind}.log"
    write(kind, 24 << 20, path)
    flooded = k3triage.triage(path)
    assert alone.verdict is not None and flooded.verdict is not None
    assert flooded.verdict.cause == alone.verdict.cause == "inference_oom.cuda_out_of_memory"
    assert flooded.verdict.first_anomaly.line == alone.verdict.first_anomaly.line
    assert flooded.verdict.first_anomaly.text == alone.verdict.first_anomaly.text
    assert flooded.inputs[0].lines == sum(block.count(b"\n") for block in blocks(kind, 24 << 20))


def test_a_crash_loop_gives_its_last_crash(tmp_path: Path) -> None:
    path = tmp_path / "loop.log"
    write("loop", 24 << 20, path)
    report = k3triage.triage(path)
    assert report.verdict is not None
    assert report.verdict.cause == "inference_oom.cuda_out_of_memory"
    assert report.verdict.first_anomaly.line == report.inputs[0].lines
    assert len(report.attempts) > 100


def test_a_log_is_the_same_each_time_and_of_about_the_size() -> None:
    one, two = (b"".join(blocks("dense", 3 << 20)) for _ in range(2))
    assert one == two
    assert 3 << 20 <= len(one) < 6 << 20
    assert b"".join(blocks("dense", 3 << 20, seed=8)) != one


def test_plots_are_svg_with_a_line_a_series(tmp_path: Path) -> None:
    series = {"cat": [(1, 0.01), (4, 0.02)], "k3triage <x>": [(1, 0.1), (4, 0.2), (1024, 3.0)]}
    root = ElementTree.fromstring(loglog("Time & size", "size", "s", series))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Time & size" in texts and "k3triage <x>" in texts and "1 GiB" in texts
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 5
    write_plots({"sizes": {"healthy": series}}, tmp_path)
    assert (tmp_path / "benchmark-healthy.svg").is_file()


def test_the_readme_gets_the_table_between_its_marks(tmp_path: Path) -> None:
    row = {"wall": 1.0, "cpu": 1.5, "peak_mb": 50.0, "ratio": 0.5, "cpu_ratio": 0.6}
    report = {
        "machine": {"cpu": "c", "cores": 2, "system": "s", "python": "3.11", "load": 0.1},
        "rounds": 3,
        "logs": {"healthy": {"bytes": 4 << 30, "times_cat": 2.4, "contenders": {"k3triage FILE": row}}},
        "start": {"python -c pass": row},
    }
    text = markdown(report)
    assert "| k3triage FILE | 1.00 | 4.29 | 0.50 | 1.50 | 0.60 | 50 |" in text
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- benchmark:begin -->\nold\n<!-- benchmark:end -->\nafter\n")
    write_readme(text, readme)
    found = readme.read_text()
    assert found.startswith("before\n") and found.endswith("after\n") and "old" not in found and text.strip() in found
    readme.write_text("no marks\n")
    with pytest.raises(SystemExit):
        write_readme(text, readme)

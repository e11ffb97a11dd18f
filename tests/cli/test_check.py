"""`k3triage check`: what it prints and with which code it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks.samples import log, smi

ROOT = Path(__file__).resolve().parents[2]


def k3(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "k3triage", "check", *words], input=stdin, capture_output=True, text=True, cwd=ROOT, timeout=120
    )  # fmt: skip


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "smi.csv"
    path.write_text("\n".join(smi("580.65.06", "NVIDIA B300 SXM6 AC", 8)) + "\n")
    return path


def test_nothing_violated(good: Path) -> None:
    done = k3(str(good))
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Kimi K3 on vLLM: 0 violated, ")
    assert f"found: driver 580.65.06 ({good}:2)" in done.stdout.replace("\n" + " " * 14, " ")
    assert "$ docker run --rm --entrypoint vllm <image> --version" in done.stdout


def test_violated(tmp_path: Path) -> None:
    path = tmp_path / "smi.csv"
    path.write_text("\n".join(smi("570.1.1", "NVIDIA B200", 8)) + "\n")
    done = k3(str(path), "--format", "json")
    report = json.loads(done.stdout)
    states = {item["id"]: item["state"] for item in report["checks"]}
    assert done.returncode == 1 and states["driver.branch"] == states["gpu.memory"] == "violated"
    assert report["schema_version"] == "1" and report["profile"] == "kimi-k3"
    assert k3(str(path), "--exit-zero").returncode == 0


def test_standard_input_and_output_file(good: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    done = k3("-", "-o", str(target), stdin="\n".join(log("0.26.0", "moonshotai/Kimi-K3")))
    assert done.returncode == 1 and done.stdout == "" and "vllm.version" in target.read_text()


def test_wrong_use(good: Path) -> None:
    done = k3(str(good), "--profile", "nonsense")
    assert done.returncode == 2 and "generic, kimi-k3" in done.stderr and "Traceback" not in done.stderr


def test_unreadable_input(good: Path, tmp_path: Path) -> None:
    done = k3(str(good), str(tmp_path / "gone.txt"))
    assert done.returncode == 3 and "gone.txt" in done.stderr and "driver.branch" in done.stdout

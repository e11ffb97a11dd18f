"""The command line of collect: what it refuses, what it writes, how it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from k3triage.cli.main import main
from tests.collect.helpers import Bundle


def collect(*words: str, path: Path, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[bytes]":
    """Run with no commands of the system but those in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "k3triage", "collect", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
        cwd=path,
        env={**os.environ, "PATH": str(path), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--container", "--privileged"],
        ["--container", "-x"],
        ["--container", "a b"],
        ["--container=-rm"],
        ["--pod", "a/b/c"],
        ["--pod=-n"],
        ["--pid", "0"],
        ["--pid", "x"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["auto", "--pid", "1"],
        ["everything"],
        ["-o", "/no/such/folder/b.tar.gz"],
    ],
)
def test_wrong_usage_ends_with_two_and_writes_nothing(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["collect", *words]) == 2
    assert capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_bare_host_gives_a_bundle_with_a_name_of_its_own(tmp_path: Path) -> None:
    done = collect(path=tmp_path)
    assert done.returncode == 0 and done.stdout == b""
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("k3triage-") and path.name.endswith("Z.tar.gz")
    assert path.stat().st_mode & 0o777 == 0o600
    bundle = Bundle(path.read_bytes())
    assert bundle.entry("kernel modules")["reason"] == "lsmod is not installed"
    assert "host/os-release.txt" in bundle.members
    told = done.stderr.decode()
    assert "no log of a server is in the bundle" in told and "docker is not installed" in told and path.name in told


def test_the_bundle_can_go_into_a_pipe(tmp_path: Path) -> None:
    done = collect("-o", "-", path=tmp_path)
    assert done.returncode == 0 and list(tmp_path.iterdir()) == []
    assert Bundle(done.stdout).manifest["format"] == "k3triage-bundle"


def test_a_command_that_hangs_is_recorded_and_holds_nobody_up(tmp_path: Path) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text(f"#!{sys.executable}\nimport time\nprint('first words', flush=True)\ntime.sleep(60)\n")
    script.chmod(0o755)
    done = collect("--timeout", "1", "-o", "b.tar.gz", path=tmp_path)
    bundle = Bundle((tmp_path / "b.tar.gz").read_bytes())
    entry = bundle.entry("GPUs and driver, on the host")
    assert done.returncode == 0 and entry["reason"] == "stopped after 1 s" and entry["seconds"] < 20
    assert bundle.text("host/nvidia-smi.txt") == "first words\n"


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    script = bin_folder / "nvidia-smi"
    script.write_text(
        f"#!{sys.executable}\nimport pathlib, time\npathlib.Path({str(ready)!r}).touch()\ntime.sleep(600)\n"
    )
    script.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "k3triage", "collect", "--timeout", "300", "-o", str(tmp_path / "b.tar.gz")],
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": str(bin_folder)},
        cwd=Path(__file__).resolve().parents[2],
    )
    for _ in range(400):
        if ready.exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (130, b"k3triage: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "ready"]


def test_help_names_the_options() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "k3triage", "collect", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    for word in ("--container", "--pod", "--pid", "--no-redact", "--timeout", "-o"):
        assert word in done.stdout

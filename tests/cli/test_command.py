"""The command as a process: what it prints where, and with which exit code it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo" / "kv-cache-too-small.log"
CAUSE = "startup_oom.kv_cache_too_small"
HEALTHY = (
    "INFO 12-02 11:00:00 [api_server.py:1839] vLLM API server version 0.11.2\n"
    "INFO:     Application startup complete.\n"
    'INFO:     10.0.0.9:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)


def k3(*words: str, stdin: str | bytes | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "k3triage", *words],
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **variables},
    )
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback (most recent call last)" not in result.stderr
    return result


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    return k3(str(DEMO))


def test_text_report_of_the_demo(demo: subprocess.CompletedProcess[str]) -> None:
    assert demo.returncode == 1
    assert demo.stdout.startswith("STARTUP_OOM: ")
    assert f"{DEMO}:70" in demo.stdout or "kv-cache-too-small.log:70" in demo.stdout
    assert CAUSE in demo.stdout and "--max-model-len" in demo.stdout
    assert "\x1b" not in demo.stdout and demo.stderr == ""
    assert len(demo.stdout.splitlines()) <= 35


def test_json_report_is_one_object_with_the_right_line() -> None:
    done = k3("--format", "json", str(DEMO))
    report = json.loads(done.stdout)
    assert done.returncode == 1 and done.stdout.count("\n") == 1
    assert report["schema_version"] == "1" and report["status"] == "diagnosed"
    first = report["verdict"]["first_anomaly"]
    assert (report["verdict"]["cause"], first["line"]) == (CAUSE, 70)
    data = DEMO.read_bytes()
    assert data[: first["byte_offset"]].count(b"\n") == 69
    assert report["inputs"][0]["bytes"] == len(data)


def test_exit_zero_changes_the_code_alone(demo: subprocess.CompletedProcess[str]) -> None:
    done = k3("--exit-zero", str(DEMO))
    assert (done.returncode, done.stdout) == (0, demo.stdout)


def test_stdin_is_read_when_it_is_piped() -> None:
    bare, dash = k3("--format", "json", stdin=DEMO.read_bytes()), k3("--format", "json", "-", stdin=DEMO.read_bytes())
    assert bare.returncode == dash.returncode == 1
    assert bare.stdout == dash.stdout
    assert json.loads(bare.stdout)["verdict"]["first_anomaly"]["line"] == 70


def test_healthy_log_ends_with_zero() -> None:
    done = k3(stdin=HEALTHY)
    assert done.returncode == 0 and done.stdout.startswith("Nothing wrong found")


@pytest.mark.parametrize("form", ["ndjson", "markdown", "html", "sarif", "github"])
def test_every_format_names_the_line(form: str) -> None:
    done = k3("--format", form, str(DEMO))
    assert done.returncode == 1 and "kv-cache-too-small.log" in done.stdout and "70" in done.stdout


def test_an_input_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    done = k3("--format", "json", str(tmp_path / "gone.log"), str(DEMO))
    report = json.loads(done.stdout)
    assert done.returncode == 3 and "gone.log" in done.stderr
    assert report["verdict"]["cause"] == CAUSE
    assert [bool(item.get("error")) for item in report["inputs"]] == [True, False]


def test_nothing_readable_is_not_called_healthy(tmp_path: Path) -> None:
    done = k3(str(tmp_path / "gone.log"))
    assert done.returncode == 3 and "Nothing wrong found" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--format", "yaml", "x"),
        ("--jobs", "0", "x"),
        ("--nonsense",),
        ("--profile", "no-such-profile", str(DEMO)),
        ("rules",),
        ("rules", "list", "--layer", "nonsense"),
        ("explain", "nonsense"),
        ("explain", "xid"),
        ("explain", "errno", "987654"),
    ],
)
def test_wrong_usage_ends_with_two(words: tuple[str, ...]) -> None:
    done = k3(*words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    done = k3("--format", "markdown", "-o", str(target), str(DEMO))
    assert (done.returncode, done.stdout) == (1, "")
    assert target.read_text(encoding="utf-8").startswith("## ")
    assert k3("-o", str(tmp_path / "no" / "where"), str(DEMO)).returncode == 2


def test_colour_follows_the_option_and_no_color(demo: subprocess.CompletedProcess[str]) -> None:
    assert k3("--color", "always", str(DEMO)).stdout.startswith("\x1b[")
    assert k3("--color", "auto", str(DEMO), NO_COLOR="1").stdout == demo.stdout


def test_stats_go_to_stderr(demo: subprocess.CompletedProcess[str]) -> None:
    done = k3("--stats", str(DEMO))
    assert done.stdout == demo.stdout and "GB/s" in done.stderr and f"{DEMO.stat().st_size:,} bytes" in done.stderr


def test_japanese() -> None:
    done = k3("--lang", "ja", str(DEMO))
    assert "対処" in done.stdout and "--max-model-len" in done.stdout


def test_engines_agree() -> None:
    slow, fast = (k3("--format", "json", "--engine", engine, str(DEMO)) for engine in ("re", "hyperscan"))
    assert slow.returncode == 1 and slow.stdout == fast.stdout


def test_redaction_takes_a_token_out(tmp_path: Path) -> None:
    secret = "hf_" + "aB3dE6gH9jK2" * 3
    log = tmp_path / "a.log"
    log.write_text(
        DEMO.read_text(encoding="utf-8").replace("ValueError: To serve", f"ValueError: token={secret} To serve")
    )
    assert secret in k3("--format", "json", str(log)).stdout
    assert secret not in k3("--format", "json", "--redact", str(log)).stdout


def test_terminal_escapes_in_a_log_stay_out(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        DEMO.read_text(encoding="utf-8").replace("(196608)", "(196608\x1b]0;owned\x07\x9b2J)"), encoding="utf-8"
    )
    for form in ("text", "json", "markdown", "github"):
        done = k3("--format", form, str(log))
        assert not {"\x1b", "\x07", "\x9b"} & set(done.stdout)


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m k3triage events '{DEMO}' | head -n 1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.stderr == "" and done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize(("target", "code"), [("/dev/full", 2), ("&-", 1)])
def test_an_output_that_cannot_be_written_gives_a_message(target: str, code: int) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m k3triage '{DEMO}' >{target}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.returncode == code and "Traceback" not in done.stderr and "internal" not in done.stderr


def test_file_names_need_not_be_utf8(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/bad\xffname.log"
    Path(os.fsdecode(name)).write_bytes(DEMO.read_bytes())
    for form in ("text", "json", "html", "sarif", "markdown", "github", "ndjson"):
        done = k3("--format", form, os.fsdecode(name))
        assert done.returncode == 1 and "name.log" in done.stdout


def test_interrupt_prints_what_is_known() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "k3triage", "--format", "json", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(DEMO.read_bytes())
    process.stdin.flush()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.stdout.read(), process.stderr.read()
    assert process.wait(60) == 130
    assert json.loads(out)["verdict"]["cause"] == CAUSE
    assert b"Traceback" not in err


def test_no_arguments_on_a_terminal_show_a_short_usage() -> None:
    import pty

    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "k3triage"], stdin=slave, capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    os.close(master)
    os.close(slave)
    assert done.returncode == 2 and done.stdout == ""
    assert "usage: k3triage" in done.stderr and len(done.stderr.splitlines()) <= 3


def test_internal_errors_show_no_traceback_unless_asked() -> None:
    code = (
        "import k3triage.api, sys; from k3triage.cli.main import main\n"
        "def broken(*a, **k): raise ZeroDivisionError('boom')\n"
        "k3triage.api.triage = broken\n"
        "sys.exit(main(['x.log']))"
    )
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert quiet.returncode == 70 and "ZeroDivisionError: boom" in quiet.stderr and "Traceback" not in quiet.stderr
    loud = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "K3TRIAGE_DEBUG": "1"},
    )
    assert "Traceback" in loud.stderr


def test_events_are_json_lines() -> None:
    done = k3("events", str(DEMO))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(rows) > 20
    assert all(isinstance(row, dict) for row in rows)


def test_version() -> None:
    import k3triage

    assert k3("--version").stdout == f"k3triage {k3triage.__version__}\n"

"""Colour, progress, and standard input that the user ends with Ctrl-C."""

import io
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from k3triage.api import triage
from k3triage.cli import terminal
from k3triage.cli.interrupt import interruptible
from k3triage.model import halt


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "tty", "variables", "wanted"),
    [
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
    ],
)
def test_colour(
    choice: str, tty: bool, variables: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal.wants_color(choice, Terminal() if tty else io.StringIO()) is wanted


def test_progress_shows_only_after_a_while_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_PATIENCE", 0.1)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with terminal.Progress("reading"):
        pass
    assert screen.getvalue() == ""
    with terminal.Progress("reading"):
        time.sleep(0.4)
    assert "k3triage: reading" in screen.getvalue() and screen.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_PATIENCE", 0.05)
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    with terminal.Progress("reading"):
        time.sleep(0.2)
    assert pipe.getvalue() == ""


def test_an_interrupt_ends_standard_input_and_the_second_one_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    inward, outward = os.pipe()
    os.write(outward, b"first")
    with os.fdopen(inward, "rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        before = signal.getsignal(signal.SIGINT)
        with interruptible(["a.log", "-"]) as (inputs, interrupted):
            stdin = inputs[1]
            assert inputs[0] == "a.log" and not isinstance(stdin, str) and not interrupted()
            assert stdin.read(100) == b"first"
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            assert stdin.read(100) == b"" and interrupted() and stdin.read(100) == b""
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
    os.close(outward)


def test_an_interrupt_stops_the_reading_of_files_and_the_second_one_the_program(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"INFO all is well\n" * 200_000)
    before = signal.getsignal(signal.SIGINT)
    with interruptible([str(path), "b.log"]) as (inputs, interrupted):
        assert inputs == [str(path), "b.log"] and not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted() and halt.asked()
        report = triage(*inputs)
        assert [item.source for item in report.inputs] == [str(path)] and report.inputs[0].bytes < path.stat().st_size
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before and not halt.asked() and interrupted()
    assert triage(str(path)).inputs[0].bytes == path.stat().st_size

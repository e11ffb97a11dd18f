"""`--follow`, as a process: files that grow, rotate, and pipes that stay open."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue

import pytest

from tests.cli.test_command import CAUSE, DEMO, ROOT, k3


class Live:
    """The command, whose NDJSON verdicts can be waited for."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "k3triage", "--follow", "--format", "ndjson", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        self.verdicts: Queue[dict] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            row = json.loads(line)
            if row["type"] == "verdict":
                self.verdicts.put(row)

    def verdict(self) -> dict:
        return self.verdicts.get(timeout=60)

    def silent(self, seconds: float) -> bool:
        try:
            self.verdicts.get(timeout=seconds)
        except Empty:
            return True
        return False

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        assert self.process.stderr is not None and b"Traceback" not in self.process.stderr.read()
        return code


def test_a_pipe_gets_its_verdict_while_it_is_open_and_only_once() -> None:
    live = Live()
    live.send(b"INFO 12-02 11:57:41 [__init__.py:216] Automatically detected platform cuda.\n")
    assert live.silent(3)
    live.send(DEMO.read_bytes())
    assert live.verdict()["verdict"]["cause"] == CAUSE
    live.send(b"INFO 12-02 12:01:00 [loggers.py:1] nothing new\n")
    assert live.silent(3)
    assert live.process.stdin is not None
    live.process.stdin.close()
    assert live.process.wait(60) == 1 and live.silent(0.5)


def test_a_file_grows_and_is_rotated(tmp_path: Path) -> None:
    log, other = tmp_path / "node0.log", tmp_path / "node1.log"
    log.write_bytes(b"")
    other.write_bytes(b"INFO 12-02 11:57:41 [__init__.py:216] Automatically detected platform cuda.\n")
    live = Live(str(log), str(other))
    time.sleep(2)
    with log.open("ab") as file:
        file.write(DEMO.read_bytes())
    first = live.verdict()["verdict"]["first_anomaly"]
    assert (first["source"], first["line"]) == (str(log), 70)
    log.rename(tmp_path / "node0.log.1")
    log.write_bytes(b"\n\n" + DEMO.read_bytes())
    assert live.verdict()["verdict"]["first_anomaly"]["line"] == 72
    assert live.interrupt() == 130


def test_an_interrupt_before_anything_failed_says_so() -> None:
    live = Live()
    live.send(b"INFO 12-02 11:57:41 [__init__.py:216] Automatically detected platform cuda.\n")
    time.sleep(3)
    assert live.interrupt() == 130
    assert live.verdict()["status"] == "healthy"


@pytest.mark.parametrize(("words", "code"), [(("gone.log",), 3), (("-o", "x.txt", str(DEMO)), 2)])
def test_what_cannot_be_followed_is_refused(words: tuple[str, ...], code: int) -> None:
    done = k3("--follow", *words)
    assert (done.returncode, done.stdout) == (code, "") and done.stderr

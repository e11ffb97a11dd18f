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
        self.seen: list[float] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            row = json.loads(line)
            if row["type"] == "verdict":
                self.seen.append(time.monotonic())
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

    def interrupt(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
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


QUIET = b"INFO 12-02 11:57:41 [__init__.py:216] Automatically detected platform cuda.\n"
SERVED = b'(APIServer pid=1) INFO:     10.2.0.4:41234 - "POST /v1/completions HTTP/1.1" 200 OK\n'
ECHO = (
    b"(APIServer pid=1) ERROR 12-02 12:00:00 [async_llm.py:525] AsyncLLM output_handler failed.\n"
    b"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
)


def test_a_busy_pipe_has_its_verdict_within_a_second(tmp_path: Path) -> None:
    live = Live()
    live.send(QUIET)
    assert live.silent(2)  # started, and its patterns compiled
    stop = threading.Event()

    def chatter() -> None:
        while not stop.wait(0.02):
            live.send(SERVED * 20)

    thread = threading.Thread(target=chatter, daemon=True)
    thread.start()
    time.sleep(1)
    sent = time.monotonic()
    live.send(DEMO.read_bytes())
    assert live.verdict()["verdict"]["cause"] == CAUSE
    stop.set()
    thread.join()
    # Other work on the machine must not fail this test; `benchmarks/follow.py` measures.
    assert live.seen[0] - sent < 3
    assert live.interrupt() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_with_what_is_known(number: int) -> None:
    live = Live()
    live.send(DEMO.read_bytes())
    assert live.verdict()["verdict"]["cause"] == CAUSE
    live.send(QUIET)
    assert live.interrupt(number) == 128 + number
    assert live.silent(0.5)


def test_a_verdict_that_changes_says_which_one_it_replaces(tmp_path: Path) -> None:
    log = tmp_path / "node0.log"
    lines = DEMO.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:20]) + ECHO)
    live = Live(str(log))
    first = live.verdict()
    assert first["status"] == "inconclusive" and (first["revision"], first["replaces"]) == (1, None)
    with log.open("ab") as file:
        file.write(b"".join(lines[20:]))
    second = live.verdict()
    assert second["verdict"]["cause"] == CAUSE and second["revision"] == 2
    assert second["replaces"] == first["verdict"]["cause"]
    assert live.interrupt() == 130


@pytest.mark.parametrize("way", ["truncated", "copied and truncated", "deleted and made anew"])
def test_a_file_that_begins_again_is_read_from_its_beginning(tmp_path: Path, way: str) -> None:
    log = tmp_path / "node0.log"
    log.write_bytes(DEMO.read_bytes())
    live = Live(str(log))
    assert live.verdict()["verdict"]["first_anomaly"]["line"] == 70
    # Longer than before, so that its size alone does not tell.
    fresh = QUIET * (3 if way == "truncated" else 4_000) + DEMO.read_bytes()
    if way == "deleted and made anew":
        log.unlink()
        time.sleep(0.5)
    log.write_bytes(fresh)
    assert live.verdict()["verdict"]["first_anomaly"]["line"] == 70 + fresh.count(QUIET) - DEMO.read_bytes().count(
        QUIET
    )
    assert live.interrupt() == 130


def test_echoes_in_a_rotated_file_do_not_take_the_verdict_away(tmp_path: Path) -> None:
    log = tmp_path / "node0.log"
    log.write_bytes(DEMO.read_bytes())
    live = Live(str(log))
    assert live.verdict()["verdict"]["cause"] == CAUSE
    log.rename(tmp_path / "node0.log.1")
    log.write_bytes(ECHO * 30)
    time.sleep(3)
    live.interrupt()
    while not live.verdicts.empty():
        assert live.verdict()["verdict"]["cause"] == CAUSE


def test_text_marks_a_revised_verdict(tmp_path: Path) -> None:
    log = tmp_path / "node0.log"
    log.write_bytes(ECHO)
    with subprocess.Popen(
        [sys.executable, "-m", "k3triage", "--follow", str(log)], stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert b"===" not in process.stdout.readline()
        with log.open("ab") as file:
            file.write(DEMO.read_bytes())
        for line in process.stdout:
            if line.startswith(b"=== revised verdict 2, in place of "):
                break
        else:
            pytest.fail("no mark")
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 143


def test_a_reader_that_goes_away_ends_it(tmp_path: Path) -> None:
    live = subprocess.Popen(
        [sys.executable, "-m", "k3triage", "--follow"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert live.stdin is not None and live.stdout is not None and live.stderr is not None
    live.stdout.close()
    live.stdin.write(DEMO.read_bytes())
    live.stdin.flush()
    assert live.wait(60) == 1
    assert live.stderr.read() == b""

"""Commands and files of the real machine: time-outs, sizes, what is missing."""

import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.collect.machine import BothEnds, LocalMachine

MACHINE = LocalMachine()


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(2, 200))
def test_both_ends_are_kept_and_the_cut_is_counted(chunks: list[bytes], limit: int) -> None:
    kept = BothEnds(limit)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    data, cut = kept.result()
    if not cut:
        assert data == whole
    else:
        head, note, tail = data.partition(b"[k3triage collect: %d bytes left out here]\n" % cut)
        assert note and len(head) + len(tail) <= limit
        assert whole.startswith(head) and whole.endswith(tail)
        assert len(head) + len(tail) + cut == len(whole)


def test_a_long_log_is_cut_between_lines() -> None:
    kept = BothEnds(1000)
    lines = [b"line %05d\n" % number for number in range(1000)]
    for line in lines:
        kept.add(line)
    data, cut = kept.result()
    rows = data.splitlines(keepends=True)
    assert rows[0] == lines[0] and rows[-1] == lines[-1] and cut > 8000
    assert all(row in lines or row.startswith(b"[k3triage") for row in rows)


def test_output_errors_and_exit_code_come_apart_or_merged() -> None:
    command = ("sh", "-c", "echo out; echo err >&2; exit 3")
    apart = MACHINE.run(command, timeout=20, limit=100)
    assert (apart.data, apart.errors, apart.code, apart.problem) == (b"out\n", b"err\n", 3, None)
    assert MACHINE.run(command, timeout=20, limit=100, merge=True).data == b"out\nerr\n"


def test_a_missing_command_and_one_that_cannot_run_are_told(tmp_path: Path) -> None:
    missing = MACHINE.run(("no-such-command-here",), timeout=1, limit=10)
    assert (missing.code, missing.problem) == (None, "no-such-command-here is not installed")
    script = tmp_path / "tool"
    script.write_text("")
    assert "does not start" in str(MACHINE.run((str(script),), timeout=1, limit=10).problem)


def test_a_hanging_command_is_ended_with_its_children_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    start = time.monotonic()
    output = MACHINE.run(
        ("sh", "-c", f"echo early; sh -c 'echo $$ > {mark}; exec sleep 600' & trap '' TERM; sleep 600"),
        timeout=0.7,
        limit=100,
    )
    assert time.monotonic() - start < 10
    assert (output.data, output.code) == (b"early\n", None)
    assert output.problem == "stopped after 0.7 s"
    child = int(mark.read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def test_commands_have_no_input_and_speak_english() -> None:
    assert MACHINE.run(("cat",), timeout=20, limit=10).data == b""
    code = "import os; print(os.environ['LC_ALL'])"
    assert MACHINE.run((sys.executable, "-c", code), timeout=20, limit=10).data == b"C\n"


def test_files_are_read_to_their_limit_and_pipes_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n" * 5000)
    output = MACHINE.read(str(path), 100)
    assert output.problem is None and output.cut > 9000 and len(output.data) < 200
    os.mkfifo(tmp_path / "pipe")
    assert MACHINE.read(str(tmp_path / "pipe"), 10).problem == "there is no such file"
    assert MACHINE.read(str(tmp_path / "none"), 10).problem == "there is no such file"
    assert MACHINE.read("/proc/self/status", 4096).data.startswith(b"Name:")
    assert MACHINE.names(str(tmp_path)) == ["log", "pipe"] and MACHINE.names("/none") == []
    assert MACHINE.link(str(path)) is None

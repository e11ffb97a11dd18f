import subprocess
import sys
import timeit

import pytest

from k3triage.grammar import parse_header
from k3triage.model.records import Process
from tests.grammar.helpers import header, record

DAY = 86400
DEC_1 = 335 * DAY


@pytest.mark.parametrize(
    ("text", "level", "location", "message"),
    [
        ("ERROR 12-01 00:00:07 worker.py:145] boom", "ERROR", "worker.py:145", "boom"),
        ("INFO 12-01 00:00:07 [core.py:93] ready", "INFO", "core.py:93", "ready"),
        ("DEBUG 12-01 00:00:07 [v1/.../utils.py:7] wait", "DEBUG", "v1/.../utils.py:7", "wait"),
        ("CRITICAL 12-01 00:00:07 [a.py:1]   File", "CRITICAL", "a.py:1", "  File"),
        ("WARNING 12-01 00:00:07 [a.py:1] ", "WARNING", "a.py:1", ""),
        ("INFO 12-01 00:00:07 [a.py:1]", "INFO", "a.py:1", ""),
        ("[stage-2] ERROR 12-01 00:00:07 [a.py:1] x", "ERROR", "a.py:1", "x"),
    ],
)
def test_vllm(text: str, level: str, location: str, message: str) -> None:
    found = header(text)
    assert (found.kind, found.level, found.location, found.message) == ("vllm", level, location, message)
    assert found.clock == DEC_1 + 7


@pytest.mark.parametrize(
    ("text", "level", "location", "message"),
    [
        ("gpu7:41:52 [3] NCCL INFO init.cc:12 -> 2", "INFO", None, "init.cc:12 -> 2"),
        ("gpu7:41:52 [3] misc/socket.cc:9 NCCL WARN no", "WARNING", "misc/socket.cc:9", "no"),
        ("[2026-12-01 00:00:07] gpu7:41:52 [3] misc/x.cc:9 (initOnce) NCCL WARN no", "WARNING", "misc/x.cc:9", "no"),
        ("2026-12-01 00:00:07 gpu7:41:52 [3] misc/x.cc:9 NCCL WARN no", "WARNING", "misc/x.cc:9", "no"),
        (
            "gpu7:41:52 [3] int Plugin::init(int, char):77 NCCL WARN NET/X no",
            "WARNING",
            "int Plugin::init(int, char):77",
            "NET/X no",
        ),
        ("gpu7:41:52 NCCL CALL ncclSend(1)", "DEBUG", None, "ncclSend(1)"),
        ("gpu7:41:52 [3] 17.250000 regMr:5 NCCL TRACE NET/X yes", "DEBUG", "regMr:5", "NET/X yes"),
    ],
)
def test_nccl(text: str, level: str, location: str | None, message: str) -> None:
    found = header(text)
    assert (found.kind, found.level, found.location, found.message) == ("nccl", level, location, message)
    assert (found.fields["host"], found.fields["pid"], found.fields["tid"]) == ("gpu7", "41", "52")
    assert found.fields.get("dev") == (None if "CALL" in text else "3")
    assert found.process == Process(pid=41, node="gpu7")
    assert found.clock == (DEC_1 + 7 if "2026" in text else None)


def test_nccl_function() -> None:
    assert header("h:1:2 [0] a/b.cc:9 (getIt) NCCL WARN x").fields["function"] == "getIt"


@pytest.mark.parametrize(
    ("text", "kind", "level", "clock", "location", "message"),
    [
        (
            "[E1201 00:00:07.250000000 socket.cpp:10] [c10d] no",
            "c10d",
            "ERROR",
            DEC_1 + 7.25,
            "socket.cpp:10",
            "[c10d] no",
        ),
        ("[W321 00:00:00.5 a.cpp:1] w", "c10d", "WARNING", 80 * DAY + 0.5, "a.cpp:1", "w"),
        ("[E ProcessGroupNCCL.cpp:5] [Rank 3] late", "c10d", "ERROR", None, "ProcessGroupNCCL.cpp:5", "[Rank 3] late"),
        ("E1201 00:00:07.5   123 memcache.go:2] refused", "klog", "ERROR", DEC_1 + 7.5, "memcache.go:2", "refused"),
        ("INFO:     Started", "uvicorn", "INFO", None, None, "Started"),
        ("ERROR: plain", "python", "ERROR", None, None, "plain"),
        ("WARNING:root:careful", "python", "WARNING", None, None, "careful"),
        ("2026-12-01 00:00:07,500 - app.x - INFO - hi", "python", "INFO", DEC_1 + 7.5, None, "hi"),
        ("2026-12-01 00:00:07,500\tINFO worker.py:9 -- hi", "python", "INFO", DEC_1 + 7.5, "worker.py:9", "hi"),
        ("2026-12-01 00:00:07.500 | ERROR    | m.n:f:3 - hi", "python", "ERROR", DEC_1 + 7.5, "m.n:f:3", "hi"),
        ("[2026-12-01 00:00:07] hi", "python", None, DEC_1 + 7, None, "hi"),
        ("[2026-12-01 00:00:07,000] WARNING: hi", "python", "WARNING", DEC_1 + 7, None, "hi"),
        (
            "[2026-12-01 00:00:07,000] LMCache ERROR: hi (c.py:4:lm.c)",
            "python",
            "ERROR",
            DEC_1 + 7,
            "c.py:4",
            "hi (c.py:4:lm.c)",
        ),
        ("[2026-12-01 00:00:07,000 E 5 6] (raylet) node.cc:3: hi", "ray", "ERROR", DEC_1 + 7, "node.cc:3", "hi"),
        ("[   17.250000] NVRM: x", "kernel", None, None, None, "NVRM: x"),
        ("[Tue Dec  1 00:00:07 2026] x", "kernel", None, DEC_1 + 7, None, "x"),
        ("[二 12月 1 00:00:07 2026] x", "kernel", None, DEC_1 + 7, None, "x"),
        ("kernel: [  1.000000] x", "kernel", None, None, None, "x"),
        ("kernel: x", "kernel", None, None, None, "x"),
        ("[12/01/2026-00:00:07] [TRT-LLM] [E] x", "trtllm", "ERROR", DEC_1 + 7, None, "x"),
        ("[TensorRT-LLM][WARNING] x", "python", "WARNING", None, None, "x"),
        ("[ERROR] x", "python", "ERROR", None, None, "x"),
        ("[WARNING other] x", "", None, None, None, "[WARNING other] x"),
        ("2026-12-01 00:00:07 | ERR | app.main | hi", "python", "ERROR", DEC_1 + 7, "app.main", "hi"),
        ("[1796083207.500000] [node:5:0]  ucp.c:9  UCX  WARN  x", "ucx", "WARNING", DEC_1 + 7.5, "ucp.c:9", " x"),
        ("E agent.cpp:592  x", "nixl", "ERROR", None, "agent.cpp:592", "x"),
        ("WARN[0003] orphans", "docker", "WARNING", None, None, "orphans"),
        (
            "docker: Error response from daemon: no",
            "docker",
            None,
            None,
            None,
            "docker: Error response from daemon: no",
        ),
        ("srun: error: node-a: task 3: Killed", "slurm", "ERROR", None, None, "srun: error: node-a: task 3: Killed"),
        ("Traceback (most recent call last):", "", None, None, None, "Traceback (most recent call last):"),
    ],
)
def test_others(
    text: str, kind: str, level: str | None, clock: float | None, location: str | None, message: str
) -> None:
    found = header(text)
    assert (found.kind, found.level, found.location, found.message) == (kind, level, location, message)
    assert found.clock == (None if clock is None else pytest.approx(clock, abs=1e-3))


def test_logfmt_is_unescaped() -> None:
    found = header(r'time="2026-12-01T00:00:07.5Z" level=error msg="a \"b\"\nc: \\d" id=4')
    assert (found.message, found.level, found.clock) == ('a "b"\nc: \\d', "ERROR", DEC_1 + 7.5)
    assert found.fields["attributes"] == "id=4"


def test_ranks() -> None:
    assert header("[E ProcessGroupNCCL.cpp:5] [Rank 3] late").process.rank == 3
    assert header("[2026-12-01 00:00:07 DP0 TP2] x").process == Process("DP0 TP2", None, 2, None)
    prefixed = record("[E P.cpp:5] [Rank 3] late", process=Process("Worker", 9, 1))
    assert parse_header(prefixed).process == Process("Worker", 9, 1)


def test_level_of_the_record_fills_in() -> None:
    plain = record("something")
    plain.level = "ERROR"
    assert parse_header(plain).level == "ERROR"


def test_impossible_dates_have_no_clock() -> None:
    assert header("INFO 13-41 00:00:07 [a.py:1] x").clock is None
    assert header("E0000 00:00:07.5   123 a.cc:2] x").clock is None


def test_speed() -> None:
    line = record(
        "INFO 12-01 03:14:56 [loggers.py:260] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 0 reqs"
    )
    parse_header(line)
    best = min(timeit.repeat(lambda: parse_header(line), number=2000, repeat=5)) / 2000
    assert best < 20e-6  # about 2 microseconds on an idle machine


def test_import_is_light() -> None:
    code = "import sys, k3triage.grammar; sys.exit('lark' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

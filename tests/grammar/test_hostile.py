"""Logs are untrusted: nothing in them may raise, blow up memory or take more than linear time."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage.grammar import Tracebacks, event, to_line, traceback_event
from k3triage.model.records import Line
from tests.grammar.helpers import record

PIECES = [
    "Traceback (most recent call last):",
    '  File "/srv/a.py", line 3, in f',
    '  File "/srv/a.py", line 3',
    "    x = 1",
    "ValueError: x",
    "ray.exceptions.RayTaskError(ValueError): ray::f()",
    "KeyboardInterrupt",
    "",
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "  + Exception Group Traceback (most recent call last):",
    "  | ExceptionGroup: x (2 sub-exceptions)",
    "  +-+---------------- 1 ----------------",
    "    | TypeError: x",
    "╭──── Traceback (most recent call last) ─────╮",
    "│ /srv/a.py:3 in f │",
    "╰────────────────────────────────────────────╯",
    '"""',
    "Original Traceback (most recent call last):",
    "some words",
    "ERROR 12-01 00:00:07 [core.py:1] Traceback (most recent call last):",
    'ERROR 12-01 00:00:07 [core.py:1]   File "/srv/a.py", line 3, in f',
    "ERROR 12-01 00:00:07 [core.py:1] OSError: y",
    "INFO 12-01 00:00:07 [core.py:2] z",
]


def through(lines: list[Line]) -> None:
    assembler = Tracebacks()
    found = []
    for line in lines:
        found += assembler.feed(line)
    for block in found + assembler.close():
        assert block.chain and block.lines
        assert block.start <= block.end
        assert block.chain[0].line.record.line >= block.start
        traceback_event(block)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_order_of_traceback_lines(texts: list[str]) -> None:
    through([to_line(record(text, line=number)) for number, text in enumerate(texts, 1)])


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=200), st.builds("".join, st.lists(st.sampled_from(PIECES), max_size=3))))
def test_any_text(text: str) -> None:
    line = to_line(record(text))
    assert len(line.header.own) == len(line.header.message)
    event(line)
    through([line])


@pytest.mark.parametrize(
    "start",
    [
        "",
        "[",
        "[E1201 03:15:11.6 ",
        "ERROR 12-01 03:14:08 [",
        "gpu:1:2 [0] x NCCL WARN ",
        "gpu:1:2 [0] ",
        "2026-12-01 03:14:08,1 - ",
        "2026-12-01 03:14:08 | INFO | ",
        "[1718600000.123] [h:1:2] ",
        'time="x" level=error msg="',
        "[ 1.0000] NVRM: Xid (PCI:0): 79, ",
        'INFO:     1.1.1.1:1 - "GET ',
        "ValueError(",
        "docker: Error response from daemon: ",
        "oom-kill:constraint=CONSTRAINT_X,nodemask=",
        "CUDA out of memory. Tried to allocate 1.00 GiB.",
        "│",
    ],
)
@pytest.mark.parametrize(
    "filler", ["a", "1", ":1", "] ", "\\", ", x", 'GET "GET ', "input_value=[", "Killed process 1 (", "NCCL ", "─"]
)
def test_long_lines_take_linear_time(start: str, filler: str) -> None:
    line = record(start + filler * (50_000 // len(filler)))
    event(to_line(record(start + filler)))
    began = time.perf_counter()
    parsed = to_line(line)
    event(parsed)
    through([parsed, parsed])
    assert time.perf_counter() - began < 2  # quadratic ones take minutes


def test_endless_messages_are_bounded() -> None:
    assembler = Tracebacks()
    assembler.feed(to_line(record("ValueError: x")))
    more = to_line(record("more"))
    for _ in range(20_000):
        assert assembler.feed(more) == []
    (block,) = assembler.close()
    assert len(block.lines) <= 600

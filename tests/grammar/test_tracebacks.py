import pytest

from k3triage.grammar import Tracebacks, to_line
from k3triage.model.records import Process, TracebackBlock
from tests.grammar.helpers import blocks, record

A, B = Process("Worker_TP0", 10), Process("Worker_TP1", 11)
START = "Traceback (most recent call last):"
FRAME = '  File "/srv/app.py", line 12, in load'
SOURCE = "    read(path)"
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def chain(block: TracebackBlock) -> list[tuple[str, str, str]]:
    return [(raised.link, raised.type, raised.message) for raised in block.chain]


def logged(*texts: str, location: str = "core.py:340", level: str = "ERROR") -> list[str]:
    return [f"{level} 12-01 00:00:07 [{location}] {text}" for text in texts]


def test_plain() -> None:
    (block,) = blocks(
        "INFO 12-01 00:00:07 [a.py:1] hi", START, FRAME, SOURCE, "    ^^^^", "KeyError: 'x'", "", "INFO:     bye"
    )
    assert chain(block) == [("", "KeyError", "'x'")]
    assert block.chain[0].frames == [("/srv/app.py", 12, "load")]
    assert (block.start, block.end, block.chain[0].line.record.line) == (2, 6, 6)


def test_header_on_every_line() -> None:
    (block,) = blocks(
        *logged("EngineCore failed to start.", START, FRAME, SOURCE, "zmq.error.ZMQError: taken", "more text")
    )
    assert chain(block) == [("", "zmq.error.ZMQError", "taken\nmore text")]
    assert block.start == 2


def test_interleaved_processes_come_apart() -> None:
    found = blocks(
        (A, START), (B, START), (A, FRAME), (B, FRAME), (B, FRAME), (A, SOURCE), (B, "OSError: b"), (A, "OSError: a")
    )
    assert [(chain(block)[0][2], len(block.chain[0].frames)) for block in found] == [("a", 1), ("b", 2)]


def test_loggers_of_unnamed_processes_come_apart_by_location() -> None:
    one = logged(START, FRAME, "ValueError: one", location="a.py:1")
    two = logged(START, FRAME, "ValueError: two", location="b.py:2")
    found = blocks(*[line for pair in zip(one, two, strict=True) for line in pair])
    assert [chain(block)[0][2] for block in found] == ["one", "two"]


@pytest.mark.parametrize(("sentence", "link"), [(CAUSE, "cause"), (CONTEXT, "context")])
def test_chains(sentence: str, link: str) -> None:
    (block,) = blocks(START, FRAME, "KeyError: 1", "", sentence, "", START, FRAME, FRAME, "RuntimeError: outer")
    assert chain(block) == [("", "KeyError", "1"), (link, "RuntimeError", "outer")]
    assert [len(raised.frames) for raised in block.chain] == [1, 2]


def test_group_members_come_before_the_group() -> None:
    (block,) = blocks(
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "/srv/app.py", line 12, in run',
        "  | ExceptionGroup: tasks (2 sub-exceptions)",
        "  +-+---------------- 1 ----------------",
        "    | Traceback (most recent call last):",
        '    |   File "/srv/app.py", line 3, in one',
        "    | ValueError: first",
        "    +---------------- 2 ----------------",
        "    | TypeError: second",
        "    +------------------------------------",
    )
    assert chain(block) == [
        ("group", "ValueError", "first"),
        ("group", "TypeError", "second"),
        ("cause", "ExceptionGroup", "tasks (2 sub-exceptions)"),
    ]
    assert block.chain[0].frames == [("/srv/app.py", 3, "one")]


def test_message_of_several_lines() -> None:
    (block,) = blocks(
        START,
        FRAME,
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, internal error",
        "ncclInternalError: Internal check failed.",
        "Last error:",
        "NET/IB : no device",
        "gpu-a:1:2 [0] NCCL INFO comm destroyed",
        "later words",
    )
    assert [raised.record.line for raised in block.chain[0].more] == [4, 5, 6]
    assert block.chain[0].message.endswith("Last error:\nNET/IB : no device")


def test_paragraphs_of_a_message_are_kept() -> None:
    (block,) = blocks(
        START, FRAME, "hub.errors.GatedError: 403", "", "Access to the model is restricted.", "", "Killed"
    )
    assert block.chain[0].message == "403\n\nAccess to the model is restricted."


def test_indented_message_of_pydantic() -> None:
    (block,) = blocks(
        START,
        FRAME,
        "pydantic.ValidationError: 1 validation error for C",
        "  Value error, no such model [x]",
        "    For more see y",
    )
    assert block.chain[0].more[0].record.line == 4


def test_ray_inner_traceback_is_deeper() -> None:
    (block,) = blocks(
        START,
        FRAME,
        "ray.exceptions.RayTaskError(ValueError): ray::Worker.run() (pid=5)",
        '  File "/srv/worker.py", line 7, in run',
        "    check()",
        "ValueError: bad",
    )
    assert chain(block) == [
        ("", "ValueError", "bad"),
        ("cause", "ray.exceptions.RayTaskError(ValueError)", "ray::Worker.run() (pid=5)"),
    ]
    assert block.chain[0].frames == [("/srv/worker.py", 7, "run")]


def test_remote_traceback_in_quotes_is_deeper() -> None:
    (block,) = blocks(
        "multiprocessing.pool.RemoteTraceback: ",
        '"""',
        START,
        FRAME,
        "OSError: full",
        '"""',
        "",
        CAUSE,
        "",
        START,
        FRAME,
        "OSError: full",
    )
    assert block.chain[0].type == "OSError"
    assert block.chain[-1].link == "cause"


def test_repeated_frames_notes_and_recursion() -> None:
    (block,) = blocks(
        START, FRAME, SOURCE, "  [Previous line repeated 993 more times]", "RecursionError: too deep", "a note"
    )
    assert chain(block) == [("", "RecursionError", "too deep\na note")]


def test_exceptions_without_message() -> None:
    assert [
        chain(block)[0][1]
        for block in blocks(START, FRAME, "KeyboardInterrupt", "INFO:     x", START, FRAME, "AssertionError")
    ] == [
        "KeyboardInterrupt",
        "AssertionError",
    ]


def test_syntax_error() -> None:
    (block,) = blocks(
        START, FRAME, '  File "/srv/broken.py", line 3', "    def f(", "         ^", "SyntaxError: '(' was never closed"
    )
    assert block.chain[0].type == "SyntaxError"
    assert block.chain[0].frames[-1] == ("/srv/broken.py", 3, "")


def test_beginning_cut_away() -> None:
    (block,) = blocks("    self.run()", FRAME, SOURCE, "ImportError: libx.so: no")
    assert chain(block) == [("", "ImportError", "libx.so: no")]


def test_end_cut_away() -> None:
    (block,) = blocks(START, FRAME, SOURCE)
    assert chain(block) == [("", "", "")]
    assert block.chain[0].frames == [("/srv/app.py", 12, "load")]


def test_rich_box() -> None:
    (block,) = blocks(
        "╭──── Traceback (most recent call last) ─────╮",
        "│ /srv/very/long/pat                         │",
        "│ h/app.py:12 in load                        │",
        "│                                            │",
        "│ ❱ 12 │   raise X                           │",
        "│                                            │",
        "╰────────────────────────────────────────────╯",
        "RuntimeError: the disk ",
        "is full",
    )
    assert chain(block) == [("", "RuntimeError", "the disk is full")]
    assert block.chain[0].frames[0] == ("/srv/very/long/path/app.py", 12, "load")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ValueError: too small", ("ValueError", "too small")),
        ("torch.OutOfMemoryError: CUDA out of memory.", ("torch.OutOfMemoryError", "CUDA out of memory.")),
        ("  torch.distributed.DistBackendError: NCCL", ("torch.distributed.DistBackendError", "NCCL")),
        ("ERROR 12-01 00:00:07 [core.py:340] OSError: x", ("OSError", "x")),
        ("ERROR 12-01 00:00:07 engine.py:160] OSError('it\\'s \"full\"')", ("OSError", 'it\'s "full"')),
        ("ERROR 12-01 00:00:07 engine.py:160] AssertionError()", ("AssertionError", "")),
    ],
)
def test_lone_exceptions(text: str, expected: tuple[str, str]) -> None:
    (block,) = blocks(*text.splitlines())
    assert chain(block) == [("", *expected)]
    assert block.chain[0].frames == []


@pytest.mark.parametrize(
    "text",
    [
        "INFO 12-01 00:00:07 [logger.py:40] ValueError: in a prompt",
        "WARNING 12-01 00:00:07 [a.py:1] OSError: tolerated",
        "  ValueError: indented",
        "FutureWarning: soon",
        "note: this",
        "https://example.org/Error: x",
        "[E1201 00:00:07.1 a.cpp:1] RuntimeError: x",
        "OSError('x') was seen",
    ],
)
def test_no_exceptions(text: str) -> None:
    assert blocks(text) == []


def test_repr_and_its_traceback_are_two_blocks() -> None:
    found = blocks(*logged("ValueError('no')", START, FRAME, "ValueError: no", location="engine.py:160"))
    assert [(block.start, chain(block)[0][2]) for block in found] == [(1, "no"), (2, "no")]


def test_header_on_the_first_line_only() -> None:
    (block,) = blocks("ERROR:    " + START, FRAME, SOURCE, "OSError: x")
    assert chain(block) == [("", "OSError", "x")]
    assert block.start == 1


def test_a_gap_ends_blocks() -> None:
    assembler = Tracebacks()
    for text in (START, FRAME, "ValueError: x"):
        assert assembler.feed(to_line(record(text))) == []
    (block,) = assembler.feed(to_line(record("unrelated", gap=True)))
    assert block.chain[0].message == "x"


def test_memory_is_bounded() -> None:
    assembler = Tracebacks()
    assembler.feed(to_line(record(START)))
    for number in range(5000):
        assembler.feed(to_line(record(f'  File "/srv/app.py", line {number}, in f')))
    assembler.feed(to_line(record("ValueError: x")))
    for number in range(5000):
        assembler.feed(to_line(record(f"word {number}")))
    (block,) = assembler.close()
    (raised,) = block.chain
    assert len(raised.frames) <= 200
    assert (raised.frames[0][1], raised.frames[-1][1]) == (0, 4999)
    assert len(block.lines) <= 600
    assert len(raised.more) <= 300
    assert raised.more[-1].record.text == "word 4999"


def test_open_blocks_are_bounded() -> None:
    assembler = Tracebacks()
    given = []
    for pid in range(1000):
        for text in (START, FRAME):
            given += assembler.feed(to_line(record(text, process=Process("W", pid))))
    assert len(given) >= 700
    assert len(given + assembler.close()) == 1000


def test_members_of_nested_groups_stand_before_their_own_group() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/run.py", line 9, in main
  |     raise outer
  | ExceptionGroup: outer (3 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: first
    +---------------- 2 ----------------
    | ExceptionGroup: inner (2 sub-exceptions)
    +-+---------------- 1 ----------------
      | KeyError: 'k'
      +---------------- 2 ----------------
      | RuntimeError: deep
      +------------------------------------
    +---------------- 3 ----------------
    | TypeError: last
    +------------------------------------
"""
    (block,) = blocks(*text.splitlines())
    assert [raised.message for raised in block.chain] == [
        "first",
        "'k'",
        "deep",
        "inner (2 sub-exceptions)",
        "last",
        "outer (3 sub-exceptions)",
    ]

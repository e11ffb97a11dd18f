"""A stream gives one answer, however it is cut into pieces."""

import io
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import k3triage
from k3triage.ingest.whole import LINE_LIMIT
from k3triage.pipeline import _lines

LOG = (
    b"INFO 12-02 11:00:00 [api_server.py:1839] vLLM API server version 0.11.2\r\n"
    b"(EngineCore_DP0 pid=7) INFO 12-02 11:00:09 [gpu_model_runner.py:10] Starting to load model m\xc3\xa9...\n"
    b"Loading safetensors:  50%|#####     | 1/2 [00:01<00:01]\rLoading safetensors: 100%|##########| 2/2 [00:02]\n"
    b"(EngineCore_DP0 pid=7) ERROR 12-02 11:00:20 [core.py:700] EngineCore failed to start.\n\n"
    b"(EngineCore_DP0 pid=7) ERROR 12-02 11:00:20 [core.py:700] Traceback (most recent call last):\n"
    b'(EngineCore_DP0 pid=7) ERROR 12-02 11:00:20 [core.py:700]   File "/a/core.py", line 7, in run\n'
    b"(EngineCore_DP0 pid=7) ERROR 12-02 11:00:20 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to "
    b"allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.\n"
    b"RuntimeError: Engine core initialization failed. See root cause above."
)

CLOSED = (
    "(Worker_TP1 pid=9) ERROR 12-02 11:00:31 [multiproc_executor.py:700] RuntimeError: NCCL error: remote process exited or "
    "there was a network error\nhost:9:12 [1] NCCL WARN socketProgress: Connection closed by remote peer node-a<4000>\n"
)


def _fed(pieces: list[bytes]) -> str:
    live = k3triage.Triage()
    for piece in pieces:
        live.feed(piece)
    return live.report().model_dump_json()


WHOLE = _fed([LOG])


def test_one_byte_at_a_time() -> None:
    assert _fed([LOG[at : at + 1] for at in range(len(LOG))]) == WHOLE
    verdict = k3triage.triage(io.BytesIO(LOG)).verdict
    assert verdict is not None and verdict.first_anomaly.line == 8
    assert (
        f'"line":{8},"byte_offset":{LOG.index(b"(EngineCore_DP0 pid=7) ERROR 12-02 11:00:20 [core.py:700] torch")}'
        in WHOLE
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, len(LOG)), max_size=12))
def test_any_cuts(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LOG)]
    assert _fed([LOG[start:stop] for start, stop in pairwise(edges)]) == WHOLE


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, len(LOG)), max_size=6))
def test_reports_in_between_change_nothing(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LOG)]
    live = k3triage.Triage()
    for start, stop in pairwise(edges):
        live.feed(LOG[start:stop])
        live.report()
    assert live.report().model_dump_json() == WHOLE


def test_a_line_that_grows_by_small_pieces_costs_linear_time() -> None:
    live = k3triage.Triage()
    piece = b"x" * 512
    start = time.process_time()
    for _ in range(48 << 11):  # 48 MiB without a newline
        live.feed(piece)
    assert time.process_time() - start < 5
    live.feed(b"\n" + LOG)
    verdict = live.report().verdict
    assert verdict is not None and verdict.first_anomaly.line == 9


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_of_blocks(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    blocks = [data[start:stop] for start, stop in pairwise(edges)]
    lines = list(_lines(blocks))
    wanted = data.split(b"\n")
    assert [line.data for line in lines] == (wanted if wanted[-1] else wanted[:-1])
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert all(data[line.offset :].startswith(line.data) for line in lines)


def test_an_endless_line_is_cut() -> None:
    start = time.process_time()
    lines = list(_lines([b"x" * (1 << 20)] * 24 + [b"y\nz\n"]))
    assert time.process_time() - start < 5
    assert [len(line.data) for line in lines] == [LINE_LIMIT, 1]
    assert lines[1].offset == (24 << 20) + 2


@settings(max_examples=20, deadline=None)
@given(st.permutations(["a.log", "b.log", "c.log"]))
def test_the_order_of_the_files_does_not_matter(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at = {"a.log": LOG, "b.log": CLOSED.encode(), "c.log": b"INFO 12-02 11:00:00 [api_server.py:1839] hello\n"}
        for name, data in at.items():
            Path(folder, name).write_bytes(data)
        report = k3triage.triage(*(Path(folder, name) for name in names))
    assert report.verdict is not None
    first = report.verdict.first_anomaly
    assert (Path(first.source).name, first.line) == ("a.log", 8)

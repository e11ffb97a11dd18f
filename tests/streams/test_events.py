"""`k3triage events` writes what the models would, whichever way a line takes to it."""

import io
import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import k3triage
from k3triage.api import event_lines
from k3triage.report.clean import escape_json
from k3triage.rows import dump_row
from tests.streams.wrapped import CRASH, DEMO, LOGS, NCCL, ROOT, SERVING

HEADERS = [
    "(APIServer pid=1) INFO 12-03 04:11:09 [loggers.py:248] ",
    "(EngineCore_DP0 pid=40) WARNING 12-03 04:11:10 [core.py:9] ",
    "(Worker_TP1 pid=611) ERROR 12-03 04:11:09 [worker.py:671] ",
    "INFO 12-03 04:11:09 [core.py:9] ",
    "DEBUG 12-03 04:11:09 [core.py:9] ",
    "INFO 12-03 04:11:09 core.py:9] ",
    "(APIServer pid=1) INFO:     ",
    "INFO:     ",
    "INFO:    ",
    "WARNING:  ",
    "gpu-b4:610:900 [0] NCCL INFO ",
    "(Worker_TP1 pid=611) gpu-b4:610:900 [1] NCCL WARN ",
    "gpu-b4:610:900 [1] misc/socket.cc:50 NCCL WARN ",
    "gpu-b4:610:900 NCCL INFO ",
    "(RayWorkerWrapper pid=9, ip=10.0.0.7) INFO 12-03 04:11:09 [core.py:9] ",
    "[rank3]: INFO 12-03 04:11:09 [core.py:9] ",
    "2026-12-03 04:11:09,123 - INFO - ",
    "[E1201 00:00:07.1 P.cpp:1] ",
    "node7 | INFO 12-03 04:11:09 [core.py:9] ",
    "",
    "  ",
]
MESSAGES = [
    "hello",
    "",
    " ",
    "  indented",
    "x" * 25_000,
    "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.5 tokens/s, Running: 3 reqs, "
    "Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 0.0%",
    "Avg prompt throughput: 12 of them",
    "Prefix cache hit rate: GPU: 1.00%, CPU: 0.00%",
    '10.0.0.7:41822 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error',
    '10.0.0.7:41822 - "GET /a"b HTTP/1.1" 200 OK',
    ' - "GET /a HTTP/1.1" 200 OK',
    'a b - "GET /a HTTP/1.1" 200 OK',
    '10.0.0.7:4 - "WebSocket /x" [accepted]',
    "Started server process [1]",
    "[x] y",
    "non-default args: {'model': 'm', 'seed': 123456789012345678901234567890, 'x': inf, 'l': [1, (2, 3)], 'n': nan}",
    "Initializing a V1 LLM engine (v0.13.0) with config: model='m', seed=0, dtype=torch.bfloat16",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB "
    "of which 1.31 GiB is free.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "Traceback (most recent call last):",
    '  File "/a/b.py", line 3, in f',
    "ValueError: no",
    "KeyError: 'x'",
    "(Worker_TP1 pid=611) INFO 12-03 04:11:09 [core.py:9] glued",
    "torn (WorkerINFO 12-03 04:11:09 [core.py:9] glued",
    "Loading:  10%|#         | 1/10 [00:01<00:09,  1.00it/s]",
    "Loading: 1/10 [00:01<00:09,  1.00it/s] INFO 12-03 04:11:09 [core.py:9] behind a bar",
    "12-03 04:11:09 [core.py:9] after a header",
    "[repeated 7x across cluster] y",
    "y [repeated 7x across cluster]",
    "\x1b[36mcolour\x1b[0m",
    "[36mlost[0m colour",
    "^[[36mcaret^[[0m",
    "an index [0m] and [m]",
    "back\\slash \"quote\" 'single' /slash",
    "tab\tand\x7fdel\x01",
    "\u4e2d\u6587 \u202e \u2028 \ufeff",
    "carriage\rreturn",
    "ends so\r",
    "comm 0x7f NCCL INFO again",
    "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "gpu-b4:610:900 [0] NCCL INFO nested",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
    "Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB, anon-rss:2kB",
    '{"level": "info", "msg": "x"}',
    "Engine core proc died | pipe",
]


class Pipe(io.RawIOBase):
    """Gives its pieces one by one."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = list(pieces)

    def read(self, size: int = -1) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def as_models(data: bytes) -> list[str]:
    return [escape_json(event.model_dump_json()) for event in k3triage.events(io.BytesIO(data))]


def as_rows(data: bytes) -> list[str]:
    return b"".join(event_lines(io.BytesIO(data))).decode().splitlines()


def check(data: bytes) -> None:
    """Equal in names, order and values; numbers may be spelt differently."""
    rows, models = as_rows(data), as_models(data)
    for row, model in itertools.zip_longest(rows, models):
        assert row is not None and model is not None
        if row != model:
            assert json.loads(row, object_pairs_hook=list) == json.loads(model, object_pairs_hook=list)


@pytest.mark.parametrize("name", LOGS)
def test_logs(name: str) -> None:
    check(LOGS[name])


@pytest.mark.parametrize("name", LOGS)
def test_small_pieces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from k3triage import rows

    whole = as_rows(LOGS[name])
    monkeypatch.setattr(rows, "_PIECE", 1_000)
    assert as_rows(LOGS[name]) == whole


@pytest.mark.parametrize(
    "path", sorted((ROOT / "fixtures").rglob("*.log")) + sorted((ROOT / "fixtures").rglob("*.txt"))
)
def test_fixtures(path: Path) -> None:
    check(path.read_bytes())


# Enough of the same before it that the lane is used, as it is in a log of any length.
@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(HEADERS), st.sampled_from(MESSAGES)), max_size=25), st.booleans())
@example([(header, message) for header in HEADERS[:3] for message in MESSAGES], True)
@example([(header, message) for header in HEADERS[3:] for message in MESSAGES], False)
def test_headers_and_messages_in_any_order(lines: list[tuple[str, str]], ends: bool) -> None:
    text = "\n".join(header + message for header, message in lines) + ("\n" if ends else "")
    check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([h for h in HEADERS if h.strip()]),
    st.lists(st.sampled_from(MESSAGES) | st.text(max_size=30), min_size=1, max_size=3),
    st.integers(0, 300),
)
def test_messages_put_together(header: str, parts: list[str], cut: int) -> None:
    message = "".join(parts)
    data = (header + message[cut % (len(message) + 1) :] + "\n" + header + message + "\n").encode("utf-8", "replace")
    check(data)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60_000), max_size=6), st.sampled_from(["crash in plain", "long in cri"]))
def test_any_cut_of_the_blocks(cuts: list[int], name: str) -> None:
    data = LOGS[name]

    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    assert b"".join(event_lines(Pipe(pieces))) == b"".join(event_lines(io.BytesIO(data)))


TIMES = [
    "2026-11-30T12:00:00.123456789Z",
    "2026-11-30T12:00:00.5Z",
    "2026-11-30T12:00:01Z",
    "2026-11-30T12:00:01.25+02:00",
    "2026-02-30T12:00:01.25Z",
    "2026-11-30 12:00:01.25Z",
    "1969-12-31T23:59:59.000000001Z",
    "yesterday",
]
SPELT = [
    lambda row: json.dumps(row),
    lambda row: json.dumps(row, separators=(",", ":"), ensure_ascii=False),
    lambda row: json.dumps(row).replace(">", "\\u003e").replace("T", "\\u0054").replace("|", "\\u007c"),
    lambda row: json.dumps(row).replace("/", "\\/"),
    lambda row: json.dumps({**row, "attrs": {"tag": "x"}}),
    lambda row: json.dumps({"log": row["log"], "time": row["time"]}),
    lambda row: json.dumps(row)[:-9],
]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(HEADERS),
            st.sampled_from(MESSAGES),
            st.sampled_from(TIMES),
            st.sampled_from(SPELT) | st.none(),
            st.sampled_from(["\n", "\n", "\n", "", "\r\n"]),
            st.sampled_from(["stdout", "stderr"]),
        ),
        max_size=20,
    )
)
def test_envelopes_of_container_runtimes(lines: list) -> None:
    out = []
    for header, message, time, spelt, end, stream in lines:
        if spelt is None:
            tag = "F" if end == "\n" else "P"
            out.append(f"{time} {stream} {tag} {header}{message}")
        else:
            out.append(spelt({"log": header + message + end, "stream": stream, "time": time}))
    check("\n".join(out).encode("utf-8", "replace"))


# What a server at work writes, and whatever may stand among it.
OFTEN = [
    *MESSAGES,
    '10.0.0.7:41822 - "GET /health HTTP/1.1" 200 OK',
    '[::1]:41822 - "GET /health HTTP/1.1" 200 OK',
    '10.0.0.7:41822 - "GET /a[x] b HTTP/1.1" 200 OK',
    '10.0.0.7:41822 - "GET /a HTTP/1.1" 200 OK - "GET /b HTTP/1.1" 200 OK',
    'a"b:41822 - "GET /health HTTP/1.1" 200 OK',
    'a\\b:41822 - "GET /health HTTP/1.1" 200 OK',
    "Received request cmpl-12-34 : params: SamplingParams(n=1, stop=[]), a: INFO 12-03 04:11:09 [core.py:9] x",
    "Received request chatcmpl-0a: params: SamplingParams(n=1, stop=['\"']), lora_request: None.",
    "Ring 00 : 0 -> 1 <- 2 & 3",
    "a -- b, 12-03 or 12-03 04:11:09",
    "2-3 of 4",
    "NCCL INFO Ring",
    "Traceback of a request",
    "[multiproc] [m [m] x",
    "CUDA error: none, out of memory",
]


def as_docker(text: str, time: str, stream: str, spelt: int) -> str:
    row = json.dumps({"log": text + "\n", "stream": stream, "time": time}, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&"[:spelt]:
        row = row.replace(character, f"\\u{ord(character):04x}")
    return row


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([header for header in HEADERS if header.strip()]),
            st.sampled_from(OFTEN),
            st.sampled_from(["stdout", "stderr"]),
            st.integers(0, 20),
            st.integers(1, 999_999_999),
        ),
        max_size=30,
    ),
    st.sampled_from(["plain", "docker", "docker short", "cri"]),
    st.integers(0, 3),
    st.booleans(),
)
def test_blocks_of_one_envelope(lines: list, envelope: str, spelt: int, ends: bool) -> None:
    out = []
    for header, message, stream, second, ns in lines * 2:
        fraction = f"{ns:09d}"
        if envelope == "docker short":
            fraction = fraction.rstrip("0")
        time = f"2026-12-03T04:11:{second:02d}.{fraction}Z"
        text = header + message.replace("\r", "")
        if envelope.startswith("docker"):
            out.append(as_docker(text, time, stream, spelt))
        else:
            out.append(f"{time} {stream} F {text}" if envelope == "cri" else text)
    check(("\n".join(out) + "\n" * ends).encode("utf-8", "replace"))


# Lines that together look like what a block of an envelope must be.
TORN = [
    '{"log":"INFO:     hello\\n","stream":"stderr","time":"2026-12-03T04:11:09.123456789Z"}',
    '{"log":"INFO:     hello\\n","stream":"stderr","time":"2026-12-03T04:11:09.123456789',
    '2026-12-03T04:11:09.123456789\\n","stream":"stderr","time":"2026-12-03T04:11:09.123456789Z"}',
    '{"log":"INFO:     a\\n","stream":"stderr","time":"2026-12-03T04:11:09.1\\n","stream":"stderr","time":"x',
    '{"log":"INFO:     a","b":"c\\n","stream":"stderr","time":"2026-12-03T04:11:09.123456789Z"}',
    '{"log":"INFO:     a"b\\n","stream":"stdout","time":"12026-12-03T04:11:09.12345678Z"}',
    '{"log":"INFO:     a\\n","stream":"stdout","time":"2026-12-03T04:11:09.12345678\u00b2Z"}',
    '{"log":"INFO:     a\\\\n","stream":"stdout","time":"2026-12-03T04:11:09.5Z"}',
    "2026-12-03T04:11:09.123456789Z stderr F INFO:     hello",
    "2026-12-03T04:11:09.123456789Z stderr F 2026-12-03T04:11:09.123456789Z stderr F INFO:     hello",
    "2026-12-03T04:11:09.123456789",
    "2026-12-03T04:11:09.12345678\u00b2Z stderr F INFO:     hello",
    "2026-12-03T04:11:09.Z stdout F INFO:     hello",
    "2026-12-03T04:11:09.123456789Z stderr F \x01INFO:     hello",
    "12345678901234567890123456789Z stderr F INFO:     hello",
    "1970-01-01T00:00:09.123456789Z stderr F INFO:     hello",
    "2026-12-03T04:11:09.123456789Z stderr P INFO:     hello",
    "INFO:     hello",
    "",
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(TORN), max_size=12), st.sampled_from(["", TORN[0], TORN[8]]), st.integers(0, 20))
def test_torn_envelopes(lines: list[str], usual: str, often: int) -> None:
    check("\n".join([usual] * often + lines + [usual] * often).encode())


DIGITS = st.from_regex(r"0{0,2}(0|[1-9][0-9]{0,9})", fullmatch=True)
TENTHS = st.from_regex(r"0?(0|[1-9][0-9]{0,9})(\.[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=300, deadline=None)
@given(
    st.tuples(DIGITS, TENTHS, TENTHS, DIGITS, DIGITS, TENTHS, TENTHS, TENTHS),
    st.sampled_from(["Engine {}: ", "{} Engines Aggregated: ", ""]),
    st.integers(0, 3),
    st.sampled_from(["", ", Preemptions: 3", ".", " x", '"']),
)
def test_statistics(numbers: tuple[str, ...], front: str, parts: int, end: str) -> None:
    engine, prompt, generation, running, waiting, usage, hits, external = numbers
    text = front.format(engine) + (
        f"Avg prompt throughput: {prompt} tokens/s, Avg generation throughput: {generation} tokens/s, "
        f"Running: {running} reqs, Waiting: {waiting} reqs"
    )
    more = [f", GPU KV cache usage: {usage}%", f", Prefix cache hit rate: {hits}%"]
    more.append(f", External prefix cache hit rate: {external}%")
    line = "(APIServer pid=1) INFO 12-03 04:11:09 [loggers.py:248] " + text + "".join(more[:parts]) + end + "\n"
    check((line * 3).encode())


def test_lines_too_long_to_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    from k3triage import rows

    monkeypatch.setattr(rows, "LINE_LIMIT", 100)
    data = b"a" * 500 + b"\n" + b"short\n" + b"b" * 300

    pieces = [data[at : at + 64] for at in range(0, len(data), 64)]
    found = [json.loads(line) for line in b"".join(event_lines(Pipe(pieces))).splitlines()]
    assert [(row["line"], row["byte_offset"]) for row in found] == [(1, 0), (2, 501), (3, 507)]
    assert [len(row["message"]) for row in found] == [100, 5, 100]


def test_numbers_and_characters_that_json_lacks() -> None:
    row = {"a": 10**30, "b": float("inf"), "c": [float("nan")], "d": "\ud800\u202e", "e": {"f": 1.5}}
    assert json.loads(dump_row(row)) == {"a": 10**30, "b": None, "c": [None], "d": "\ufffd\u202e", "e": {"f": 1.5}}
    assert dump_row(row).isascii() is False and b"\\u202e" in dump_row(row)


def test_a_large_log_takes_the_lane_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from k3triage import rows

    rng = random.Random(5)
    parts = [SERVING, NCCL, DEMO, CRASH, "progress 10%|#  | 1/9\r 20%|##  | 2/9\n", "\u4e2d\u6587\n"]
    data = "".join(rng.choices(parts, weights=[20, 20, 1, 1, 1, 1], k=60)).encode()
    check(data)
    calls = 0
    slow = rows._Writer._slow

    def counted(self, line):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        return slow(self, line)

    monkeypatch.setattr(rows._Writer, "_slow", counted)
    assert len(as_rows(data)) > 3 * calls

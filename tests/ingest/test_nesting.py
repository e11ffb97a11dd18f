"""Envelopes within envelopes, each way round, and the properties that hold for all of them."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.helpers import INNER, VLLM, texts, unwrap

STAMP = "2026-03-11T17:57:58.953878239Z"

WRAPPERS: dict[str, Callable[[str], str]] = {
    "timestamps": lambda text: f"{STAMP} {text}",
    "cri": lambda text: f"{STAMP} stderr F {text}",
    "compose": lambda text: f"vllm-1  | {text}",
    "kubectl": lambda text: f"[pod/vllm-0/server] {text}",
    "journald": lambda text: f"Aug 19 18:30:11 node-a vllm[8707]: {text}",
    "syslog": lambda text: f"<27>1 {STAMP} node-a docker 912 docker - {text}",
    "docker-json": lambda text: json.dumps({"log": text + "\n", "stream": "stderr", "time": STAMP}),
    "fluent-bit": lambda text: json.dumps({"log": text, "_p": "F", "stream": "stderr", "date": 1772360430.5}),
    "elastic": lambda text: json.dumps({"@timestamp": STAMP, "message": text}),
    "gcp": lambda text: json.dumps({"textPayload": text, "timestamp": STAMP}, indent=None),
    "loki": lambda text: json.dumps({"line": text, "timestamp": STAMP, "labels": {}}),
    "mpirun": lambda text: f"[1,0]<stderr>:{text}",
    "colour": lambda text: f"\x1b[36m{text}\x1b[0m",
}
# Text that no wrapper or glue could be seen in, with leading blanks now and then.
PLAIN = st.from_regex(r"\A(?:  ){0,3}[a-z][a-z =,;'\"/\\%&+*~!?é日]{0,60}[a-z.]\Z").filter(
    lambda text: "\\" not in text
)


@pytest.mark.parametrize("outer", WRAPPERS)
@pytest.mark.parametrize("inner", WRAPPERS)
def test_two_deep(outer: str, inner: str) -> None:
    if outer == inner == "compose":
        pytest.skip("compose does not run within itself")
    line = WRAPPERS[outer](WRAPPERS[inner](VLLM))
    (record,) = unwrap(line)
    assert record.text == INNER
    assert record.process.name == "EngineCore_DP0"
    assert record.envelopes == tuple(name for name in (outer, inner) if name != "colour")
    assert record.raw == line


def test_compose_around_ray_around_vllm() -> None:
    (record,) = unwrap(
        "vllm-openai_1  | \x1b[36m(RayWorkerWrapper pid=3487, ip=10.1.1.2)\x1b[0m ERROR 06-05 16:30:08 [w.py:1] x"
    )
    assert record.envelopes == ("compose", "ray")
    assert (record.process.container, record.process.node) == ("vllm-openai_1", "10.1.1.2")


def test_journald_around_dockerd_is_left_to_the_grammar() -> None:
    (record,) = unwrap('2026-06-17T09:01:22+0000 node-a dockerd[1189]: time="2026-06-17T09:01:22Z" level=error msg="x"')
    assert record.text == 'time="2026-06-17T09:01:22Z" level=error msg="x"'


@settings(max_examples=60, deadline=None)
@given(st.lists(PLAIN, min_size=1, max_size=12), st.lists(st.sampled_from(sorted(WRAPPERS)), max_size=3, unique=True))
def test_wrapping_and_unwrapping_gives_the_lines_back(lines: list[str], names: list[str]) -> None:
    wrapped = []
    for line in lines:
        for name in names:
            line = WRAPPERS[name](line)
        wrapped.append(line)
    records = unwrap("\n".join(wrapped))
    if not names or "mpirun" not in names:
        assert [record.text for record in records] == lines
    assert [record.line for record in records] == list(range(1, len(lines) + 1))
    assert [record.raw for record in records] == wrapped


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_raise_and_no_line_is_lost(data: bytes) -> None:
    records = unwrap(data)
    lines = data.removesuffix(b"\n").count(b"\n") + 1
    assert (
        {record.line for record in records} == set(range(1, lines + 1))
        or b"\x01\0\0\0" in data
        or b"\x02\0\0\0" in data
    )


FRAGMENTS = [
    "(A pid=1) ",
    "[rank0]:",
    "\r",
    "\x1b[0m",
    '{"log":"',
    '"}',
    "vllm-1  | ",
    STAMP + " ",
    "stderr P ",
    "INFO 01-02 03:04:05 [a.py:1] ",
    "0: ",
    "[1,0]<stdout>:",
    "<30>",
    "Aug 19 18:30:11 h x[1]: ",
    "\\n",
    "^[[3m",
    "it/s]",
    "x",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join), max_size=6))
def test_any_mix_of_fragments_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    for record in unwrap(text):
        assert "\x1b" not in record.text
        assert "\r" not in record.text


def test_lines_that_match_nothing_are_never_dropped() -> None:
    lines = ["vllm-1  | a", "bare", "vllm-1  | b", "", "nothing | here", "vllm-1  | c"]
    assert len(texts("\n".join(lines))) == len(lines)

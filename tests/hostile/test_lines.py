"""Lines made to trip the reader: nothing raises, and a fault behind them is still found."""

import io
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import k3triage
from k3triage.model.report import Report

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB."
STACK = 'Traceback (most recent call last):\n  File "/a/core.py", line 7, in run\n    run()\n'
SEEDS = [
    "INFO 12-02 11:00:00 [api_server.py:1839] vLLM API server version 0.11.2",
    "(EngineCore_DP0 pid=512) ERROR 12-02 11:00:20 [core.py:700] " + OOM,
    '{"log":"ValueError: bad\\n","stream":"stderr","time":"2026-11-30T12:00:01.123456789Z"}',
    "2026-11-30T12:00:01.1+09:00 stderr P part of a line",
    "2026-11-30T12:00:01.1+09:00 stderr F rest of it",
    "node-1:4711:4803 [3] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
    "[rank3]:[E1130 12:00:01.123456 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout",
    "[12345.678901] NVRM: Xid (PCI:0000:65:00): 79, pid=4711, name=python3, GPU has fallen off the bus.",
    "Nov 30 12:00:01 host kernel: Out of memory: Killed process 99 (python3) total-vm:1kB, anon-rss:1kB",
    "(RayWorkerWrapper pid=9, ip=10.0.0.2) RuntimeError: x [repeated 7x across cluster] (Ray deduplicates logs by default.)",
    "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.10s/it]\r",
    "  + Exception Group Traceback (most recent call last):",
    "  +-+---------------- 1 ----------------",
    "During handling of the above exception, another exception occurred:",
    '  File "/a/b.py", line 1, in f',
    "    | ValueError: x",
    "vllm-1  | RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    '<3>1 2026-11-30T12:00:01Z host app 1 - [a@1 b="c"] text',
    "docker: Error response from daemon: could not select device driver",
]
SPICE = [
    "\0",
    "\x1b[31m",
    "\ud800",
    "\r",
    "\ufeff",
    "{",
    "[",
    '"',
    "\\",
    "9" * 40,
    "pid=",
    "\u2028",
    "\t",
    "', params: ",
    "\n",
    "",
]


def triage(text: str | bytes) -> Report:
    return k3triage.triage(io.BytesIO(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")))


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A line of a log with one place changed."""
    text = draw(st.sampled_from(SEEDS))
    at = draw(st.integers(0, len(text)))
    gone = draw(st.integers(0, 12))
    return text[:at] + draw(st.sampled_from(SPICE) | st.text(max_size=5)) + text[at + gone :]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(mangled(), min_size=1, max_size=25), st.sampled_from(["\n", "\r\n", "\r", "\n\0"]))
def test_nothing_raises_and_every_format_prints(lines: list[str], end: str) -> None:
    report = triage(end.join(lines))
    Report.model_validate_json(report.model_dump_json())
    text = report.to_markdown()
    assert "\x1b" not in text and "\r" not in text


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    triage(data)
    list(k3triage.events(io.BytesIO(data)))


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "log",
                        "message",
                        "stream",
                        "time",
                        "timestamp",
                        "level",
                        "event",
                        "kubernetes",
                        "values",
                        "streams",
                        "line",
                        "_source",
                        "hits",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json(value: object) -> None:
    line = json.dumps(value)
    triage(f"{line}\n{line}\n")
    triage(json.dumps([value, value], indent=1))


@pytest.mark.parametrize(
    "stamp",
    [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2026-13-01T00:00:00Z",
        "2026-02-30T25:61:61Z",
        "1e30",
        "-1",
        "9" * 400,
    ],
)
def test_times_out_of_range(stamp: str) -> None:
    records = (json.dumps({"log": f"{OOM}\n", "stream": "stderr", "time": stamp}) for _ in range(2))
    for text in (f"{stamp} {OOM}\n" * 2, "\n".join(records), f"[{stamp}] {OOM}\n", f"{stamp} stderr F {OOM}\n"):
        verdict = triage(text).verdict
        assert verdict is not None and verdict.first_anomaly.line == 1


@pytest.mark.parametrize(
    "prefix",
    ["(EngineCore_DP0 pid={n}) ", "[rank{n}]: ", "(Worker_TP{n} pid=1) ", "{n}: ", "Dec  1 00:00:00 h p[{n}]: "],
)
def test_numbers_of_forty_digits(prefix: str) -> None:
    assert triage(prefix.format(n="9" * 40) + OOM + "\n").verdict is not None


def test_repeats_of_absurd_counts() -> None:
    for count in ("99999999999", "999999999", "0", "-1", "1e9"):
        verdict = triage(f"(RayWorkerWrapper pid=5, ip=10.0.0.1) {OOM} [repeated {count}x across cluster]\n").verdict
        assert verdict is not None and verdict.layer.value.endswith("oom")


def test_partial_lines_that_never_end() -> None:
    parts = "".join(f"2026-01-01T00:00:00Z {s} P part\n" for _ in range(3000) for s in ("stderr", "stdout"))
    verdict = triage(f"{parts}2026-01-01T00:00:00Z stderr F end\n2026-01-01T00:00:01Z stderr F {OOM}\n").verdict
    assert verdict is not None and verdict.first_anomaly.line == 6002
    streams = [json.dumps({"log": "x", "stream": f"s{n}", "time": "2026-01-01T00:00:00Z"}) for n in range(3000)]
    assert triage("\n".join(streams)).verdict is None


DEEP = {
    "frames": STACK + '  File "/a/b.py", line 1, in f\n    g()\n' * 20_000,
    "brackets": "[" * 100_000 + "\n",
    "objects": '{"a":' * 50_000 + "1" + "}" * 50_000 + "\n",
    "brackets over lines": "[\n" * 20_000,
    "equal keys": '{"log":"a\\n",' + '"log":"b\\n",' * 20_000 + '"stream":"stderr"}\n',
    "long message": STACK + "ValueError: " + "x y " * 500_000 + "\n",
    "bare returns": "a\rb" * 200_000 + "\n",
    "glued records": "ERROR 12-02 11:00:00 [core.py:1] " * 5000 + "\n",
    "blanks": " " * 2_000_000 + "\n",
    "configuration": "INFO 12-02 11:00:00 [core.py:1] Initializing a V1 LLM engine (v0.11.2) with config: a="
    + "(" * 50_000
    + "\n",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_depth_and_length(text: str) -> None:
    start = time.process_time()
    verdict = triage(text + OOM + "\n").verdict
    assert time.process_time() - start < 10
    assert verdict is not None and "OutOfMemory" in verdict.first_anomaly.text


def test_a_chain_without_end() -> None:
    link = "During handling of the above exception, another exception occurred:"
    verdict = triage(f"{STACK}{OOM}\n\n{link}\n\n" * 2000 + f"{STACK}ValueError: x\n").verdict
    assert verdict is not None and verdict.first_anomaly.line == 4


def test_groups_nested_deeply() -> None:
    lines = []
    for depth in range(30):
        pad = "  " * depth
        lines += [f"{pad}{'  + ' if depth == 0 else '  | '}Exception Group Traceback (most recent call last):"]
        lines += [f'{pad}  |   File "a.py", line 1, in f', f"{pad}  | ExceptionGroup: x (1 sub-exception)"]
        lines += [f"{pad}  +-+---------------- 1 ----------------"]
    pad = "  " * 30
    lines += [
        f"{pad}  | Traceback (most recent call last):",
        f'{pad}  |   File "a.py", line 2, in h',
        f"{pad}  | {OOM}",
    ]
    verdict = triage("\n".join(lines) + "\n").verdict
    assert verdict is not None and verdict.first_anomaly.line == len(lines)

"""The Lark grammars and the regular expressions derived from them are the same specification."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError

from k3triage.grammar.derive import NotRegularError, derive
from k3triage.grammar.loader import fields, parse
from k3triage.grammar.patterns import BODIES, HEADERS, matcher

RULES = {**HEADERS, **BODIES}
TEXT = st.text(alphabet="abE x:[](){}'\"-.,=/\\|1\n", max_size=12)


def by_lark(rule: str, text: str) -> dict[str, str] | None:
    try:
        return fields(parse(RULES[rule], rule, text))
    except LarkError:
        return None


def by_regex(rule: str, text: str) -> dict[str, str] | None:
    match = matcher(rule)(text)
    return None if match is None else {name: value for name, value in match.groupdict().items() if value is not None}


EXAMPLES = {
    "vllm": "INFO 12-01 03:14:08 [core.py:93] text here",
    "nccl": "[2026-12-01 03:14:08] node-a:11:12 [0] misc/shm.cc:87 (open) NCCL WARN Error: failed",
    "uvicorn": "INFO:     text",
    "basic": "ERROR:root:text",
    "c10d": "[E1201 03:15:11.623 socket.cpp:10] [c10d] text",
    "klog": "E1201 02:42:04.7   17950 memcache.go:265] text",
    "nixl": "E ucx_utils.cpp:592  text",
    "dashed": "2026-12-01 12:04:35,647 - app.worker - INFO - text",
    "spaced": "2026-12-01 12:04:35,647 INFO worker.py:18 -- text",
    "loguru": "2026-12-01 12:04:35.647 | INFO     | mod:fun:12 - text",
    "raycpp": "[2026-12-01 18:58:10,599 E 36 37] (raylet) logging.cc:49: text",
    "bracketed": "[2026-12-01 18:58:10 TP0] INFO: text",
    "trtllm": "[12/07/2025-00:20:58] [TRT-LLM] [I] text",
    "tagged": "[TensorRT-LLM][WARNING] text",
    "ucx": "[1718600000.123] [host:1:2]  file.c:12 UCX  ERROR text",
    "kernel": "<4>[  123.456789] text",
    "kernel_plain": "kernel: text",
    "logfmt": 'time="2026-12-01T09:01:22Z" level=error msg="a \\"b\\"" id=1',
    "logrus": "ERRO[0001] text",
    "stats": "Engine 000: Avg prompt throughput: 3.2 tokens/s, Avg generation throughput: 1.8 tokens/s, Running: 3 reqs, "
    "Waiting: 0 reqs, Later: 4, GPU KV cache usage: 1.2%, Other: 1, Prefix cache hit rate: 0.0%, More: 3%",
    "stats_v0": "Prefix cache hit rate: GPU: 12.50%, CPU: 0.00%",
    "access": '10.0.0.7:41822 - "POST /v1/x HTTP/1.1" 500 Internal',
    "oom": "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 6 has a total capacity of 44.53 GiB of which 4 bytes is free.",
    "oom_old": "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.65 GiB total capacity; 22.00 GiB already allocated; "
    "500.00 MiB free; 22.50 GiB reserved in total by PyTorch)",
    "oom_process": "this process has 5.1 GiB memory in use",
    "oom_allocated": "Of the allocated memory 5.1 GiB is allocated by PyTorch",
    "oom_private": "with 5.1 GiB allocated in private pools",
    "oom_unallocated": "and 5.1 GiB is reserved by PyTorch but unallocated",
    "oom_allowed": "5.1 GiB allowed;",
    "work": "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=2, Timeout(ms)=600) ran for 601 milliseconds before timing out",
    "watchdog": "watchdog at work sequence id: 5 PG status: last enqueued work: 6, last completed work: -1",
    "backend": "NCCL error in: ../a/b.cpp:93, invalid usage (run with X for details), NCCL version 2.28.9",
    "cuda_error": "CUDA error: unspecified launch failure",
    "xid": "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
    "nvlink5": "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)",
    "sxid": "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32",
    "oom_kill": "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,3,oom_memcg=/x,task_memcg=/x/y,"
    "task=python,pid=1,uid=0",
    "killed": "Memory cgroup out of memory: Killed process 12 (python) total-vm:10kB, anon-rss:5kB, file-rss:0kB, shmem-rss:3kB, UID:0",
    "invoked": "python invoked oom-killer: gfp_mask=0xcc0, order=0",
    "segfault": "python3[123]: segfault at 0 ip 00007f10 sp 00007f20 error 4 in libcuda.so.1[7f10+1f000]",
    "client_error": "docker: Error response from daemon: failed: no: unknown",
    "kubelet_event": "  Warning  Failed     10s (x2 over 10s)  kubelet   Error: failed",
}


def test_every_rule_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES.keys()


@pytest.mark.parametrize("rule", RULES)
def test_example_is_read_alike(rule: str) -> None:
    by_grammar = by_lark(rule, EXAMPLES[rule])
    assert by_grammar is not None
    assert by_regex(rule, EXAMPLES[rule]) == by_grammar


@st.composite
def changed(draw: st.DrawFn, rule: str) -> str:
    """The rule's example with a stretch of it replaced."""
    example = EXAMPLES[rule]
    start = draw(st.integers(0, len(example)))
    end = draw(st.integers(start, min(len(example), start + 6)))
    return example[:start] + draw(TEXT) + example[end:]


@pytest.mark.parametrize("rule", [*HEADERS, "stats", "xid", "oom_kill", "killed", "work", "kubelet_event"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_changed_lines_are_read_alike(rule: str, data: st.DataObject) -> None:
    text = data.draw(changed(rule))
    assert by_regex(rule, text) == by_lark(rule, text)


def test_patterns_compile_without_nested_names() -> None:
    for rule in RULES:
        assert re.compile(derive(RULES[rule], rule)).groups >= 1


def test_recursion_is_refused() -> None:
    with pytest.raises(NotRegularError):
        derive("values", "value")

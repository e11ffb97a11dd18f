from typing import Any

import pytest

from k3triage.grammar import engine_config, event, non_default_args, to_line, traceback_event
from k3triage.grammar.sentences import reasons, size
from k3triage.model.events import EVENTS
from tests.grammar.helpers import blocks, record

VLLM = "INFO 12-01 00:00:07 [loggers.py:1] "
GIB = 2**30


def fields(text: str) -> dict[str, Any]:
    found = event(to_line(record(text, line=7)))
    assert EVENTS.validate_json(EVENTS.dump_json(found)) == found
    assert found.line == 7
    return found.model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (VLLM + "hello", {"kind": "vllm", "level": "INFO", "location": "loggers.py:1", "message": "hello"}),
        ("hello", {"kind": "plain", "logger": ""}),
        ("gpu7:41:52 [3] NCCL INFO x", {"kind": "nccl", "host": "gpu7", "pid": 41, "tid": 52, "device": 3}),
        (
            "[rank1]".join(["", ""])[7:]
            + "[E1201 00:00:07.1 P.cpp:1] [Rank 1] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=3, NumelOut=4, Timeout(ms)=600) ran for 601 milliseconds before timing out.",
            {
                "kind": "c10d",
                "sequence": 5,
                "operation": "ALLREDUCE",
                "numel_in": 3,
                "numel_out": 4,
                "timeout_ms": 600,
                "ran_ms": 601,
            },
        ),
        (
            "[E1201 00:00:07.1 P.cpp:1] [Rank 1] failure detected by watchdog at work sequence id: 5 PG status: "
            "last enqueued work: 6, last completed work: 4",
            {"kind": "c10d", "sequence": 5, "enqueued": 6, "completed": 4},
        ),
        (
            VLLM
            + "Engine 001: Avg prompt throughput: 12.5 tokens/s, Avg generation throughput: 3.0 tokens/s, Running: 2 reqs, "
            "Waiting: 1 reqs, GPU KV cache usage: 4.5%, Prefix cache hit rate: 66.7%, MM cache hit rate: 1.0%",
            {
                "kind": "engine_stats",
                "engine": 1,
                "prompt_rate": 12.5,
                "generation_rate": 3.0,
                "running": 2,
                "waiting": 1,
                "kv_cache_usage": 4.5,
                "prefix_cache_hit_rate": 66.7,
            },
        ),
        (
            VLLM
            + "Avg prompt throughput: 12.5 tokens/s, Avg generation throughput: 3.0 tokens/s, Running: 2 reqs, Swapped: 1 reqs, "
            "Pending: 3 reqs, GPU KV cache usage: 4.5%, CPU KV cache usage: 0.0%.",
            {"kind": "engine_stats", "swapped": 1, "waiting": 3, "kv_cache_usage": 4.5},
        ),
        (
            VLLM + "Prefix cache hit rate: GPU: 12.5%, CPU: 0.0%",
            {"kind": "engine_stats", "prefix_cache_hit_rate": 12.5},
        ),
        (VLLM + "non-default args: {'port': 8001}", {"kind": "launch_args", "arguments": {"port": 8001}}),
        (
            VLLM + "Initializing a V1 LLM engine (v0.13.0) with config: model='m', seed=0, ",
            {"kind": "engine_config", "version": "0.13.0", "settings": {"model": "m", "seed": 0}},
        ),
        (
            'INFO:     10.0.0.7:1 - "GET /health HTTP/1.1" 503 Service Unavailable',
            {"kind": "access", "client": "10.0.0.7:1", "method": "GET", "path": "/health", "status": 503},
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 80.00 GiB of which "
            "512.00 MiB is free. Process 7 has 3.00 GiB memory in use. Including non-PyTorch memory, this process has 70.00 GiB memory in "
            "use. 75.00 GiB allowed; Of the allocated memory 60.00 GiB is allocated by PyTorch, with 1.00 GiB allocated in private pools "
            "(e.g., CUDA Graphs), and 256.00 KiB is reserved by PyTorch but unallocated. If reserved",
            {
                "kind": "cuda_oom",
                "gpu": 1,
                "requested": 2 * GIB,
                "total": 80 * GIB,
                "free": GIB // 2,
                "in_use": 70 * GIB,
                "allowed": 75 * GIB,
                "allocated": 60 * GIB,
                "private_pools": GIB,
                "unallocated": 256 * 1024,
            },
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total capacity; 7.00 GiB already allocated; "
            "0 bytes free; 7.50 GiB reserved in total by PyTorch) If reserved",
            {"kind": "cuda_oom", "gpu": 0, "requested": 20 * 2**20, "total": 8 * GIB, "free": 0, "allocated": 7 * GIB},
        ),
        (
            "RuntimeError: CUDA error: device-side assert triggered",
            {"kind": "cuda_error", "error": "device-side assert triggered"},
        ),
        (
            "x.DistBackendError: NCCL error in: ../a.cpp:9, invalid usage (run with X), NCCL version 2.21.5",
            {"kind": "nccl_error", "where": "../a.cpp:9", "result": "invalid usage", "nccl_version": "2.21.5"},
        ),
        (
            "[ 12.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid=12, name=python3, GPU has fallen off the bus.",
            {
                "kind": "xid",
                "bus": "0000:3b:00",
                "code": 79,
                "pid": 12,
                "name": "python3",
                "detail": "GPU has fallen off the bus.",
            },
        ),
        (
            "[ 12.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            {"kind": "xid", "code": 79, "detail": "GPU has fallen off the bus."},
        ),
        (
            "kernel: NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 1",
            {"kind": "xid", "bus": "0000:01:00", "code": 31},
        ),
        (
            "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000001)",
            {"kind": "xid", "code": 149, "unit": "NETIR_LINK_EVT", "fatal": True, "link": 8},
        ),
        (
            "[ 1.000000] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 x",
            {"kind": "sxid", "switch": "nvidia-nvswitch3", "code": 12028, "fatal": False, "detail": "Link 32 x"},
        ),
        (
            "[ 1.000000] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,"
            "task=VLLM::EngineCor,pid=9,uid=0",
            {
                "kind": "oom_kill",
                "stage": "chosen",
                "constraint": "CONSTRAINT_MEMCG",
                "memcg": "/a/b",
                "task": "VLLM::EngineCor",
                "pid": 9,
            },
        ),
        (
            "[ 1.000000] Memory cgroup out of memory: Killed process 9 (py (x)) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0",
            {"kind": "oom_kill", "stage": "killed", "task": "py (x)", "pid": 9, "anon_rss": 4096},
        ),
        (
            "[ 1.000000] Out of memory: Kill process 9 (python) score 900 or sacrifice child",
            {"kind": "oom_kill", "stage": "killed", "pid": 9},
        ),
        (
            "[ 1.000000] python3 invoked oom-killer: gfp_mask=0x1",
            {"kind": "oom_kill", "stage": "invoked", "task": "python3"},
        ),
        (
            "[ 1.000000] python3[9]: segfault at 0 ip 00007f sp 00007f error 4 in libcuda.so.1[7f+1f]",
            {"kind": "segfault", "task": "python3", "pid": 9, "library": "libcuda.so.1"},
        ),
        (
            'docker: Error response from daemon: failed to start: exec: "vllm: x": not found: unknown',
            {
                "kind": "docker_error",
                "origin": "Error response from daemon",
                "reasons": ["failed to start", "exec", '"vllm: x"', "not found"],
            },
        ),
        (
            "nvidia-container-cli: initialization error: driver not loaded",
            {
                "kind": "docker_error",
                "origin": "nvidia-container-cli",
                "reasons": ["initialization error", "driver not loaded"],
            },
        ),
        (
            'time="2026-12-01T00:00:07Z" level=info msg="shim gone" id=4',
            {"kind": "containerd", "message": "shim gone", "attributes": "id=4"},
        ),
        (
            "  Warning  BackOff  2m (x7 over 5m)  kubelet  Back-off restarting failed container",
            {
                "kind": "kubelet_event",
                "reason": "BackOff",
                "age": "2m (x7 over 5m)",
                "message": "Back-off restarting failed container",
            },
        ),
    ],
)
def test_events(text: str, expected: dict[str, Any]) -> None:
    found = fields(text)
    assert {name: found.get(name) for name in expected} == expected


def test_traceback_event() -> None:
    (block,) = blocks("Traceback (most recent call last):", '  File "a.py", line 3, in f', "ValueError: x", "y")
    found = traceback_event(block)
    assert (found.line, found.start_line, found.end_line, found.message) == (3, 1, 4, "x\ny")
    assert found.chain[0].frames[0].function == "f"
    assert EVENTS.validate_json(found.model_dump_json()) == found


def test_engine_config_values() -> None:
    text = (
        "Initializing an LLM engine (v0.8.5) with config: model='org/m', revision=None, dtype=torch.bfloat16, device_config=cuda:0, "
        "served_model_name=org/m, cfg=DecodingConfig(backend='x, y', on=True), compilation={'mode': <Mode.A: 3>, 'sizes': [1, 2], 'e': {}}, "
        "ratio=0.5, names=('it\\'s', \"b\"), cut={'a': [1, "
    )
    assert engine_config(text) == {
        "engine_version": "0.8.5",
        "model": "org/m",
        "revision": None,
        "dtype": "torch.bfloat16",
        "device_config": "cuda:0",
        "served_model_name": "org/m",
        "cfg": {"backend": "x, y", "on": True},
        "compilation": {"mode": "<Mode.A: 3>", "sizes": [1, 2], "e": {}},
        "ratio": 0.5,
        "names": ["it's", "b"],
    }


def test_non_default_args_values() -> None:
    assert non_default_args(
        "non-default args: {'model': 'a', 'port': 8000, 'path': PosixPath('/x'), 'o': {'k': -1.5}} trailing"
    ) == {
        "model": "a",
        "port": 8000,
        "path": "/x",
        "o": {"k": -1.5},
    }
    assert non_default_args("args: Namespace(model='a', fn=<function f at 0x7f>, seed=None)") == {
        "model": "a",
        "fn": "<function f at 0x7f>",
        "seed": None,
    }
    assert non_default_args("no braces") == {}


def test_hostile_values_are_survived() -> None:
    deep = "{'a': " + "[" * 20_000
    assert non_default_args(deep) == {}
    closed = "{'a': " + "[" * 5000 + "]" * 5000 + ", 'b': 1}"
    assert non_default_args(closed)["b"] == 1


def test_units() -> None:
    assert [size("3 bytes"), size("1.50 KiB"), size("2.00 TiB")] == [3, 1536, 2 * 2**40]


def test_reasons_keep_quotes_whole() -> None:
    assert reasons('a: b "c: d" e: f') == ["a", 'b "c: d" e', "f"]
    assert reasons("one") == ["one"]

"""Reports built by hand, so that a renderer is tested without the stages before it."""

from typing import Any

import pytest

from k3triage.model.report import Report

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J\x00 ‮gnp.exe <script>alert(1)</script> ::error::x % `a` | b"


def anomaly(
    source: str = "node0.log",
    line: int = 412,
    text: str = "ValueError: too small",
    context: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "source": source,
        "line": line,
        "byte_offset": 51822,
        "block": {"start_line": max(line - 20, 1), "end_line": line},
        "timestamp": "2026-11-30T12:00:01Z",
        "process": {"name": "EngineCore_DP0", "pid": 512, "rank": 0, "node": "node0"},
        "text": text,
        "context": context or [],
    }


def verdict(**changes: Any) -> dict[str, Any]:
    return {
        "layer": "startup_oom",
        "cause": "startup_oom.kv_cache_too_small",
        "title": "The KV cache does not hold one request",
        "phase": "memory_profile",
        "confidence": "confirmed",
        "first_anomaly": anomaly(),
        "why": ["the exception states both amounts", "nothing failed before it"],
        "remediation": [
            {
                "action": "Lower --max-model-len",
                "command": "vllm serve m --max-model-len 4096",
                "because": "4096 fits",
                "source": "https://docs.vllm.ai/en/latest/",
            },
            {"action": "Use more GPUs"},
        ],
        "avoid": [{"action": "Restarting", "because": "it fails again"}],
        "missing": [{"what": "nvidia-smi", "command": "nvidia-smi", "because": "shows who holds memory"}],
        "decision": "repair_in_place",
        **changes,
    }


def finding(cause: str, role: str, count: int = 1, line: int = 500) -> dict[str, Any]:
    layer = cause.split(".")[0]
    return {
        "cause": cause,
        "layer": layer,
        "role": role,
        "count": count,
        "first": anomaly(line=line, text=f"{cause} shows"),
        "last_line": line + count,
        "explained_by": "startup_oom.kv_cache_too_small" if role == "cascade" else None,
    }


def build(status: str = "diagnosed", **changes: Any) -> Report:
    data: dict[str, Any] = {
        "tool": {"version": "9.9.9", "rules": "2026.1.1"},
        "status": status,
        "verdict": None if status == "healthy" else verdict(),
        "findings": []
        if status == "healthy"
        else [
            finding("startup_oom.kv_cache_too_small", "root", line=412),
            finding("nccl.closed_by_peer", "cascade", 1200),
            finding("unknown.engine_core_died", "cascade", 4),
            finding("model.shard_retry", "recovered", line=88),
        ],
        "inputs": [{"source": "node0.log", "bytes": 81233, "lines": 1460, "envelope": "docker-json"}],
        **changes,
    }
    return Report.model_validate(data)


@pytest.fixture
def diagnosed() -> Report:
    return build()


@pytest.fixture
def healthy() -> Report:
    return build("healthy")


@pytest.fixture
def hostile() -> Report:
    """A report in which every text that a log or a file name can reach is hostile."""
    return build(
        verdict=verdict(
            title=HOSTILE,
            why=[HOSTILE],
            first_anomaly=anomaly(source=HOSTILE, text=HOSTILE),
            remediation=[{"action": HOSTILE, "command": HOSTILE, "because": HOSTILE, "source": "javascript:alert(1)"}],
            avoid=[{"action": HOSTILE, "because": HOSTILE}],
            missing=[{"what": HOSTILE, "command": HOSTILE, "because": HOSTILE}],
        ),
        findings=[finding("nccl.closed_by_peer", "root") | {"first": anomaly(source=HOSTILE, text=HOSTILE)}],
        attempts=[
            {"source": HOSTILE, "start_line": 1, "end_line": 900, "outcome": "failed", "cause": None},
            {"source": HOSTILE, "start_line": 901, "end_line": 902, "outcome": "stopped", "cause": None},
        ],
        inputs=[{"source": HOSTILE, "bytes": 1, "lines": 1, "error": HOSTILE}],
        environment={"vllm": HOSTILE, "model": HOSTILE, "flags": {HOSTILE: HOSTILE}},
        acceptance=[{"step": 1, "name": HOSTILE, "state": HOSTILE}],
    )

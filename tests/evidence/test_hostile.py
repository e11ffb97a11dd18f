"""Any text is survived, in bounded time, and logs give nothing."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage import triage
from k3triage.evidence import HINTS, may_hold_evidence, read_evidence
from k3triage.evidence.combine import combine
from tests.evidence.test_smi import NEW

WORDS = [hint.decode() for hints in HINTS.values() for hint in hints] + [
    "GPU 0: ", "Driver Version: ", "[", "{", "}", "]", "| 0 ", "MiB", "===", "$ nvidia-smi", "Module Size Used by", "=", ",", "  ", "\t",
    "9" * 30, "[{", '"State": {"OOMKilled": true}', '"Config": 3', "mlx5_0", "port: 1", "Mem: 1 1 1", "\x00", "é", "==> a <==",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_random_text(text: str) -> None:
    combine(read_evidence("x", text))
    may_hold_evidence(text.encode("utf-8", "replace"))


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "\n", "\n", " "]), max_size=60))
def test_pieces_of_evidence_in_any_order(words: list[str]) -> None:
    for fact in combine(read_evidence("x", "".join(words))).values():
        assert fact.line >= 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_table(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(NEW)))
    text = NEW[:at] + data.draw(st.text(max_size=5)) + NEW[at + data.draw(st.integers(0, 40)) :]
    combine(read_evidence("x", text))


def test_bounded_time_on_large_hostile_inputs() -> None:
    bad = ["[" * 100_000, '{"RepoTags":' * 50_000, ("{\n" * 100_000) + '"HostConfig"', "| NVIDIA-SMI " + "| " * 500_000]
    bad += [
        "nvidia " * 300_000,
        "driver_version" + ", a" * 300_000,
        ("hca_id: x\n" * 100_000),
        "NCCL_A=" + "b" * 2_000_000,
    ]
    bad += ["$ " + "a@" * 400_000 + " nvidia-smi", "=" * 1_000_000 + " nvidia-smi", " 9" * 500_000 + "\nMem: x"]
    for text in bad:
        start = time.perf_counter()
        combine(read_evidence("x", text))
        assert time.perf_counter() - start < 4, text[:30]


def test_a_log_gives_nothing() -> None:
    log = "\n".join(
        f"(EngineCore_DP0 pid=7) INFO 11-18 09:00:{i % 60:02d} [gpu_model_runner.py:{i}] Loading torch weights, NCCL_DEBUG unset"
        for i in range(2000)
    )
    assert not may_hold_evidence(log[:65536].encode())
    assert read_evidence("x", log) == []


def test_healthy_evidence_is_no_failure_and_fills_the_environment() -> None:
    report = triage(NEW.split("\n"))
    assert report.status == "healthy" and report.verdict is None
    assert report.environment.driver == "580.82.07" and report.environment.gpus == ["NVIDIA H100 80GB HBM3"] * 2


def test_broken_nvidia_smi_stays_a_root() -> None:
    report = triage(["Failed to initialize NVML: Driver/library version mismatch"])
    assert report.verdict is not None and report.verdict.layer == "cuda"

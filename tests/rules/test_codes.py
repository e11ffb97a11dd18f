"""Code tables: complete, well formed, and found by number, name and text."""

import re
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.model.enums import Layer
from k3triage.rules.codes import KINDS, entries, explain

LAYERS = {layer.value for layer in Layer} | {"none"}
ROLES = {"root", "suspect", "cascade", "info"}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_complete(kind: str) -> None:
    rows = entries(kind)
    assert rows
    assert len({row.code for row in rows}) == len(rows)
    for row in rows:
        assert row.kind == kind
        assert row.name
        assert row.meaning
        assert row.action
        assert row.layer in LAYERS, row
        assert row.role in ROLES, row
        assert row.source.startswith("https://"), row
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.checked), row


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_found_by_its_code_and_its_name(kind: str) -> None:
    for row in entries(kind):
        assert explain(kind, row.code) == row
        assert explain(kind, f" {row.code} ") == row
        by_name = explain(kind, row.name)
        assert by_name is not None
        assert by_name.name == row.name


@pytest.mark.parametrize(
    ("kind", "spelling", "name"),
    [
        ("cuda", "100", "cudaErrorNoDevice"),
        ("cuda", "cudaErrorNoDevice", "cudaErrorNoDevice"),
        ("cuda", "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice"),
        ("cuda", "no CUDA-capable device is detected", "cudaErrorNoDevice"),
        ("cuda", "0x64", "cudaErrorNoDevice"),
        ("xid", "Xid 79", "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS"),
        ("nccl", "unhandled system error", "ncclSystemError"),
        ("nvml", "GPU is lost", "NVML_ERROR_GPU_IS_LOST"),
        ("errno", "524", "ENOTSUPP"),
        ("errno", "-110", "ETIMEDOUT"),
        ("errno", "eaddrinuse", "EADDRINUSE"),
        ("exit", "137", "128+SIGKILL"),
        ("exit", "-9", "128+SIGKILL"),
        ("signal", "sigterm", "SIGTERM"),
        ("signal", "15", "SIGTERM"),
        ("reason", "oomkilled", "OOMKilled"),
    ],
)
def test_spellings(kind: str, spelling: str, name: str) -> None:
    row = explain(kind, spelling)
    assert row is not None
    assert row.name == name


def test_facts_that_a_verdict_rests_on() -> None:
    layers = {
        ("xid", "48"): "hardware",
        ("xid", "31"): "gpu_kernel",
        ("cuda", "802"): "cuda",
        ("cuda", "700"): "gpu_kernel",
        ("cuda", "214"): "hardware",
        ("exit", "127"): "container",
        ("exit", "137"): "host_oom",
        ("reason", "OOMKilled"): "host_oom",
    }
    for (kind, code), layer in layers.items():
        row = explain(kind, code)
        assert row is not None
        assert row.layer == layer
    echo = explain("xid", "45")
    assert echo is not None
    assert echo.role == "cascade"


def test_exit_codes_agree_with_the_signals() -> None:
    for row in entries("signal"):
        assert signal.Signals(int(row.code)).name == row.name
        died = explain("exit", str(128 + int(row.code)))
        assert died is not None
        assert died.name == f"128+{row.name}"
        assert died.layer == row.layer


def test_nvlink_codes_name_their_unit() -> None:
    for code, unit in {"144": "SAW", "145": "RLW", "146": "TLW", "147": "TREX", "149": "NETIR", "150": "MSE"}.items():
        row = explain("xid", code)
        assert row is not None
        assert unit in row.meaning


def test_unknown_code_and_kind() -> None:
    assert explain("xid", "99999") is None
    assert explain("cuda", "") is None
    with pytest.raises(ValueError, match="unknown kind"):
        explain("http", "404")


@given(st.sampled_from(KINDS), st.text(max_size=40))
def test_any_text_gives_a_row_of_that_kind_or_none(kind: str, code: str) -> None:
    row = explain(kind, code)
    assert row is None or row.kind == kind

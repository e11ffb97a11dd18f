"""The five rungs: what passes, fails, does not apply, and what stays unknown."""

import json
from pathlib import Path

import pytest

from k3triage.cli.main import main
from k3triage.rules.policy import acceptance_policy
from tests.diagnose.helpers import READY, engine, launch, report, stats
from tests.diagnose.test_prefix_state import SERVED, metrics

GOOD = [0.0, 40.0, 50.0, 55.0, 56.0, 56.0, 57.0, 57.0]
OOM = "(EngineCore pid=90) ERROR 05-06 07:09:00 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free."
NCCL = "node1:77:99 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 len=0 vendor err 129 (Recv)"


def server(flags: str = "", rates: list[float] | None = None, **more: object) -> list[str]:
    lines = [*launch("0.29.0", flags), engine("0.29.0", True), *READY]
    asked = ['(APIServer pid=7) INFO:     10.3.0.1:50412 - "POST /v1/completions HTTP/1.1" 200 OK']
    return [*lines, *asked, *stats("0.29.0", rates or GOOD, **more)]  # type: ignore[arg-type]


def states(*inputs: list[str]) -> str:
    """First letters of the five states: p, f, u, n."""
    steps = report(*inputs).acceptance
    assert [step.step for step in steps] == [1, 2, 3, 4, 5]
    assert [step.name for step in steps] == [rung.name for rung in acceptance_policy().rung]
    return "".join(step.state[0] for step in steps)


def test_a_single_node_that_holds() -> None:
    found = report(server(running=12))
    assert "".join(step.state[0] for step in found.acceptance) == "ppppn" and found.accepted
    assert found.acceptance[2].evidence["best_hit_rate"] == 57.0
    assert found.acceptance[3].evidence["most_at_a_time"] == 12
    assert all("line" in step.evidence for step in found.acceptance[:4])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "uuuuu"),
        (launch("0.29.0"), "uuuun"),
        ([*launch("0.29.0"), engine("0.29.0", True), *READY], "uuuun"),
        (server(running=2), "pppun"),
        (server("'max_num_seqs': 2", running=2), "ppppn"),
        (server(rates=[0.0] * 8, running=12), "ppfpn"),
        (server(rates=[0.0, 0.0], prompt=20.0, running=2), "ppuun"),
        ([*server(running=12), OOM], "fppfn"),
        (server("'nnodes': 2, 'node_rank': 0", running=12), "ppppu"),
        ([*server("'nnodes': 2, 'node_rank': 0", running=12), NCCL], "fppuf"),
        (server("'distributed_executor_backend': 'ray'", running=12), "ppppu"),
        (server("'data_parallel_size': 16, 'data_parallel_size_local': 8", running=12), "ppppu"),
    ],
)
def test_states(lines: list[str], expected: str) -> None:
    assert states(lines) == expected


def test_several_nodes_for_long_enough() -> None:
    lines = server("'nnodes': 2, 'node_rank': 0", rates=GOOD + [57.0] * 60, running=12)
    found = report(lines)
    assert "".join(step.state[0] for step in found.acceptance) == "ppppp" and found.accepted
    assert found.acceptance[4].evidence["nodes"] == 2 and found.acceptance[4].evidence["seconds_served"] >= 600


def test_off_fails_the_third_rung_except_on_decode_workers() -> None:
    off = "'enable_prefix_caching': False"
    lines = [*launch("0.29.0", off), engine("0.29.0", False), *READY, *stats("0.29.0", [0.0] * 8)]
    assert states(lines)[2] == "f"
    decode = f"{off}, 'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_consumer')"
    lines = [*launch("0.29.0", decode), engine("0.29.0", False), *READY, *stats("0.29.0", [0.0] * 8)]
    assert states(lines)[2] == "n"


def test_requests_that_all_fail() -> None:
    broken = '(APIServer pid=7) INFO:     10.3.0.1:50412 - "POST /v1/completions HTTP/1.1" 503 Service Unavailable'
    health = '(APIServer pid=7) INFO:     10.3.0.1:50412 - "GET /health HTTP/1.1" 200 OK'
    head = [*launch("0.29.0"), engine("0.29.0", True), *READY]
    assert states([*head, health, broken])[1] == "f"
    assert states([*head, health])[1] == "u"


def test_metrics_alone() -> None:
    values = {"prefix_cache_queries_total": 9e4, "prefix_cache_hits_total": 6e4, "num_requests_running": 9.0}
    scrape = metrics({**values, **SERVED})
    assert states([*scrape, *scrape]) == "upppu"


def test_a_failure_before_is_noted() -> None:
    lines = [
        *launch("0.29.0"),
        "(EngineCore pid=3) ERROR 05-06 06:59:00 [core.py:700] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        "(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    step = report([*lines, *server(running=12)]).acceptance[0]
    assert step.state in ("passed", "failed")
    if step.state == "passed":
        assert step.evidence["failed_attempts_before"] == 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text("\n".join(server(running=12)) + "\n")
    bad.write_text("\n".join([*server(running=12), OOM]) + "\n")
    assert main(["accept", str(good)]) == 0
    text = capsys.readouterr().out
    assert "Accepted: all five rungs hold." in text and f"{good}:" in text and "passed" in text
    assert main(["accept", "--format", "json", str(bad)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["accepted"] is False and data["acceptance"][3]["evidence"]["cause"].startswith("inference_oom.")
    assert main(["accept", "--exit-zero", str(bad)]) == 0
    assert "Not accepted: rungs 1 (failed), 4 (failed) are not shown to hold." in capsys.readouterr().out
    assert main(["accept", str(tmp_path / "none.log")]) in (2, 3)

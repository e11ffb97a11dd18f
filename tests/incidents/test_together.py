"""What only several inputs together tell: clocks, collectives, silent and missing ranks, attempts."""

import pytest

from k3triage.model.report import Report
from tests.incidents.conftest import Run

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1.12 GiB is free."


def start(rank: int, world: int, clock: str, host: str) -> str:
    tail = f"rank {rank} nranks {world} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x77aa11"
    return (
        f"(Worker_TP{rank} pid={500 + rank}) INFO {clock}:01 [parallel_state.py:1588] world_size={world} rank={rank} local_rank=0 distributed_init_method=tcp://10.24.0.10:29511 backend=nccl\n"
        f"{host}:{500 + rank}:{507 + rank} [0] NCCL INFO ncclCommInitRank comm 0x5aa {tail} - Init COMPLETE\n"
        f"(Worker_TP{rank} pid={500 + rank}) INFO {clock}:02 [parallel_state.py:1923] rank {rank} in world size {world} is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank {rank}, EP rank N/A\n"
    )


def waited(rank: int, stamp: str, work: int = 811, operation: str = "ALLREDUCE", numel: int = 8192) -> str:
    return (
        f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:689] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, OpType={operation}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600014 milliseconds before timing out.\n"
        f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: {work} PG status: last enqueued work: {work}, last completed work: {work - 1}\n"
    )


def cause(report: Report) -> str:
    assert report.verdict is not None
    return report.verdict.cause


def test_clocks_of_two_nodes_are_brought_together(run: Run) -> None:
    files = {
        "node0.log": start(0, 2, "11-20 10:00", "gpu-0") + waited(0, "1120 10:20:00.100000000"),
        "node1.log": start(1, 2, "11-20 10:03", "gpu-1") + waited(1, "1120 10:22:58.000000000"),
    }
    report = run(files)
    assert [(clock.source, round(clock.offset_seconds / 10)) for clock in report.clocks] == [("node1.log", -18)]
    assert report.verdict is not None
    # node1 was first: 10:22:58 by its clock is 10:19:58 by node0's.
    assert report.verdict.first_anomaly.source == "node1.log"
    assert any("clocks differ" in reason for reason in report.verdict.why)
    assert report.timeline[0].source == "node1.log"


def test_clocks_that_agree_are_left_alone(run: Run) -> None:
    files = {
        f"node{rank}.log": start(rank, 2, "11-20 10:00", f"gpu-{rank}") + waited(rank, f"1120 10:20:0{rank}.1")
        for rank in range(2)
    }
    assert run(files).clocks == []


def test_new_year_between_two_lines(run: Run) -> None:
    files = {
        "node0.log": start(0, 2, "12-31 23:50", "gpu-0") + waited(0, "1231 23:59:59.900000000"),
        "node1.log": start(1, 2, "12-31 23:50", "gpu-1") + waited(1, "0101 00:00:00.100000000"),
    }
    report = run(files)
    assert report.verdict is not None
    assert report.verdict.first_anomaly.source == "node0.log"
    assert report.clocks == []


def test_ranks_that_run_different_collectives(run: Run) -> None:
    files = {
        f"rank{rank}.log": start(rank, 3, "11-20 10:00", "gpu-0")
        + waited(rank, "1120 10:20:00.1", operation="ALLGATHER" if rank == 1 else "ALLREDUCE")
        for rank in range(3)
    }
    report = run(files)
    assert cause(report) == "nccl.collective_mismatch"
    assert report.verdict is not None
    assert any("rank 1 ran ALLGATHER" in reason for reason in report.verdict.why)


def test_equal_collectives_are_no_mismatch(run: Run) -> None:
    files = {
        f"rank{rank}.log": start(rank, 3, "11-20 10:00", "gpu-0") + waited(rank, "1120 10:20:00.1") for rank in range(3)
    }
    report = run(files)
    assert cause(report) == "nccl.collective_timeout"
    assert report.status.value == "inconclusive"


def test_a_straggler_is_alive_and_behind(run: Run) -> None:
    dump = "[rank2]:[E1120 10:20:03.1 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 809, last completed NCCL work: 809.\n"
    files = {
        f"rank{rank}.log": start(rank, 3, "11-20 10:00", "gpu-0")
        + (dump if rank == 2 else waited(rank, "1120 10:20:00.1"))
        for rank in range(3)
    }
    report = run(files)
    assert cause(report) == "nccl.straggler"
    assert report.verdict is not None
    assert any("Rank 2" in reason for reason in report.verdict.why)


def test_a_crashed_peer_is_no_straggler(run: Run) -> None:
    crash = f'[rank2]: Traceback (most recent call last):\n[rank2]:   File "/app/w.py", line 3, in f\n[rank2]: {OOM}\n'
    files = {
        f"rank{rank}.log": start(rank, 3, "11-20 10:00", "gpu-0")
        + (crash if rank == 2 else waited(rank, "1120 10:20:00.1"))
        for rank in range(3)
    }
    report = run(files)
    assert cause(report).endswith("cuda_out_of_memory")
    assert {f.explained_by for f in report.findings if f.cause == "nccl.collective_timeout"} == {cause(report)}


def test_a_rank_that_falls_silent_is_named(run: Run) -> None:
    files = {
        f"rank{rank}.log": start(rank, 4, "11-20 10:00", "gpu-0")
        + ("" if rank == 2 else waited(rank, "1120 10:20:00.1"))
        for rank in range(4)
    }
    report = run(files)
    assert report.status.value == "inconclusive"
    assert report.verdict is not None
    assert any("Rank 2 fell silent" in reason for reason in report.verdict.why)
    assert "rank 2" in report.verdict.missing[0].what
    assert report.verdict.missing[0].command


def test_a_rank_without_a_log_is_asked_for(run: Run) -> None:
    files = {
        f"rank{rank}.log": start(rank, 8, "11-20 10:00", "gpu-0") + waited(rank, "1120 10:20:00.1")
        for rank in (0, 1, 2, 3, 4, 6)
    }
    report = run(files)
    assert report.verdict is not None
    assert "ranks 5, 7" in report.verdict.missing[0].what


@pytest.mark.parametrize("same", [True, False])
def test_attempts_tell_since_when(run: Run, same: bool) -> None:
    def attempt(minute: int, error: str) -> str:
        return (
            f"(APIServer pid=1) INFO 11-20 10:{minute:02d}:00 [api_server.py:1] vLLM API server version 0.24.0\n"
            f"(EngineCore_DP0 pid=9) INFO 11-20 10:{minute:02d}:02 [gpu_model_runner.py:1] Starting to load model /m...\n"
            f"(EngineCore_DP0 pid=9) ERROR 11-20 10:{minute:02d}:05 [core.py:1104] EngineCore failed to start.\n"
            f"(EngineCore_DP0 pid=9) ERROR 11-20 10:{minute:02d}:05 [core.py:1104] Traceback (most recent call last):\n"
            f'(EngineCore_DP0 pid=9) ERROR 11-20 10:{minute:02d}:05 [core.py:1104]   File "/v/vllm/model_loader/w.py", line 9, in load_model\n'
            f"(EngineCore_DP0 pid=9) ERROR 11-20 10:{minute:02d}:05 [core.py:1104] {error}\n"
        )

    first = (
        OOM if same else "FileNotFoundError: [Errno 2] No such file or directory: '/m/model-00002-of-00061.safetensors'"
    )
    report = run({"k3.log": attempt(1, first) + attempt(2, OOM) + attempt(3, OOM)})
    assert report.verdict is not None
    reasons = " ".join(report.verdict.why)
    assert len(report.attempts) == 3
    assert report.verdict.first_anomaly.line > 12
    if same:
        assert "3 of 3 attempts" in reasons
    else:
        assert "2 of 3 attempts" in reasons
        assert "the cause changed" in reasons


def test_a_workers_log_with_two_starts_is_about_the_last(run: Run) -> None:
    crash = '(Worker_TP0 pid={pid}) ERROR 11-20 10:0{m}:30 [multiproc_executor.py:949] Traceback (most recent call last):\n(Worker_TP0 pid={pid}) ERROR 11-20 10:0{m}:30 [multiproc_executor.py:949]   File "/v/x.py", line 9, in load_model\n(Worker_TP0 pid={pid}) ERROR 11-20 10:0{m}:30 [multiproc_executor.py:949] {error}\n'
    missing = "FileNotFoundError: [Errno 2] No such file or directory: '/m/model-00002-of-00061.safetensors'"
    again = start(0, 2, "11-20 10:02", "gpu-0").replace("pid=500", "pid=900").replace(":500:", ":900:")
    text = (
        start(0, 2, "11-20 10:00", "gpu-0")
        + crash.format(pid=500, m=0, error=missing)
        + again
        + crash.format(pid=900, m=2, error=OOM)
    )
    report = run({"rank0.log": text})
    assert len(report.attempts) == 2
    assert cause(report).startswith("startup_oom.")


def test_the_speaker_of_the_root_is_known_in_full(run: Run) -> None:
    crash = f'(Worker_TP1 pid=501) ERROR 11-20 10:20:00 [x.py:1] Traceback (most recent call last):\n(Worker_TP1 pid=501) ERROR 11-20 10:20:00 [x.py:1]   File "/app/w.py", line 3, in f\n(Worker_TP1 pid=501) ERROR 11-20 10:20:00 [x.py:1] {OOM}\n'
    files = {
        "node0.log": start(0, 2, "11-20 10:00", "gpu-0") + waited(0, "1120 10:30:00.1"),
        "node1.log": start(1, 2, "11-20 10:00", "gpu-1") + crash,
    }
    report = run(files)
    assert report.verdict is not None
    process = report.verdict.first_anomaly.process
    assert (process.name, process.pid, process.rank, process.node) == ("Worker_TP1", 501, 1, "node1")
    assert (process.local_rank, process.gpu, process.groups["tp"]) == (0, 0, 1)

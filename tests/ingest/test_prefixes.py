import pytest

from tests.ingest.helpers import texts, unwrap


@pytest.mark.parametrize(
    ("line", "text", "name", "pid", "rank", "node"),
    [
        ("(EngineCore_DP0 pid=68) hello", "hello", "EngineCore_DP0", 68, None, None),
        ("(VllmWorker rank=3 pid=85) hello", "hello", "VllmWorker", 85, 3, None),
        ("(Worker_TP1 pid=9) hello", "hello", "Worker_TP1", 9, 1, None),
        ("(VllmWorker-0 pid=9) hello", "hello", "VllmWorker-0", 9, None, None),
        ("(RayWorkerWrapper pid=1, ip=10.0.0.2) hello", "hello", "RayWorkerWrapper", 1, None, "10.0.0.2"),
        ("(ServeReplica:default:App pid=4) hello", "hello", "ServeReplica:default:App", 4, None, None),
        ("(raylet, ip=10.0.0.3) hello", "hello", "raylet", None, None, "10.0.0.3"),
        ("(autoscaler +1m2s) hello", "hello", "autoscaler", None, None, None),
        ("(APIServer pid=1) (EngineCore_DP0 pid=68) hello", "hello", "EngineCore_DP0", 68, None, None),
        ("[rank5]: Traceback (most recent call last):", "Traceback (most recent call last):", None, None, 5, None),
        ('[rank5]:   File "a.py"', '  File "a.py"', None, None, 5, None),
        ("[rank5]:", "", None, None, 5, None),
        ("[rank5]:[E1114 22:12:26.55 a.cpp:7] x", "[E1114 22:12:26.55 a.cpp:7] x", None, None, 5, None),
        ("[default2]:hello", "[default2]:hello", None, None, None, None),
        ("[default2]: hello", "hello", None, None, 2, None),
        ('[1,3]<stderr>:  File "a.py"', '  File "a.py"', None, None, 3, None),
        ("[1,3]<stdout>: hello", "hello", None, None, 3, None),
        ("rank #6: hello", "hello", None, None, 6, None),
        ("(APIServer pid=1)", "", "APIServer", 1, None, None),
        ("(APIServer pid=1)   indented", "  indented", "APIServer", 1, None, None),
        ("(see pid=5 below) text", "(see pid=5 below) text", None, None, None, None),
        ("(core dumped) text", "(core dumped) text", None, None, None, None),
    ],
)
def test_prefix(line: str, text: str, name: str | None, pid: int | None, rank: int | None, node: str | None) -> None:
    (record,) = unwrap(line)
    process = record.process
    assert (record.text, process.name, process.pid, process.rank, process.node) == (text, name, pid, rank, node)
    assert record.raw == line


def test_ray_is_named_as_an_envelope_and_vllm_is_not() -> None:
    assert unwrap("(RayWorkerWrapper pid=1) x")[0].envelopes == ("ray",)
    assert unwrap("(EngineCore pid=1) x")[0].envelopes == ()


def test_ray_repeats_are_counted_and_taken_out() -> None:
    (record,) = unwrap(
        "\x1b[36m(RayWorkerWrapper pid=5)\x1b[0m INFO x\x1b[32m [repeated 7x across cluster] (Ray deduplicates logs by "
        "default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://docs.example/x for more options.)\x1b[0m"
    )
    assert (record.text, record.count) == ("INFO x", 7)


def test_kernel_stamps_stay_for_the_grammar() -> None:
    lines = [
        "[  123.456789] NVRM: Xid (PCI:0000:48:00): 79",
        "[Thu Aug 27 00:39:44 2026] Out of memory: Killed process 5",
    ]
    assert texts("\n".join(lines)) == lines

import pytest

from k3triage.ingest.ansi import strip_ansi


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[1;36m(Worker pid=3)\x1b[0;0m hi", "(Worker pid=3) hi"),
        ("\x1b[1A\x1b[2K5f: Pull complete", "5f: Pull complete"),
        ("\x1b]8;;https://a.example/x\x1b\\link\x1b]8;;\x1b\\ end", "link end"),
        ("\x1b]0;title\x07text", "text"),
        ("^[[36m(A pid=5)^[[0m x^[[32m y^[[0m", "(A pid=5) x y"),
        ("#033[36m(A pid=5)#033[0m x", "(A pid=5) x"),
        (r"\x1b[31mERROR\x1b[0m x", "ERROR x"),
        (r"\u001b[31mERROR\u001b[0m x", "ERROR x"),
        (r"\033[31mERROR\033[0m x", "ERROR x"),
        (r"\e[31mERROR\e[0m x", "ERROR x"),
        ("[2m2025-01-03T19:06:50Z[0m [32m INFO[0m up", "2025-01-03T19:06:50Z  INFO up"),
        ("[1;36m(VllmWorker rank=1 pid=7) text", "(VllmWorker rank=1 pid=7) text"),
        (" [36m(RayWorkerVllm pid=5) [0m [E x", "(RayWorkerVllm pid=5) [E x"),
    ],
)
def test_sequences_go(text: str, plain: str) -> None:
    assert strip_ansi(text) == plain


@pytest.mark.parametrize(
    "text",
    ["array[0] and [12] items", "depth [3m] of water", "a [0] NCCL INFO b", "path C:\\new[1]", "[rank0]:[W429 05:19 x"],
)
def test_what_only_looks_like_a_sequence_stays(text: str) -> None:
    assert strip_ansi(text) is text


def test_unfinished_sequence_does_not_hang() -> None:
    assert strip_ansi("\x1b]" + "a" * 200_000) == ""
    assert strip_ansi("x\x1b[" + "1;" * 100_000).startswith("x")

import pytest

from k3triage.ingest import progress
from tests.ingest.helpers import texts, unwrap

BAR = "Loading shards: {:3d}% Completed | {}/17 [00:21<00:24,  2.72s/it]"


def test_of_a_bar_only_the_last_state_is_kept() -> None:
    line = "(EngineCore pid=84) " + "".join("\r" + BAR.format(n, n) for n in range(0, 100, 5))
    (record,) = unwrap(line)
    assert record.text == BAR.format(95, 95)
    assert record.process.name == "EngineCore"


@pytest.mark.parametrize("joint", ["\r", ""])
def test_record_behind_a_bar_is_a_record(joint: str) -> None:
    bar = "Capturing:   0%|          | 0/51 [00:00<?, ?it/s]"
    line = f"x\n{bar}{joint}(EngineCore pid=84) ERROR 05-07 14:03:58 [core.py:1] boom"
    records = unwrap(line)
    assert [(record.line, record.text) for record in records] == [
        (1, "x"),
        (2, bar),
        (2, "ERROR 05-07 14:03:58 [core.py:1] boom"),
    ]
    assert records[1].process.pid is None
    assert records[2].process.pid == 84
    assert records[2].offset == 2


def test_text_between_bars_is_found() -> None:
    line = "a: 10%|# | 1/9 [00:01<00:02,  9it/s]\rValueError: bad\ra: 20%|# | 2/9 [00:01<00:02,  9it/s]"
    assert "ValueError: bad" in texts(line)


def test_docker_pull_states_collapse_and_its_error_stays() -> None:
    line = (
        "\r".join(f"5616e2: Extracting [==>    ]  {n}MB/99MB" for n in range(50)) + "\rwrite x: no space left on device"
    )
    assert texts(line) == ["5616e2: Extracting [==>    ]  49MB/99MB", "write x: no space left on device"]


def test_torn_prefix_and_header_glued_to_text() -> None:
    assert texts("(VllmINFO 04-18 01:02:03 [a.py:1] hi") == ["INFO 04-18 01:02:03 [a.py:1] hi"]
    assert texts("some textERROR 04-18 01:02:03 [a.py:1] hi") == ["some text", "ERROR 04-18 01:02:03 [a.py:1] hi"]


def test_text_glued_behind_a_bar() -> None:
    bar = "Loading shards:  47% Completed | 8/17 [00:21<00:24, 23.87s/it]"
    assert texts(f"{bar} terminate called after throwing an instance of 'c10::Error'") == [
        bar,
        "terminate called after throwing an instance of 'c10::Error'",
    ]
    assert texts(bar) == [bar]
    assert texts(f"{bar}   ") == [f"{bar}   "]


def test_label_before_a_header_goes() -> None:
    (record,) = unwrap("(EngineCore pid=5) [Stage-0] INFO 04-18 01:02:03 [a.py:1] hi")
    assert record.text == "INFO 04-18 01:02:03 [a.py:1] hi"
    assert record.process.pid == 5


@pytest.mark.parametrize(
    "line",
    [
        "INFO 04-18 01:02:03 [a.py:1] prompt: 'ERROR 04-18 01:02:03 [core.py:9] CUDA out of memory'",
        "INFO 04-18 01:02:03 [a.py:1] Worker (EngineCore pid=5) died, see ERROR 04-18",
        "INFO 04-18 01:02:03 [a.py:1] killing (Worker_TP0 pid=99) now",
    ],
)
def test_quoted_records_are_not_cut_out(line: str) -> None:
    assert texts(line) == [line]


def test_crlf_and_blank_lines() -> None:
    records = unwrap(b"a\r\n\r\nb\r\n")
    assert [record.text for record in records] == ["a", "", "b"]
    assert [record.line for record in records] == [1, 2, 3]
    assert [record.raw for record in records] == ["a", "", "b"]


def test_many_pieces_stay_bounded() -> None:
    line = "x]" + "(Worker pid=1)" * 5000
    assert len(progress.glued(line)) <= 65


def test_long_lines_take_linear_time() -> None:
    for line in ("(" * 300_000, "[1;" * 100_000, "INFO " * 100_000, " pid=" * 100_000, "- " * 100_000 + "INFO 01-01 "):
        assert unwrap(line)

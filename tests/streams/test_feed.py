"""However the bytes of a log are cut, `Triage` reports what one read of the whole does."""

import io
import itertools
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import k3triage
from k3triage import stream
from tests.streams.wrapped import CRASH, LOGS, NCCL, SERVING


def whole(data: bytes) -> dict:
    return plain(k3triage.triage(io.BytesIO(data)))


def plain(report: k3triage.Report) -> dict:
    return report.model_dump(mode="json")


WHOLE = {name: whole(data) for name, data in LOGS.items()}


@pytest.mark.parametrize("name", LOGS)
def test_one_byte_at_a_time(name: str) -> None:
    live = k3triage.Triage()
    for byte in LOGS[name]:
        live.feed(bytes([byte]))
    assert plain(live.report()) == WHOLE[name]


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(sorted(LOGS)) | st.sampled_from([name for name in LOGS if name.startswith("long")]),
    st.lists(st.integers(0, 250_000), max_size=8),
    st.lists(st.integers(0, 250_000), max_size=3),
    st.sampled_from([200, 3_000, 4 << 20]),
)
def test_any_cut_and_any_report_in_between(name: str, cuts: list[int], looks: list[int], piece: int) -> None:
    data = LOGS[name]
    edges = sorted({0, len(data), *(c % (len(data) + 1) for c in [*cuts, *looks])})
    stops = {c % (len(data) + 1) for c in looks}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_PIECE", piece)
        live = k3triage.Triage()
        for start, stop in itertools.pairwise(edges):
            live.feed(data[start:stop])
            if stop in stops:
                live.alarmed()
                live.report()
        assert plain(live.report()) == WHOLE[name]


def test_text_and_bytes_are_the_same() -> None:
    live = k3triage.Triage()
    for line in CRASH.splitlines(keepends=True):
        live.feed(line)
    assert plain(live.report()) == whole(CRASH.encode())


def test_a_report_is_made_once_for_what_it_covers() -> None:
    live = k3triage.Triage()
    live.feed(CRASH)
    first = live.report()
    assert live.report() is first
    live.feed(SERVING)
    assert live.report() is not first


def test_an_alarm_is_raised_by_faults_alone() -> None:
    live = k3triage.Triage()
    live.feed((NCCL + SERVING) * 20)
    live.alarmed()
    live.feed(SERVING)
    assert not live.alarmed()
    live.feed(CRASH)
    assert live.alarmed() and not live.alarmed()


def test_memory_does_not_grow_with_the_stream() -> None:
    """What is held of a flood after 18 MB is what was held after 6 MB, within a fifth."""
    block = (CRASH + SERVING + NCCL).encode() * 20
    live = k3triage.Triage()
    sizes = []
    tracemalloc.start()
    try:
        for goal in (6_000_000, 18_000_000):
            while live._stream.size < goal:
                live.feed(block)
            live.alarmed()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] < 1.2 * sizes[0]

"""However an input is cut, whichever engine searches it and however many threads do, the lines kept are the same."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage.model.records import RawLine
from k3triage.scan import Anchor, Limits, Partial, Scanner
from tests.scan.parts import slices

ANCHORS = [
    Anchor(b"Fault", "fault"),
    Anchor(b"DeepFault", "fault"),
    Anchor(b"FaultOfKind", "marker"),
    Anchor(b"ready", "marker"),
    Anchor(b"== boot", "marker", resets=True),
    Anchor(b"rate:", "stat"),
    Anchor(b"200 OK", "progress"),
    Anchor(b"tok/s", "progress"),
    Anchor(b"Hint", "join"),
]
WORDS = [a.literal for a in ANCHORS] + [b"plain", b"", b"tok/s rate:", b"Fault 200 OK", b"\r", b"\x00\xff", b"x" * 90]
SMALL = Limits(
    first=4,
    last=2,
    stat_first=3,
    stat_last=2,
    attempt_lines=60,
    tight=2,
    tail_bytes=450,
    line_bytes=500,
    cut_bytes=200,
    context_bytes=150,
)
NO_BUDGET = Limits(tail_bytes=450, line_bytes=500, cut_bytes=200, context_bytes=150)


def scan(data: bytes, cuts: list[int], limits: Limits, engine: str = "re", jobs: int = 1, cell: int = 256) -> Partial:
    scanner = Scanner(ANCHORS, engine=engine, jobs=jobs, limits=limits, cell_bytes=cell)  # type: ignore[arg-type]
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    for start, stop in itertools.pairwise(edges):
        scanner.feed(data[start:stop])
    return scanner.close()


def seen(partial: Partial) -> tuple[list[RawLine], int, int]:
    return partial.lines, partial.bytes, partial.newlines


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Logs from a few lines to some hundred, with runs of plain lines longer than a fault's surroundings."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    rare = draw(st.sampled_from([0.02, 0.2, 1.0]))
    out = []
    for n in range(draw(st.integers(0, 40)) ** 2 // 2):
        out.append(b"%d " % n + (rng.choice(WORDS) if rng.random() < rare else b"plain"))
        if rng.random() < 0.01:
            out.append(b"y" * rng.randrange(400, 1500) + rng.choice(WORDS) + b"z" * rng.randrange(800))
    data = b"\n".join(out)
    return data + b"\n" if draw(st.booleans()) else data


CUTS = st.lists(st.integers(0, 40_000), max_size=6)


@settings(max_examples=150, deadline=None)
@given(logs(), CUTS, st.sampled_from([SMALL, NO_BUDGET]), st.sampled_from([64, 256, 4096]))
def test_any_cut_gives_the_same(data: bytes, cuts: list[int], limits: Limits, cell: int) -> None:
    assert seen(scan(data, cuts, limits, cell=cell)) == seen(scan(data, [], limits, cell=1 << 16))


@settings(max_examples=60, deadline=None)
@given(logs(), CUTS, st.sampled_from([SMALL, NO_BUDGET]))
def test_both_engines_give_the_same(data: bytes, cuts: list[int], limits: Limits) -> None:
    pytest.importorskip("hyperscan")
    assert seen(scan(data, cuts, limits, "hyperscan")) == seen(scan(data, cuts, limits, "re"))


@settings(max_examples=200, deadline=None)
@given(logs(), CUTS, st.sampled_from([replace(SMALL, attempt_lines=10_000), NO_BUDGET]), st.booleans())
def test_merged_slices_are_the_whole(data: bytes, cuts: list[int], limits: Limits, right_first: bool) -> None:
    ends = sorted({data.find(b"\n", c % (len(data) + 1)) + 1 for c in cuts} - {0} | {len(data)})
    parts, start = [], 0
    for end in ends:
        parts.append(scan(data[start:end], [], limits))
        start = end
    while len(parts) > 1:
        at = len(parts) - 2 if right_first else 0
        parts[at : at + 2] = [parts[at].merge(parts[at + 1])]
    assert seen(parts[0]) == seen(scan(data, [], limits))


def number_of(data: bytes, line: RawLine) -> None:
    start = data.rfind(b"\n", 0, line.offset) + 1
    assert start == line.offset
    assert data[:start].count(b"\n") + 1 == line.number
    assert data[start:].split(b"\n", 1)[0] == line.data


@settings(max_examples=80, deadline=None)
@given(logs(), CUTS, st.sampled_from([SMALL, Limits()]))
def test_numbers_offsets_and_gaps_are_physical(data: bytes, cuts: list[int], limits: Limits) -> None:
    partial = scan(data, cuts, limits)
    last = 0
    for line in partial.lines:
        if len(line.data) != limits.cut_bytes:
            number_of(data, line)
        assert line.number > last
        assert line.gap == (line.number != last + 1)
        last = line.number
    assert partial.newlines == data.count(b"\n")
    assert partial.bytes == len(data)


@settings(max_examples=60, deadline=None)
@given(logs())
def test_without_budgets_no_anchored_line_is_missed(data: bytes) -> None:
    kept = {line.number for line in scan(data, [], Limits()).lines}
    strong = [a.literal for a in ANCHORS if a.kind in ("fault", "marker", "join")]
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if any(literal in line for literal in strong):
            assert number in kept
        if b"Fault" in line:
            around = range(max(1, number - 5), min(len(lines) - data.endswith(b"\n"), number + 20) + 1)
            assert not set(around) - kept or any(len(lines[n - 1]) > 100 for n in around)


class FileSource:
    def __init__(self, path: Path | None, data: bytes) -> None:
        self.path, self._data = path, data

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), 700):
            yield self._data[start : start + 700]


@settings(max_examples=60, deadline=None)
@given(data=logs(), jobs=st.integers(1, 3), cell=st.sampled_from([64, 256, 4096]), parts=st.integers(1, 5))
def test_a_file_gives_the_same_as_a_pipe(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, jobs: int, cell: int, parts: int
) -> None:
    path = tmp_path_factory.mktemp("scan") / "a.log"
    path.write_bytes(data)
    limits = replace(SMALL, attempt_lines=10_000)
    want = scan(data, [], limits)

    def scanner() -> Scanner:
        return Scanner(ANCHORS, "re", jobs, limits, cell)

    assert seen(scanner().scan(FileSource(path, data))) == seen(want)
    assert seen(scanner().scan(FileSource(None, data))) == seen(want)
    merged = Partial()
    for start, stop in slices(path, parts):
        merged = merged.merge(scanner().scan_slice(path, start, stop))
    assert seen(merged) == seen(want)

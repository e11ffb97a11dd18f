"""Far from the start of an attempt only strong anchors count, whatever engine, cuts, threads and slices there are."""

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage.model.records import RawLine
from k3triage.scan import Anchor, Limits, Partial, Scanner
from k3triage.scan.anchors import AnchorSet
from tests.scan.parts import slices

ANCHORS = [
    Anchor(b"DeepFault", "fault"),
    Anchor(b"rare wording", "fault"),
    Anchor(b"WARNING", "marker"),
    Anchor(b"WARNING of kind", "fault"),
    Anchor(b"ready", "marker"),
    Anchor(b"== boot", "marker", resets=True),
    Anchor(b"rate:", "stat"),
    Anchor(b"200 OK", "progress"),
]
COVER = (b"Faul", b"WARNING")
WORDS = [a.literal for a in ANCHORS] + [b"plain", b"", b"Fault alone", b"rate: rare wording", b"DeepFault ready"]
WINDOW = Limits(tail_bytes=450, line_bytes=500, cut_bytes=200, context_bytes=150, window_bytes=700)
TIGHT = Limits(
    first=4,
    last=2,
    stat_first=3,
    stat_last=2,
    tail_bytes=450,
    line_bytes=500,
    cut_bytes=200,
    context_bytes=150,
    window_bytes=700,
)


def scanner(engine: str, limits: Limits, cell: int = 128, jobs: int = 1) -> Scanner:
    return Scanner(ANCHORS, engine, jobs, limits, cell, COVER)  # type: ignore[arg-type]


def scan(data: bytes, cuts: list[int], engine: str = "hyperscan", limits: Limits = WINDOW, cell: int = 128) -> Partial:
    found = scanner(engine, limits, cell)
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    for start, stop in itertools.pairwise(edges):
        found.feed(data[start:stop])
    return found.close()


def seen(partial: Partial) -> tuple[list[RawLine], int, int]:
    return partial.lines, partial.bytes, partial.newlines


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    rng = random.Random(draw(st.integers(0, 2**32)))
    rare = draw(st.sampled_from([0.02, 0.2, 1.0]))
    lines = []
    for n in range(draw(st.integers(0, 40)) ** 2 // 3):
        lines.append(b"%d " % n + (rng.choice(WORDS) if rng.random() < rare else b"plain"))
        if rng.random() < 0.01:
            lines.append(b"y" * rng.randrange(400, 1500) + rng.choice(WORDS) + b"z" * rng.randrange(800))
    return b"\n".join(lines)


CUTS = st.lists(st.integers(0, 20_000), max_size=6)


@settings(max_examples=150, deadline=None)
@given(logs(), CUTS, st.sampled_from([WINDOW, TIGHT]), st.sampled_from([64, 128, 4096]))
def test_cuts_and_engines_give_the_same(data: bytes, cuts: list[int], limits: Limits, cell: int) -> None:
    pytest.importorskip("hyperscan")
    want = seen(scan(data, [], "re", limits, 1 << 16))
    assert seen(scan(data, cuts, "re", limits, cell)) == want
    assert seen(scan(data, cuts, "hyperscan", limits, cell)) == want


@settings(max_examples=100, deadline=None)
@given(logs(), st.integers(1, 5), st.integers(1, 3), st.sampled_from(["re", "hyperscan"]))
def test_slices_and_threads_give_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, parts: int, jobs: int, engine: str
) -> None:
    pytest.importorskip("hyperscan")
    path = tmp_path_factory.mktemp("cover") / "a.log"
    path.write_bytes(data)
    merged = Partial()
    for start, stop in slices(path, parts):
        merged = merged.merge(scanner(engine, WINDOW, jobs=jobs).scan_slice(path, start, stop))
    assert seen(merged) == seen(scan(data, [], "re", WINDOW, 1 << 16))


def kept(data: bytes, engine: str) -> list[bytes]:
    return [line.data for line in scan(data, [], engine, Limits(window_bytes=1000)).lines]


@pytest.mark.parametrize("engine", ["re", "hyperscan"])
def test_weak_anchors_count_only_near_the_start_of_an_attempt(engine: str) -> None:
    pytest.importorskip("hyperscan")
    quiet = b"plain\n" * 400
    near = b"near rare wording\n"
    assert kept(near + quiet, engine)[0] == near.strip()
    assert b"far rare wording" not in kept(quiet + b"far rare wording\n" + quiet, engine)
    assert b"a DeepFault" in kept(quiet + b"a DeepFault\n" + quiet, engine)
    assert b"a WARNING" in kept(quiet + b"a WARNING\n" + quiet, engine)
    again = quiet + b"== boot\n" + near + quiet
    assert near.strip() in kept(again, engine)
    assert b"== boot" in kept(again, engine)


def test_what_is_strong() -> None:
    anchors = AnchorSet(ANCHORS, None, COVER)
    names = [anchors.literals[i] for i in sorted(anchors.weak)]
    assert names == [b"rare wording", b"WARNING of kind", b"ready"]
    assert anchors.alarms == (b"Faul", b"== boot")
    assert not AnchorSet(ANCHORS).weak


def test_merging_wants_the_same_cover() -> None:
    other = Scanner(ANCHORS, "re", 1, WINDOW, 128)
    other.feed(b"DeepFault\n")
    with pytest.raises(ValueError, match="different anchors"):
        scan(b"DeepFault\n", []).merge(other.close())


def test_a_rule_pack_in_a_large_file(tmp_path: Path) -> None:
    """The engine's block filter at work: a failure far behind the window is found with its line number."""
    from k3triage.rules import load_pack

    pack = load_pack()
    path = tmp_path / "a.log"
    line = b'(APIServer pid=1) INFO:     10.8.1.7:51002 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    path.write_bytes(line * 60_000 + b"RuntimeError: NCCL error: unhandled system error\n" + line * 10)
    limits = Limits(window_bytes=1 << 20)
    for jobs in (1, 2):
        found = Scanner(pack.anchors, "auto", jobs, limits, cover=pack.cover)
        assert 60_001 in {kept_line.number for kept_line in found.scan_slice(path, 0, path.stat().st_size).lines}

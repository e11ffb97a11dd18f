"""Threads that take work by themselves: everything lands once and in order, errors end all of them."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from k3triage.scan import Anchor, Partial, Scanner
from k3triage.scan.crew import Crew


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_work_lands_once_and_in_order(threads: int) -> None:
    landed: list[tuple[int, int]] = []
    rng = random.Random(threads)
    waits = [rng.choice([0, 0, 0.002]) for _ in range(200)]

    def search(number: int) -> int:
        time.sleep(waits[number])
        return number * 2

    Crew(threads, search, lambda number, found: landed.append((number, found)), threads + 2).run(iter(range(200)))
    assert landed == [(n, 2 * n) for n in range(200)]


def test_no_more_is_searched_ahead_than_allowed() -> None:
    under_way, most = 0, 0
    lock = threading.Lock()

    def numbers() -> Iterator[int]:
        nonlocal under_way, most
        for number in range(60):
            with lock:
                under_way += 1
                most = max(most, under_way)
            yield number

    def search(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        return number

    def land(number: int, found: int) -> None:
        nonlocal under_way
        with lock:
            under_way -= 1

    Crew(4, search, land, 6).run(numbers())
    assert under_way == 0 and 1 < most <= 6


@pytest.mark.parametrize("where", ["search", "land", "work"])
def test_an_error_ends_all_and_is_raised(where: str) -> None:
    def numbers() -> Iterator[int]:
        for number in range(1_000):
            if where == "work" and number == 20:
                raise OSError("gone")
            yield number

    def search(number: int) -> int:
        if where == "search" and number == 20:
            raise OSError("gone")
        return number

    def land(number: int, found: int) -> None:
        if where == "land" and number == 20:
            raise OSError("gone")

    before = threading.active_count()
    with pytest.raises(OSError, match="gone"):
        Crew(3, search, land, 5).run(numbers())
    assert threading.active_count() == before


@pytest.mark.parametrize("engine", ["re", "hyperscan"])
def test_a_file_scanned_by_a_crew_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    pytest.importorskip("hyperscan")
    rng = random.Random(5)
    words = [b"Fault", b"== boot", b"rare words", b"plain", b"plain", b"plain", b"200 OK", b"x" * 700]
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(b"%d %s\n" % (n, rng.choice(words)) for n in range(20_000)))
    anchors = [
        Anchor(b"Fault", "fault"),
        Anchor(b"== boot", "marker", resets=True),
        Anchor(b"rare words", "fault"),
        Anchor(b"200 OK", "progress"),
    ]

    def scan(jobs: int) -> Partial:
        scanner = Scanner(anchors, engine, jobs, cell_bytes=2_048, cover=(b"Faul",))  # type: ignore[arg-type]
        return scanner.scan_slice(path, 0, path.stat().st_size)

    want = scan(1)
    monkeypatch.setattr("k3triage.scan.scanner._LARGE", 0)
    for jobs in (2, 3):
        found = scan(jobs)
        assert (found.lines, found.bytes, found.newlines) == (want.lines, want.bytes, want.newlines)

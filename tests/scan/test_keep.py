"""What is kept of a log, by kind of anchor and by budget."""

import subprocess
import sys
from pathlib import Path

import pytest

from k3triage.scan import Anchor, Limits, Partial, Scanner

ANCHORS = [
    Anchor(b"Fault", "fault"),
    Anchor(b"RareFault", "fault"),
    Anchor(b"ready", "marker"),
    Anchor(b"== boot", "marker", resets=True),
    Anchor(b"rate:", "stat"),
    Anchor(b"200 OK", "progress"),
    Anchor(b"Hint", "join"),
]


def scan(lines: list[bytes], limits: Limits | None = None, engine: str = "auto") -> Partial:
    scanner = Scanner(ANCHORS, engine=engine, limits=limits)  # type: ignore[arg-type]
    scanner.feed(b"\n".join(lines) + b"\n")
    return scanner.close()


def numbers(partial: Partial) -> list[int]:
    return [line.number for line in partial.lines]


def plain(count: int) -> list[bytes]:
    return [b"plain %d" % n for n in range(count)]


def test_nothing_of_a_log_without_anchors() -> None:
    partial = scan(plain(1000))
    assert (partial.lines, partial.newlines) == ([], 1000)


def test_a_fault_keeps_ten_lines_before_and_eighty_after() -> None:
    partial = scan([*plain(100), b"Fault", *plain(200)])
    assert numbers(partial) == list(range(91, 182))
    assert [line.gap for line in partial.lines] == [True] + [False] * 90


def test_surroundings_are_bounded_in_bytes() -> None:
    wide = [b"w" * 9_999] * 100
    assert numbers(scan([*wide, b"Fault", *wide])) == list(range(95, 108))


def test_a_marker_keeps_its_line_and_a_join_the_next_one_too() -> None:
    partial = scan([*plain(20), b"ready", *plain(20), b"Hint", b"tail", *plain(20)])
    assert numbers(partial) == [21, 42, 43]


def test_first_and_last_of_a_stat() -> None:
    limits = Limits(stat_first=5, stat_last=3)
    partial = scan([*[b"rate: %d" % n for n in range(50)], *plain(5)], limits)
    assert numbers(partial) == [1, 2, 3, 4, 5, 48, 49, 50]
    assert partial.dropped[b"rate:"] >= 40


def test_budgets_start_anew_with_each_attempt() -> None:
    limits = Limits(stat_first=2, stat_last=1)
    attempt = [b"== boot", *[b"rate: %d" % n for n in range(9)]]
    assert numbers(scan(attempt * 2, limits)) == [1, 2, 3, 10, 11, 12, 13, 20]


def test_progress_shows_once_after_the_start_a_fault_and_a_reset() -> None:
    work = [b"GET 200 OK"] * 200
    partial = scan([*work, b"Fault", *work, b"== boot", *work])
    outside = [line.number for line in partial.lines if line.data == work[0] and not 191 <= line.number <= 281]
    assert outside == [1, 403]
    far = scan([b"Fault", *plain(300), *work])
    assert numbers(far)[-1] == 302


def test_a_rare_fault_is_found_after_a_common_one_it_contains_had_its_share() -> None:
    limits = Limits(first=3, last=1)
    partial = scan([*([b"Fault", *plain(200)] * 20), b"RareFault", *plain(300), *([b"Fault", *plain(200)] * 9)], limits)
    kept = {line.number for line in partial.lines if b"Fault" in line.data}
    assert {1, 202, 403, 20 * 201 + 1} <= kept


def test_the_end_of_a_flood_is_kept() -> None:
    flood = [b"Fault %d" % n for n in range(60_000)]
    partial = scan(flood)
    kept = numbers(partial)
    assert kept[0] == 1 and kept[-1] == 60_000
    assert len(kept) < 3_000 + 50 + 91
    assert partial.dropped[b"Fault"] > 50_000


def test_what_is_kept_costs_bounded_memory() -> None:
    limits = Limits(kept_bytes=200_000, head_bytes=50_000)
    partial = scan([b"ready %d " % n + b"r" * 2_000 for n in range(400)], limits)
    assert sum(len(line.data) + 160 for line in partial.lines) <= 200_000
    kept = numbers(partial)
    assert kept[0] == 1 and kept[-1] == 400
    assert sum(line.gap for line in partial.lines) == 1


@pytest.mark.parametrize("engine", ["re", "hyperscan"])
def test_an_endless_line_is_kept_cut_around_its_anchor(engine: str) -> None:
    if engine == "hyperscan":
        pytest.importorskip("hyperscan")
    scanner = Scanner(ANCHORS, engine=engine)  # type: ignore[arg-type]
    scanner.feed(b"before\n")
    for _ in range(40):
        scanner.feed(b"x" * 100_000)
    scanner.feed(b"Fa")
    scanner.feed(b"ult")
    for _ in range(40):
        scanner.feed(b"y" * 100_000)
    scanner.feed(b"\nafter\n")
    partial = scanner.close()
    assert [(line.number, line.offset) for line in partial.lines] == [(1, 0), (2, 7), (3, 8_000_013)]
    cut = partial.lines[1].data
    assert len(cut) == 64 << 10 and b"xxFaultyy" in cut
    assert partial.newlines == 3


def test_carriage_returns_form_feeds_and_nul_do_not_end_lines() -> None:
    partial = scan([b"10%\r20%\rready\x0c\x00\xe2\x80\xa8", b"ready"])
    assert [(line.number, line.data) for line in partial.lines] == [
        (1, b"10%\r20%\rready\x0c\x00\xe2\x80\xa8"),
        (2, b"ready"),
    ]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"ready\n" * 100)
    partial = Scanner(ANCHORS, jobs=1, cell_bytes=60).scan_slice(path, 0, 5_000)
    assert (partial.bytes, partial.newlines) == (600, 100)


def test_parts_that_do_not_fit_are_refused() -> None:
    one = scan([b"ready"])
    other = Scanner([Anchor(b"else", "fault")])
    other.feed(b"else\n")
    with pytest.raises(ValueError, match="different anchors"):
        one.merge(other.close())
    open_end = Scanner(ANCHORS)
    open_end.feed(b"ready")
    with pytest.raises(ValueError, match="line feed"):
        open_end.close().merge(one)


@pytest.mark.parametrize("bad", [b"", b"two\nlines"])
def test_anchors_are_checked(bad: bytes) -> None:
    with pytest.raises(ValueError, match="anchor"):
        Scanner([Anchor(bad, "fault")])


def test_small_inputs_do_not_import_hyperscan() -> None:
    code = (
        "import sys; from k3triage.scan import Anchor, Scanner\n"
        "s = Scanner([Anchor(b'ready', 'marker')]); s.feed(b'ready\\n' * 1000); s.close()\n"
        "print('hyperscan' in sys.modules, 'concurrent.futures.thread' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split()[0] == "False"

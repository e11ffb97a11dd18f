from datetime import UTC, datetime

import pytest

from k3triage.ingest import times


def seconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "expected", "end"),
    [
        ("2026-03-01T10:20:30Z x", seconds(2026, 3, 1, 10, 20, 30) * 10**9, 20),
        ("2026-03-01T10:20:30.123456789Z", seconds(2026, 3, 1, 10, 20, 30) * 10**9 + 123456789, 30),
        ("2026-03-01T10:20:30.5+09:00", seconds(2026, 3, 1, 1, 20, 30) * 10**9 + 500_000_000, 27),
        ("2026-03-01T10:20:30-0330 h", seconds(2026, 3, 1, 13, 50, 30) * 10**9, 24),
        ("2026-03-01 10:20:30,250 x", seconds(2026, 3, 1, 10, 20, 30) * 10**9 + 250_000_000, 23),
    ],
)
def test_stamp(text: str, expected: int, end: int) -> None:
    assert times.stamp(text) == (expected, end)


@pytest.mark.parametrize("text", ["2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-02-03T25:00:00Z", "x", ""])
def test_stamp_refuses_what_is_no_time(text: str) -> None:
    assert times.stamp(text) is None


@pytest.mark.parametrize("value", [1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000, 1_700_000_000 * 10**9])
def test_unit_of_an_epoch_number_is_told_by_its_size(value: int) -> None:
    assert times.any_time(value) == 1_700_000_000 * 10**9
    assert times.any_time(str(value)) == 1_700_000_000 * 10**9


def test_fraction_of_an_epoch_number_is_kept_to_the_nanosecond() -> None:
    assert times.any_time("1700000000.123456789") == 1_700_000_000_123_456_789


@pytest.mark.parametrize("value", [None, True, "soon", [], -1, 10**30])
def test_any_time_of_nonsense(value: object) -> None:
    assert times.any_time(value) is None


def test_leap_day_without_a_year() -> None:
    assert times.yearless("Feb", "29", "00:00:00") is not None
    assert times.yearless("Foo", "29", "00:00:00") is None

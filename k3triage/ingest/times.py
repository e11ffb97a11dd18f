"""Times of envelopes as whole nanoseconds since 1970 UTC, which keeps the order of entries a float would merge."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from k3triage.model.lazy import lazy
from k3triage.model.records import NO_YEAR

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_SECOND = 1_000_000_000
_STAMP = lazy(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?)(?![\w:]))?"
)
# What a shift by a zone must not leave: the times that `datetime` can print.
_FIRST, _LAST = -62_135_596_800 * _SECOND, 253_402_300_799 * _SECOND
_NUMBER = lazy(r"\d{9,19}(?:\.\d{1,9})?$")


@lru_cache(maxsize=64)
def _midnight(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp())


def civil(year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: str = "") -> int | None:
    """Nanoseconds of a date and time of day in UTC; None for one that does not exist (a leap second does)."""
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        seconds = _midnight(year, month, day) + hour * 3600 + minute * 60 + second
    except ValueError:
        return None
    return seconds * _SECOND + (int(fraction[:9].ljust(9, "0")) if fraction else 0)


def stamp(text: str, start: int = 0) -> tuple[int, int] | None:
    """A date and time of RFC 3339 or ISO 8601 at `start`: nanoseconds and the index behind it.

    A blank may stand for the T, a comma for the point; without a zone the time is taken as UTC.
    """
    match = _STAMP.match(text, start)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    value = civil(int(year), int(month), int(day), int(hour), int(minute), int(second), fraction or "")
    if value is None:
        return None
    if zone is not None and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        shift = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * _SECOND
        value += shift if zone[0] == "-" else -shift
    return min(max(value, _FIRST), _LAST), match.end()


def yearless(month: str, day: str, clock: str, fraction: str = "") -> int | None:
    """The time of `Aug 19 18:30:11`, in the stand-in year."""
    number = MONTHS.get(month)
    if number is None:
        return None
    return civil(NO_YEAR, number, int(day), int(clock[0:2]), int(clock[3:5]), int(clock[6:8]), fraction)


def number(value: float | str) -> int | None:
    """An epoch number of unknown unit (seconds, milli-, micro- or nanoseconds, told apart by size) as nanoseconds."""
    try:
        if isinstance(value, str) and "." not in value:
            value = int(value)
        amount = float(value)
    except (ValueError, OverflowError):
        return None
    if not 1e8 <= amount < 1e19:
        return None
    factor = _SECOND if amount < 1e11 else 1_000_000 if amount < 1e14 else 1_000 if amount < 1e17 else 1
    if isinstance(value, int):
        return value * factor
    if isinstance(value, str):
        whole, _, fraction = value.partition(".")
        if factor == _SECOND:
            return int(whole) * factor + int(fraction[:9].ljust(9, "0") or 0)
    return round(amount * factor)


def any_time(value: Any) -> int | None:
    """Whatever a JSON field holds as a time (text of a date, number, number as text) in nanoseconds, None if none."""
    if isinstance(value, str):
        if _NUMBER.match(value):
            return number(value)
        found = stamp(value)
        return found[0] if found else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return None

"""Dates of many dresses as seconds into a leap year, since vLLM's own lines carry no year."""

from functools import lru_cache

from k3triage.model.lazy import lazy

_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6}
_MONTHS |= {"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
_DAY = 86400

_ISO = lazy(r"\d{4}[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
_US = lazy(r"(\d\d)/(\d\d)/\d{4}-(\d\d):(\d\d):(\d\d)")
_CALENDAR = lazy(r"\S+ +(\S+) +(\d{1,2}) (\d\d):(\d\d):(\d\d)")
_MONTH_NUMBER = lazy(r"(\d{1,2})\D?")


def seconds(month: int, day: int, hour: int, minute: int, second: float) -> float | None:
    """Seconds from the first of January of a leap year, None where there is no such date."""
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 62):
        return None
    return float((_DAYS_BEFORE[month - 1] + day - 1) * _DAY + hour * 3600 + minute * 60) + second


@lru_cache(maxsize=1024)
def vllm_clock(stamp: str) -> float | None:
    """`12-01 03:14:08`."""
    return seconds(int(stamp[:2]), int(stamp[3:5]), int(stamp[6:8]), int(stamp[9:11]), int(stamp[12:14]))


@lru_cache(maxsize=1024)
def iso_clock(stamp: str) -> float | None:
    """`2026-12-01 03:14:08,814`, also with slashes, `T` and a zone, anywhere in the text; a zone is taken off."""
    match = _ISO.search(stamp)
    if match is None:
        return None
    month, day, hour, minute, second, fraction, zone = match.groups()
    clock = seconds(int(month), int(day), int(hour), int(minute), float(f"{second}.{fraction or 0}"))
    if clock is None or zone in (None, "Z"):
        return clock
    offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return clock - offset if zone[0] == "+" else clock + offset


def glog_clock(monthday: str | None, time: str | None) -> float | None:
    """`1201`, `321` for 21 March or, with the year, `20261201`; and `03:15:11.623062779`.

    None for absl's `0000` before its start-up.
    """
    if not monthday or not time:
        return None
    month, day = int(monthday[-4:-2]), int(monthday[-2:])
    return seconds(month, day, int(time[:2]), int(time[3:5]), float(time[6:]))


def us_clock(stamp: str) -> float | None:
    """`12/07/2025-00:20:58`."""
    match = _US.match(stamp)
    return seconds(*map(int, match.groups())) if match else None


def calendar_clock(stamp: str) -> float | None:
    """`Thu Aug 27 00:39:44 2026`; months as names in English or as numbers (`3月`)."""
    match = _CALENDAR.match(stamp)
    if match is None:
        return None
    name = match[1]
    number = _MONTH_NUMBER.match(name)
    month = int(number[1]) if number else _MONTHS.get(name[:3].lower())
    return None if month is None else seconds(month, *map(int, match.groups()[1:]))


def epoch_clock(stamp: str) -> float | None:
    """Seconds since 1970 UTC."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(float(stamp), UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return seconds(moment.month, moment.day, moment.hour, moment.minute, moment.second + moment.microsecond / 1e6)

"""Takes the two envelopes of container runtimes off many lines at once, for the fast lane of `events`."""

from collections.abc import Iterable
from itertools import repeat
from operator import add
from typing import NamedTuple

import orjson

from k3triage.ingest.times import stamp

PLAIN, DOCKER, CRI = "", "docker-json", "cri"
# Stands for what an envelope puts between time and text; no line that the lane takes holds it.
_MARK = "\x01"
OPENING = {PLAIN: "", DOCKER: '{"log":"', CRI: _MARK}
"""What stands before the text of an opened line."""

TIME = ',"time":'

_DOCKER = ('\\n","stream":"stderr","time":"', '\\n","stream":"stdout","time":"')
_DOCKER_END = 'Z"}\n'
_CRI = ("Z stderr F ", "Z stdout F ")
# A stamp up to its point, and with all its digits.
_SECOND, _WHOLE = 20, 29
# So many different seconds are replaced in a block; each costs a pass.
_SECONDS = 12
_MOST = 20_000
# Docker spells these three as escapes.
_SPELT = (("\\u003e", ">"), ("\\u003c", "<"), ("\\u0026", "&"))

_seconds: dict[str, int | None] = {}


class Opened(NamedTuple):
    """The lines of a block: texts behind `OPENING`, JSON of the times behind `TIME`, lengths.

    common: by how much each line is longer than its length says. A line that is not known to the last character has the
    text "". Docker's texts stay as JSON spells them, but for the escapes of `>`, `<` and `&`.
    """

    texts: list[str]
    times: Iterable[str]
    lengths: list[int]
    common: int


def open_block(block: str, envelope: str, *, spelt: bool) -> Opened:
    """Open whole lines; the last one ends with a newline too. spelt: there may be `\\u00` in them."""
    if envelope == PLAIN:
        lines = block.split("\n")
        lines.pop()
        return Opened(lines, repeat(""), list(map(len, lines)), 0)
    opened = _docker(block, spelt) if envelope == DOCKER else _cri(block)
    return opened or _one_by_one(block, envelope)


def open_line(line: str, envelope: str) -> tuple[str, str]:
    """Text and time of one line however it is spelt, without `OPENING`; "" and "" where it is none of the envelope."""
    if envelope == CRI:
        texts, times, _, _ = _one_by_one(line + "\n", CRI)
        return texts[0][1:], next(iter(times))
    try:
        item = orjson.loads(line)
    except ValueError:
        return "", ""
    if len(item) != 3 or not isinstance(item, dict):
        return "", ""
    text, time, stream = item.get("log"), item.get("time"), item.get("stream")
    if not isinstance(text, str) or not isinstance(time, str) or stream not in ("stdout", "stderr"):
        return "", ""
    # What the lane asks of a plain line.
    if text[-1:] != "\n" or time[-1:] != "Z" or not (time.isascii() and text.isascii() and text[:-1].isprintable()):
        return "", ""
    texts, times = _timed([text[:-1]], [time[:-1]])
    return texts[0], times[0]


def _docker(block: str, spelt: bool) -> Opened | None:
    first, other = _DOCKER
    if other in block:
        block = block.replace(other, first)
    parts = block.split(first)
    texts = [parts[0]]
    stamps: list[str] = []
    for part in parts[1:]:
        time, end, text = part.partition(_DOCKER_END)
        if not end:
            return None
        stamps.append(time)
        texts.append(text)
    # Behind each time is a newline, and there are no others: so each line has one time, at its end.
    times = _times(stamps) if len(stamps) == block.count("\n") and texts.pop() == "" else None
    if times is None:
        return None
    lengths = list(map(add, map(len, texts), map(len, stamps)))
    common = len(first) + len(_DOCKER_END) - 1
    if spelt:
        texts = _spelt_out("\n".join(texts)).split("\n")
    return Opened(texts, times, lengths, common)


def _cri(block: str) -> Opened | None:
    if _MARK in block:
        return None
    first, other = _CRI
    parts = block.replace(first, "\n" + _MARK).replace(other, "\n" + _MARK).split("\n")
    stamps, texts = parts[:-1:2], parts[1::2]
    # No stamp begins with the mark, so each of them begins a line, and there are as many as lines: one in each.
    times = _times(stamps) if len(stamps) == len(texts) == block.count("\n") else None
    if times is None:
        return None
    return Opened(texts, times, list(map(add, map(len, stamps), map(len, texts))), len(first) - len(_MARK))


def _one_by_one(block: str, envelope: str) -> Opened:
    lines = block.split("\n")
    lines.pop()
    lengths = list(map(len, lines))
    texts: list[str] = []
    stamps: list[str] = []
    if envelope == DOCKER:
        first, other = _DOCKER
        for line in _spelt_out(block).split("\n")[:-1] if "\\u00" in block else lines:
            text, mark, rest = line.rpartition(first)
            if not mark:
                text, mark, rest = line.rpartition(other)
            texts.append(text)
            # Without its end it is no stamp.
            stamps.append(rest[:-3] if rest[-3:] == 'Z"}' else "")
    else:
        first, other = _CRI
        for line in lines:
            time, mark, text = line.partition(first)
            if not mark:
                time, mark, text = line.partition(other)
            texts.append(_MARK + text)
            stamps.append(time)
    texts, times = _timed(texts, stamps)
    return Opened(texts, times, lengths, 0)


def _spelt_out(block: str) -> str:
    for spelt, meant in _SPELT:
        block = block.replace(spelt, meant)
    return block


def _whole_second(text: str) -> int | None:
    """The nanoseconds of "2026-12-01T00:00:00."; None for any other text."""
    try:
        return _seconds[text]
    except KeyError:
        pass
    if len(_seconds) >= _MOST:
        _seconds.clear()
    found = stamp(text[:-1] + "Z") if len(text) == _SECOND and text[10] == "T" and text[19] == "." else None
    known = _seconds[text] = found[0] if found is not None and found[1] == _SECOND else None
    return known


def _times(stamps: list[str]) -> list[str] | None:
    """The JSON of the times of stamps, all of them within a few seconds; None for others."""
    widths = set(map(len, stamps))
    if widths != {_WHOLE}:
        if min(widths, default=0) <= _SECOND or max(widths) > _WHOLE:
            return None
        stamps = [text.ljust(_WHOLE, "0") for text in stamps]
    joined = ",".join(["", *stamps])
    for _ in range(_SECONDS):
        at = joined.find("T")
        if at < 0:
            break
        second = joined[max(0, at - 10) : at + 10]
        whole = _whole_second(second)
        # Ten digits, as all times of this century but its first year have.
        if whole is None or not 10**18 <= whole < 10**19:
            return None
        joined = joined.replace(f",{second}", f",{whole // 10**9}")
    # Digits alone, and with their commas as many as there must be.
    if len(joined) != len(stamps) * 20 or not joined.replace(",", "").encode().isdigit():
        return None
    return _spell([value / 1e9 for value in orjson.loads(f"[{joined[1:]}]")])


def _timed(texts: list[str], stamps: list[str]) -> tuple[list[str], list[str]]:
    """The texts and the JSON of their times, each "" where the stamp is none of a container runtime's."""
    known = _seconds
    values: list[float] = []
    unfit: list[int] = []
    for text in stamps:
        try:
            whole = known[text[:_SECOND]]
        except KeyError:
            whole = _whole_second(text[:_SECOND])
        fraction = text[_SECOND:]
        if whole is None or not 0 < len(fraction) < 10 or not fraction.isdecimal():
            unfit.append(len(values))
            values.append(0.0)
        else:
            values.append((whole + int(fraction.ljust(9, "0"))) / 1e9)
    times = _spell(values)
    for index in unfit:
        texts[index] = times[index] = ""
    return texts, times


def _spell(values: list[float]) -> list[str]:
    """The JSON of times, behind `TIME`; many at once take a tenth of the time."""
    return (TIME + orjson.dumps(values).decode()[1:-1].replace(",", "\n" + TIME)).split("\n")

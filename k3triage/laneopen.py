"""Takes the two envelopes of container runtimes off many lines at once, for the fast lane of `events`."""

import orjson

from k3triage.ingest.times import stamp

OPENING = '{"log":"'
"""What a line of Docker's json-file begins with; it stays before the text."""

_DOCKER = ('\\n","stream":"stderr","time":"', '\\n","stream":"stdout","time":"')
_CRI = ("Z stderr F ", "Z stdout F ")
_MOST = 20_000
# Docker spells these three as escapes.
_SPELT = (("\\u003e", ">"), ("\\u003c", "<"), ("\\u0026", "&"))

_seconds: dict[str, int | None] = {}

Opened = tuple[list[str], list[str]]
"""Text and JSON of the time of each line; both are "" where the line is none that is known to the last character."""


def whole_second(text: str) -> int | None:
    """The nanoseconds of "2026-12-01T00:00:00."; None for any other text."""
    try:
        return _seconds[text]
    except KeyError:
        pass
    if len(_seconds) >= _MOST:
        _seconds.clear()
    found = stamp(text[:-1] + "Z") if len(text) == 20 and text[10] == "T" and text[19] == "." else None
    known = _seconds[text] = found[0] if found is not None and found[1] == 20 else None
    return known


def open_docker(block: str, lines: list[str]) -> Opened:
    """Texts, still as JSON spells them and behind `OPENING`, and times of lines of Docker's json-file.

    block: the lines joined by newlines. A text may hold any escape; only those of `>`, `<` and `&` are gone.
    """
    if "\\u00" in block:
        for spelt, meant in _SPELT:
            block = block.replace(spelt, meant)
        lines = block.split("\n")[: len(lines)]
    first, other = _DOCKER
    texts: list[str] = []
    stamps: list[str] = []
    for line in lines:
        text, mark, rest = line.partition(first)
        if not mark:
            text, mark, rest = line.partition(other)
        texts.append(text)
        # Without its end it is no stamp.
        stamps.append(rest[:-3] if rest[-3:] == 'Z"}' else "")
    return _timed(texts, stamps)


def open_cri(lines: list[str]) -> Opened:
    """Texts and times of whole lines of containerd or CRI-O."""
    first, other = _CRI
    texts: list[str] = []
    stamps: list[str] = []
    for line in lines:
        time, mark, text = line.partition(first)
        if not mark:
            time, mark, text = line.partition(other)
        texts.append(text)
        stamps.append(time)
    return _timed(texts, stamps)


def _timed(texts: list[str], stamps: list[str]) -> Opened:
    known = _seconds
    values: list[float] = []
    add = values.append
    unfit: list[int] = []
    for text in stamps:
        try:
            whole = known[text[:20]]
        except KeyError:
            whole = whole_second(text[:20])
        fraction = text[20:]
        if whole is None or not 0 < len(fraction) < 10 or not fraction.isdecimal():
            unfit.append(len(values))
            add(0.0)
        else:
            add((whole + int(fraction.ljust(9, "0"))) / 1e9)
    # Many numbers at once take a tenth of the time.
    times = orjson.dumps(values).decode()[1:-1].split(",")
    for index in unfit:
        texts[index] = times[index] = ""
    return texts, times


def open_docker_line(line: str) -> tuple[str, str]:
    """Text and time of a whole line of Docker's json-file however it is spelt; "" and "" for any other."""
    try:
        item = orjson.loads(line)
    except ValueError:
        return "", ""
    if len(item) != 3 or not isinstance(item, dict):
        return "", ""
    text, time, stream = item.get("log"), item.get("time"), item.get("stream")
    if not isinstance(text, str) or not isinstance(time, str) or stream not in ("stdout", "stderr"):
        return "", ""
    if not text.endswith("\n") or not time.endswith("Z"):
        return "", ""
    text = text[:-1]
    # What the lane asks of a plain line.
    if not text.isascii() or not text.isprintable() or not time.isascii():
        return "", ""
    texts, times = _timed([text], [time[:-1]])
    return texts[0], times[0]


def open_cri_line(line: str) -> tuple[str, str]:
    """The same of a line of containerd or CRI-O."""
    texts, times = open_cri([line])
    return texts[0], times[0]

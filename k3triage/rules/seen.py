"""How much of the lines the patterns see, so that no line, however long, costs more than a bounded time.

A pattern with two gaps in it takes time that grows with the square of a line's length, and one search for an anchor
reads all the text. What names a fault stands near one end of a message: in the longest lines that programs write
(configurations, request dumps, nested one-liners of container tools) the middle is data.
"""

from collections.abc import Iterable

MOST = 10 << 10
"""Characters of one line that are looked at."""
LEAST = 640
"""The same where there are more long lines than `ALL` has room for."""
ALL = 2 << 20
"""Characters of all lines longer than `LEAST` that are looked at, as long as each keeps that many."""

_TAIL = 5


def room(lengths: Iterable[int]) -> int:
    """Characters that are looked at of each of the lines with these lengths: `MOST`, fewer where they are many."""
    sizes = [length for length in lengths if length > LEAST]
    most = MOST
    while most > LEAST and sum(min(size, most) for size in sizes) > ALL:
        most = max(LEAST, most // 2)
    return most


def seen(text: str, most: int) -> str:
    """The text, or four fifths from its beginning and a fifth from its end on two lines, `most` characters in all.

    The newline keeps gaps of patterns (`.*`) from reaching over what was left out.
    """
    if len(text) <= most:
        return text
    tail = most // _TAIL
    return f"{text[: most - tail - 1]}\n{text[-tail:]}"

"""How much of the lines the patterns see, so that no line, however long, costs more than a bounded time.

A pattern with two gaps in it takes time that grows with the square of a line's length, and one search for an anchor
reads all the text. What names a fault stands near one end of a message: in the longest lines that programs write
(configurations, request dumps, nested one-liners of container tools) the middle is data.
"""

import re
from collections.abc import Iterable
from functools import cache

MOST = 10 << 10
"""Characters of one line that are looked at."""
LEAST = 640
"""The same where there are more long lines than `ALL` has room for."""
ALL = 2 << 20
"""Characters of all lines longer than `LEAST` that are looked at, as long as each keeps that many."""

_TAIL = 5
# Shorter texts are searched at once: a pattern is through them in less time than it takes to look for its words.
_SHORT = 512
_TOKEN = re.compile(r"\\x..|\\u.{4}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|.", re.DOTALL)
_QUANTIFIER = ("*", "+", "?", "{")


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


def may_match(pattern: str | None, text: str) -> bool:
    """Whether a text holds, in their order, the words that every match of the pattern must hold.

    Where the last one is missing, `A.*B` would be tried from each A to the end of the text.
    """
    if pattern is None or len(text) <= _SHORT:
        return True
    words, folded = required(pattern)
    if folded and words:
        text = text.lower()
    at = 0
    for word in words:
        at = text.find(word, at) + len(word)
        if at < len(word):
            return False
    return True


@cache
def required(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Runs of plain characters that stand in every match, in order, and whether they are folded to lower case.

    Only what stands outside of groups counts; none where the pattern is a choice.
    """
    folded = pattern.startswith("(?i)")
    if not folded and pattern.startswith("(?") and pattern[2:3].isalpha() and pattern[2:3] != "P":
        pattern = pattern[pattern.index(")") + 1 :]
    tokens = _TOKEN.findall(pattern.removeprefix("(?i)"))
    words: list[str] = []
    run = ""
    depth = 0
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            return (), folded
        plain = _plain(token) if depth == 0 else None
        if plain is not None and not after.startswith(_QUANTIFIER):
            run += plain
            continue
        if run:
            words.append(run)
        run = ""
    if run:
        words.append(run)
    return tuple(word.lower() if folded else word for word in words), folded


def _plain(token: str) -> str | None:
    """The character that a part of a pattern stands for; None where it stands for anything else."""
    if token[0] == "\\":
        return None if token[1:].isalnum() else token[1:]
    return None if token[0] in "[(){}.*+?^$|" else token

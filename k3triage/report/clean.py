"""Makes text from logs safe to print and fits it into columns."""

import re
import unicodedata
from collections.abc import Sequence

from k3triage.model.lazy import lazy

# Whole sequences go first (colours, titles, hyperlinks); what is left of the control characters is spelled out, so
# that a reader sees that something was there. Bidirectional and invisible formatting can reorder a printed line.
_SEQUENCE = lazy(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,8}[0-Z\\^-~]"
)
_UNSAFE = lazy(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARK = "..."


def _spell(match: re.Match[str]) -> str:
    char = match.group()
    if char in "\t\n\r":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clean(text: str) -> str:
    """One line without terminal sequences; other control and invisible characters are spelled out (`\\x07`)."""
    return _UNSAFE.sub(_spell, _SEQUENCE.sub("", text))


def clean_lines(text: str) -> list[str]:
    """The lines of a text, each cleaned, without empty ones at the end."""
    return [clean(line) for line in text.rstrip().split("\n")]


def escape_json(text: str) -> str:
    """Serialised JSON in which C1 controls and invisible characters are `\\u` escapes: the same data, safe to print.

    Lone surrogates, which strict parsers refuse, become U+FFFD.
    """
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\n":
        return char
    return "\ufffd" if "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04x}"


def _advance(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def columns(text: str) -> int:
    """Terminal columns that a cleaned text takes."""
    return len(text) if text.isascii() else sum(map(_advance, text))


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _advance(char)
        if used > width:
            return text[:index]
    return text


def cut_middle(text: str, width: int) -> str:
    """A cleaned text in at most `width` columns; its middle gives way, since both ends of a log line tell most."""
    if len(text) > 8 * width:  # bounds the work on a line of megabytes
        text = text[: 4 * width] + text[-4 * width :]
    elif columns(text) <= width:
        return text
    room = max(width - len(_MARK), 2)
    head = _head(text, room * 2 // 3)
    tail = _head(text[::-1], room - room * 2 // 3)[::-1]
    return head + _MARK + tail


def fold(text: str, width: int) -> list[str]:
    """A cleaned text as rows of at most `width` columns, every character kept; cut behind a blank where one is near."""
    rows: list[str] = []
    while text:
        row = _head(text, width) or text[0]
        blank = row.rfind(" ") + 1
        if len(row) < len(text) and blank > len(row) // 2:
            row = row[:blank]
        rows.append(row)
        text = text[len(row) :]
    return rows


def wrap(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Cleaned words in lines of at most `width` columns; wide characters count double, a word too long is cut."""
    lines: list[str] = []
    line, empty = first, True
    for word in clean(text).split():
        while True:
            gap = "" if empty else " "
            if columns(line) + len(gap) + columns(word) <= width:
                line, empty = line + gap + word, False
                break
            if empty:
                piece = _head(word, max(width - columns(line), 1)) or word[:1]
                lines.append(line + piece)
                word = word[len(piece) :]
            else:
                lines.append(line)
            line, empty = rest, True
            if not word:
                break
    if not empty:
        lines.append(line)
    return lines


def number(value: int) -> str:
    """A count with thousands separated."""
    return f"{value:,}"


def listing(items: Sequence[str], most: int, more: str) -> str:
    """The first items, joined by commas, and how many are left."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown}, {more.format(number(len(items) - most))}"

"""Prompts and completions that a request log prints over several lines.

A prompt may hold a whole traceback that its author asks about. Its lines carry no header of their own, or a forged one,
so they are told by what stands around them: a request line that opens a quoted text and does not close it, and the line
on which the logger goes on with the parameters.
"""

from collections.abc import Sequence

from k3triage.model.lazy import lazy
from k3triage.model.records import NO_PROCESS, Header, Line

_OPENS = lazy(r"(?:Received request|Generated response|Added request) .{0,200}?\b(?:prompt|output): ['\"]")
_CLOSES = lazy(
    r"['\"], (?:params|sampling_params|prompt_token_ids|output_token_ids|finish_reason|lora_request|streaming)\b"
)
_WITHIN = 2000
"""Lines that one text may take; a text that is not closed within them was cut, and what follows speaks for itself."""


def without_texts(lines: Sequence[Line]) -> list[Line]:
    """The lines in order; those on which a request's text goes on have no words of their own.

    Between them real processes may speak; one that is heard nowhere else is an invention of the text.
    """
    spans = _spans(lines)
    if not spans:
        return list(lines)
    kept = list(lines)
    inside = {number for start, end in spans for number in range(start + 1, end + 1)}
    heard = {line.record.process for number, line in enumerate(lines) if number not in inside}
    for start, end in spans:
        speaker = lines[start].record.process
        for number in range(start + 1, end + 1):
            process = lines[number].record.process
            # A speaker without a prefix cannot be told from the processes that its text quotes.
            if speaker == NO_PROCESS or process in (speaker, NO_PROCESS) or process not in heard:
                kept[number] = _blank(kept[number])
    return kept


def _spans(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Numbers of the lines that open a text over several lines, and of those that close it."""
    spans, at = [], 0
    while at < len(lines):
        end = _end(lines, at)
        if end > at:
            spans.append((at, end))
        at = max(at, end) + 1
    return spans


def _end(lines: Sequence[Line], at: int) -> int:
    """Number of the line that closes the text which line `at` opens; -1 where it opens none, or none that is closed."""
    message = lines[at].header.message
    if "request" not in message and "response" not in message:
        return -1
    opening = _OPENS.search(message)
    if opening is None or _CLOSES.search(message, opening.end()):
        return -1
    process = lines[at].record.process
    for number in range(at + 1, min(len(lines), at + 1 + _WITHIN)):
        line = lines[number]
        if line.record.gap:
            return -1
        # A line feed inside the text begins a line without the process's prefix.
        if line.record.process not in (process, NO_PROCESS):
            continue
        if _OPENS.search(line.header.message):
            return -1
        if _CLOSES.search(line.record.text):
            return number
    return -1


def _blank(line: Line) -> Line:
    length = len(line.header.message)
    return Line(line.record, Header("", " " * length, " " * length, process=line.header.process))

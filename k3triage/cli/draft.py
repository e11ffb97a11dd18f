"""Starts a rule file from a pasted log line. What only a person knows is left as TODO."""

import re
from dataclasses import dataclass

from k3triage.errors import UsageError
from k3triage.model.lazy import lazy
from k3triage.report.clean import clean
from k3triage.report.redact import redact_text

_LONGEST = 2000
_PREFIX = lazy(
    r"^(?:\([A-Za-z_]\w{0,40}(?: [\w=.: -]{1,80})?\)\s*|\[rank\s?\d+\]:?\s*|"
    r"(?:ERROR|WARNING|INFO|CRITICAL|DEBUG) \d\d-\d\d [\d:.]{8,15} \[[^\]]{1,80}\]\s*|"
    r"\d{4}-\d\d-\d\d[T ][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?\s*|\S{1,80}:\d+:\d+ \[\d+\] (?:NCCL )?)"
)
# What changes from run to run: quoted values, paths, addresses, hexadecimal, numbers with their units.
_VARIES = lazy(
    r"\[redacted[^\]]{0,40}\]|\"[^\"]*\"|'[^']*'|`[^`]*`|<[^>]*>|(?:/[\w.@+-]+){2,}/?|\b[\w-]+(?:\.[\w-]+)*:\d+\b|\b0x[0-9a-fA-F]+\b|"
    r"\b[0-9a-f]{8,}\b|\b\d[\d.,:]*\b|[\\\"'\t]"
)
_EXCEPTION = lazy(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning): ")


@dataclass(frozen=True)
class Draft:
    """Id and text of a new rule file."""

    id: str
    text: str


def _message(line: str) -> str:
    """The line without process prefixes, time stamps and logger header."""
    while (match := _PREFIX.match(line)) and match.end():
        line = line[match.end() :]
    return line


def _anchor(message: str) -> str:
    """The longest run of words that does not vary, without an exception's name where enough is left without it."""
    best = ""
    for text in (_EXCEPTION.sub("", message), message):
        for part in _VARIES.split(text):
            words = "".join(char if char.isascii() and char.isprintable() else "\n" for char in part)
            for piece in words.split("\n"):
                stripped = piece.strip(" ,;:()[]{}=")
                best = stripped if len(stripped) > len(best) else best
        if len(best) >= 12:
            break
    return best


def _pattern(message: str, anchor: str) -> str:
    """The message as a regex: what varies matches any short text, and the anchor stands in it as it is."""
    out: list[str] = []
    at = 0
    for match in _VARIES.finditer(message):
        out += [_escape(message[at : match.start()]), r"\S+" if " " not in match.group() else ".{1,200}"]
        at = match.end()
    out.append(_escape(message[at:]))
    pattern = "".join(out).strip()
    return pattern if len(pattern) <= 300 and "'" not in pattern else _escape(anchor)


def _escape(text: str) -> str:
    # re.escape also escapes blanks and dashes, which makes a rule harder to read than it needs to be.
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _toml(text: str) -> str:
    """A TOML string that holds any cleaned text."""
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def draft(line: str, cause: str | None = None) -> Draft:
    """A rule file for the cause that shows by this line; secrets in the line are taken out.

    Raises UsageError where the line has no words that could be searched for, or the id is not `layer.name`.
    """
    from k3triage.model.enums import Layer

    first = next((part for part in line.splitlines() if part.strip()), "")
    shown = redact_text(clean(first[:_LONGEST]).strip())
    message = _message(shown)
    anchor = _anchor(message)
    if len(anchor) < 4:
        raise UsageError("the line has no words of its own to search for; paste the line that names the fault")
    layers = [layer.value for layer in Layer]
    if cause is None:
        cause = "unknown." + "_".join(re.findall(r"[a-z0-9]+", anchor.lower())[:5])
    layer, _, name = cause.partition(".")
    if layer not in layers or not re.fullmatch(r"[a-z0-9_]+", name):
        raise UsageError(f"an id is LAYER.NAME in lower case, and LAYER one of {', '.join(layers)}")
    text = f"""\
# What is wrong, in one line that names the problem and not the remedy.
id = "{cause}"
title = "TODO: {anchor[:60].replace('"', "")}"
layer = "{layer}"
status = "experimental"
confidence = "likely"
means = "TODO: what has happened when this line is printed."
not_means = "TODO: what people wrongly conclude from it."
# TODO: the page that states it; a rule without a source is an opinion.
sources = ["https://docs.vllm.ai/en/latest/"]

[[signature]]
role = "root"
# Rare in healthy logs: the scan looks for these bytes.
anchor = {_toml(anchor)}
pattern = {_toml(_pattern(message, anchor))}

[[check]]
what = "TODO: how to make sure"

[[step]]
action = "TODO: the first thing to do"
command = "TODO"
source = "https://docs.vllm.ai/en/latest/"
# The day on which you read that page.
checked = "1970-01-01"

[[example]]
text = {_toml(shown)}

[[lookalike]]
text = "TODO: a line that resembles it and has another cause"
because = "TODO"
"""
    return Draft(cause, text)

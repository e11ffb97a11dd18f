"""A rule file for tests, with what a test is about filled in."""

from pathlib import Path

from k3triage.model.records import Line, RawLine
from k3triage.pipeline import parse_lines

RULE = """
id = "{id}"
title = "A test cause"
layer = "{layer}"
means = "Something for a test."
not_means = "Not real."
sources = ["https://example.org/page"]

[[signature]]
anchor = "{anchor}"
{signature}

[[check]]
what = "Look"

{steps}

[[example]]
text = "ValueError: {anchor}"

[[lookalike]]
text = "ValueError: something else entirely"
because = "other words"
"""
STEP = """
[[step]]
action = "Do it"
command = "true"
source = "https://example.org/page"
checked = "2026-12-01"
"""


def write_rule(
    folder: Path,
    cause: str = "config.flux_capacitor_empty",
    *,
    anchor: str = "the flux capacitor is empty",
    signature: str = "",
    steps: str = STEP,
) -> Path:
    """A valid rule file in a folder, named after its cause."""
    layer, name = cause.split(".")
    path = folder / f"{name}.toml"
    path.write_text(RULE.format(id=cause, layer=layer, anchor=anchor, signature=signature, steps=steps))
    return path


def lines_of(text: str) -> list[Line]:
    """Log text as the grammar reads it."""
    raw = [RawLine(0, number, line.encode()) for number, line in enumerate(text.splitlines(), 1)]
    return parse_lines("example", text.encode(), raw).lines

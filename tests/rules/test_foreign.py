"""Patterns of packs that nobody tested with the program: they match like the shipped ones, and they end."""

import time
from pathlib import Path

import k3triage

RULE = """\
id = "config.flux_{name}"
title = "The flux is off"
layer = "config"
means = "The flux is off."
not_means = "The rest is fine."
sources = ["https://example.org/flux"]

[[signature]]
anchor = "flux"
pattern = '{pattern}'

[[check]]
what = "Look at it"

[[step]]
action = "Turn it on"
command = "flux --on"
source = "https://example.org/flux"
checked = "2026-12-01"
"""


def rule(folder: Path, name: str, pattern: str) -> Path:
    path = folder / f"flux_{name}.toml"
    path.write_text(RULE.format(name=name, pattern=pattern))
    return path


def test_a_foreign_pattern_wins_its_line(tmp_path: Path) -> None:
    rule(tmp_path, "off", r"flux capacitor \d+ is off")
    report = k3triage.triage(["ERROR: flux capacitor 12 is off\n"], rules=tmp_path)
    assert report.verdict is not None and report.verdict.cause == "config.flux_off"


def test_a_pattern_that_backtracks_without_end_is_given_up(tmp_path: Path) -> None:
    rule(tmp_path, "bomb", r"flux (x+x+)+y")
    start = time.process_time()
    report = k3triage.triage(
        ["ERROR: flux " + "x" * 60 + "\n", "RuntimeError: No CUDA GPUs are available\n"], rules=tmp_path
    )
    assert time.process_time() - start < 20
    assert report.verdict is not None and report.verdict.layer == "cuda"

"""Reads a piece of evidence as the program would."""

from textwrap import dedent
from typing import Any

from k3triage.evidence import may_hold_evidence, read_evidence
from k3triage.evidence.combine import combine
from k3triage.model.evidence import EvidenceFact


def facts(text: str) -> list[EvidenceFact]:
    """Facts of a text, indentation of the test taken off; the cheap look must let through what has facts."""
    plain = dedent(text).lstrip("\n")
    found = read_evidence("host.txt", plain)
    assert not found or may_hold_evidence(plain.encode())
    return found


def values(text: str) -> list[tuple[int, str, Any]]:
    return [(fact.line, fact.name, fact.value) for fact in facts(text)]


def named(text: str, name: str) -> list[Any]:
    return [fact.value for fact in facts(text) if fact.name == name]


def picture(*texts: str) -> dict[str, Any]:
    """Values by name of several inputs together."""
    found: list[EvidenceFact] = []
    for number, text in enumerate(texts):
        found += read_evidence(f"file{number}", dedent(text).lstrip("\n"))
    return {name: fact.value for name, fact in combine(found).items()}

"""Runs the parsers whose words a text holds over each of its sections."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from k3triage.evidence import HINTS, LIMIT
from k3triage.evidence.sections import Section, sections
from k3triage.model.evidence import EvidenceFact

# (line, name, value)
Stated = tuple[int, str, Any]
Parser = Callable[[Section], Iterable[Stated]]
_MOST = 20_000


def read(name: str, text: str) -> list[EvidenceFact]:
    """All facts of a text, in the order of its lines."""
    text = text[:LIMIT]
    data = text.encode("utf-8", "replace")
    chosen = [module for module, hints in HINTS.items() if any(hint in data for hint in hints)]
    if len(data) < 4096 and "versions" not in chosen:
        chosen.append("versions")
    if not chosen:
        return []
    found: list[EvidenceFact] = []
    for section in sections(text):
        for module in chosen:
            found.extend(_facts(module, section, name))
            if len(found) > _MOST:
                return found[:_MOST]
    found.sort(key=lambda fact: fact.line)
    return found


def _facts(module: str, section: Section, source: str) -> Iterator[EvidenceFact]:
    parser = import_module(f"k3triage.evidence.{module}")
    for line, name, value in parser.parse(section):
        yield EvidenceFact(name, value, source, line, parser.KIND, section.host)

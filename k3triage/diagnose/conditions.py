"""Conditions of remediation steps, asked of the facts of one incident.

A condition on a fact that is not known neither holds nor fails: the step is shown and says that it depends on it.
"""

from typing import Any

from k3triage.diagnose.facts import Facts
from k3triage.model import conditions
from k3triage.model.conditions import UNSET, in_words, parse_condition

__all__ = ["given", "holds", "in_words", "parse_condition"]


def given(text: str, facts: Facts) -> bool | None:
    """Like `holds`; a fact's name alone holds where the fact is known and not switched off."""
    if not conditions.is_fact_name(text):
        return holds(text, facts)
    value = facts.value(text)
    return None if value is None else value is not False and value != UNSET


def holds(text: str, facts: Facts) -> bool | None:
    """True or False where the fact is known, None where it is not."""

    def lookup(name: str) -> Any:
        value = facts.value(name)
        return facts.value(f"flags.{name}") if value is None else value

    return conditions.holds(text, lookup)

"""Conditions of remediation steps, asked of the facts of one incident.

A condition on a fact that is not known neither holds nor fails: the step is shown and says that it depends on it.
"""

from typing import Any

from k3triage.diagnose.facts import Facts
from k3triage.model import conditions
from k3triage.model.conditions import parse_condition

__all__ = ["holds", "parse_condition"]


def holds(text: str, facts: Facts) -> bool | None:
    """True or False where the fact is known, None where it is not."""

    def lookup(name: str) -> Any:
        value = facts.value(name)
        return facts.value(f"flags.{name}") if value is None else value

    return conditions.holds(text, lookup)

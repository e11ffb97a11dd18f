"""Conditions of remediation steps: "vllm < 0.28", "rdma = true", "model ~ kimi".

A condition on a fact that is not known neither holds nor fails: the step is shown and says that it depends on it.
"""

import re
from typing import Any

from k3triage.diagnose.facts import Facts
from k3triage.diagnose.findings import version_key

_CONDITION = re.compile(r"^\s*([\w.]+)\s*(<=|>=|!=|=|<|>|~)\s*(.+?)\s*$")


def parse_condition(text: str) -> tuple[str, str, str]:
    """(fact, operator, value). ValueError where the text is no condition."""
    found = _CONDITION.match(text)
    if found is None:
        raise ValueError(f"not a condition: {text!r} (write: fact operator value, as in 'vllm < 0.28')")
    return found.group(1), found.group(2), found.group(3)


def holds(text: str, facts: Facts) -> bool | None:
    """True or False where the fact is known, None where it is not."""
    name, operator, wanted = parse_condition(text)
    value = facts.value(name)
    if value is None:
        value = facts.value(f"flags.{name}")
    if value is None:
        return None
    if operator == "~":
        return re.search(wanted, str(value), re.IGNORECASE) is not None
    if operator in ("=", "!="):
        return (_plain(value) == wanted.lower()) == (operator == "=")
    left, right = version_key(str(value)), version_key(wanted)
    if not left or not right:
        return None
    left = left[: len(right)] if operator in ("<=", ">") else left
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def _plain(value: Any) -> str:
    return str(value).lower()

"""The acceptance ladder as text and as JSON."""

import json

from k3triage.model.report import AcceptanceStep, Report
from k3triage.report.clean import clean, escape_json, wrap

_STYLES = {"passed": "32", "failed": "1;31", "unknown": "33", "not_applicable": "2"}
_WIDEST = len("not_applicable")


_HOLDS = ("passed", "not_applicable")


def render_acceptance(report: Report, *, color: bool = False, width: int = 100) -> str:
    """One rung a paragraph: state, name, and below it the evidence; the last line says whether all hold."""
    lines: list[str] = []
    for step in report.acceptance:
        state = f"{step.state:<{_WIDEST}}"
        shown = f"\x1b[{_STYLES[step.state]}m{state}\x1b[0m" if color and step.state in _STYLES else clean(state)
        lines.append(f"{step.step}  {shown}  {clean(step.name)}")
        indent = " " * (_WIDEST + 5)
        for text in _evidence(step):
            lines += wrap(text, width, first=indent, rest=indent)
    open_ = [f"{step.step} ({step.state})" for step in report.acceptance if step.state not in _HOLDS]
    lines.append("")
    if report.accepted:
        lines.append("Accepted: all five rungs hold.")
    elif len(open_) == 1:
        lines.append(f"Not accepted: rung {open_[0]} is not shown to hold.")
    else:
        lines.append(f"Not accepted: rungs {', '.join(open_)} are not shown to hold.")
    return "\n".join(lines) + "\n"


def render_acceptance_json(report: Report, *, indent: int | None = None) -> str:
    """`{"accepted": bool, "acceptance": [...]}`, the steps as in the report."""
    steps = [step.model_dump(mode="json") for step in report.acceptance]
    separators = (",", ":") if indent is None else None
    content = {"accepted": report.accepted, "acceptance": steps}
    return escape_json(json.dumps(content, indent=indent, separators=separators)) + "\n"


def _evidence(step: AcceptanceStep) -> list[str]:
    """Reason, place and numbers, a line each."""
    facts = dict(step.evidence)
    lines = []
    because = facts.pop("because", None)
    if because:
        lines.append(str(because))
    source, line = facts.pop("source", None), facts.pop("line", None)
    if source is not None:
        lines.append(f"{source}:{line}")
    numbers = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value is not None)
    if numbers:
        lines.append(numbers)
    return [clean(text) for text in lines]

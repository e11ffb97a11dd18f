"""The prerequisites of a profile, for a person at a terminal and as JSON."""

from k3triage.model.checks import Check, CheckReport, Group, State
from k3triage.report.clean import clean, clean_lines, escape_json, wrap

_COLORS = {State.OK: "32", State.VIOLATED: "1;31", State.UNKNOWN: "33"}
_TITLES = {
    Group.DRIVER_CUDA: "Driver and CUDA",
    Group.IMAGE_WHEELS: "Image and wheels",
    Group.GPU_MEMORY: "GPU memory",
    Group.COMMUNICATION: "Communication",
    Group.PREFIX_CACHING: "Prefix caching",
}


def render_checks(report: CheckReport, *, color: bool = False, width: int = 100) -> str:
    """Every check with its fact, where that stands and what to do, group by group; ends with a newline."""
    width = max(width, 40)
    counts = {state: sum(check.state is state for check in report.checks) for state in State}
    violated = counts[State.VIOLATED]
    head = f"{report.title}: {violated} violated, {counts[State.UNKNOWN]} unknown, {counts[State.OK]} ok"
    lines = [_paint(clean(head), "1;31" if violated else "1", color)]
    group = None
    for check in report.checks:
        if check.group is not group:
            group = check.group
            lines += ["", _paint(_TITLES[group], "1", color)]
        lines += _check(check, color, width)
    if violated:
        first = next(check for check in report.checks if check.state is State.VIOLATED)
        lines.append("")
        lines += wrap(f"Begin with {first.id}: what stands above must hold before what stands below it.", width)
    for name, reason in report.unread.items():
        lines += wrap(f"Could not read {name}: {reason}", width)
    return "\n".join(lines) + "\n"


def _check(check: Check, color: bool, width: int) -> list[str]:
    label = f"  {check.state.value:8}  "
    rows = wrap(f"{check.id}: {check.requirement}", width, first=label, rest=" " * len(label))
    rows[0] = rows[0].replace(check.state.value, _paint(check.state.value, _COLORS[check.state], color), 1)
    indent = " " * len(label)
    if check.fact:
        place = f" ({clean(check.origin.source)}:{check.origin.line})" if check.origin is not None else ""
        rows += wrap(f"found: {check.fact}{place}", width, first=indent, rest=indent + "  ")
    if check.fix:
        rows += wrap(f"do: {check.fix}", width, first=indent, rest=indent + "  ")
    if check.note:
        rows += wrap(f"note: {check.note}", width, first=indent, rest=indent + "  ")
    if check.command:
        rows += [
            f"{indent}{'$ ' if index == 0 else '  '}{line}" for index, line in enumerate(clean_lines(check.command))
        ]
    if check.source and check.state is not State.OK:
        rows.append(f"{indent}source: {check.source} (as of {check.as_of})")
    return rows


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text


def render_checks_json(report: CheckReport, *, indent: int | None = None) -> str:
    """The whole report as one JSON object and a newline."""
    return escape_json(report.model_dump_json(indent=indent)) + "\n"

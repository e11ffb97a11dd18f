"""The report as Markdown, to paste into an issue or a chat."""

import re

from k3triage.model.enums import Role, Status
from k3triage.model.lazy import lazy
from k3triage.model.report import Report, Verdict
from k3triage.report.clean import clean, clean_lines, listing, number

_SPECIAL = lazy(r"([\\`*_{}\[\]<>#|~!@&$])")
_LONGEST = 4000


def escape(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML, mention or reference comes alive."""
    return _SPECIAL.sub(r"\\\1", clean(text))


def code(text: str) -> str:
    """Inline code that holds any text, back-ticks included."""
    text = clean(text)
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(text: str, language: str = "text", indent: str = "") -> list[str]:
    """Lines of a fenced block that holds any text."""
    lines = clean_lines(text[:_LONGEST])
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0))
    return [f"{indent}{line}" for line in (f"{fence}{language}", *lines, fence)]


def _headline(report: Report, verdict: Verdict) -> str:
    if report.status is Status.DIAGNOSED:
        return f"## {escape(verdict.layer.value)}: {escape(verdict.title)}"
    if report.status is Status.INCONCLUSIVE:
        return "## Inconclusive: the cause lies outside these inputs"
    return "## Unknown failure: something failed that no rule knows"


def _verdict(report: Report, verdict: Verdict) -> list[str]:
    first = verdict.first_anomaly
    cells = [
        f"cause {code(verdict.cause)}",
        f"phase {code(verdict.phase.value)}",
        f"confidence **{verdict.confidence.value}**",
    ]
    lines = [_headline(report, verdict), "", ", ".join(cells) + f", road back: {escape(verdict.decision.value)}", ""]
    lines += [f"First anomaly: {code(f'{first.source}:{first.line}')}", "", *fenced(first.text), ""]
    if verdict.why:
        lines += ["### Why", "", *(f"- {escape(reason)}" for reason in verdict.why), ""]
    if verdict.remediation:
        lines += ["### Do", ""]
        for index, step in enumerate(verdict.remediation, 1):
            because = f" ({escape(step.because)})" if step.because else ""
            source = (
                f" [source](<{step.source}>)" if step.source and re.match(r"https?://[^\s<>]+$", step.source) else ""
            )
            lines.append(f"{index}. {escape(step.action)}{because}{source}")
            lines += fenced(step.command, "sh", "   ") if step.command else []
        lines.append("")
    if verdict.avoid:
        lines += ["### Do not", "", *(f"- {escape(item.action)}: {escape(item.because)}" for item in verdict.avoid), ""]
    if verdict.missing:
        lines += ["### Missing to be sure", ""]
        for item in verdict.missing:
            lines.append(f"- {escape(item.what)}: {escape(item.because)}")
            lines += fenced(item.command, "sh", "  ") if item.command else []
        lines.append("")
    return lines


def _timeline(report: Report) -> list[str]:
    lines = [
        "### Timeline",
        "",
        "| when | who | what | role | explained by | where |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in report.timeline:
        cells = (row.when or "", row.who, row.what, row.role.value, row.explained_by or "", f"{row.source}:{row.line}")
        lines.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    for clock in report.clocks:
        lines.append("")
        lines.append(f"Clock of {code(clock.source)} corrected by {clock.offset_seconds:+.1f} s.")
    return [*lines, ""]


def render_markdown(report: Report) -> str:
    """The report as Markdown that ends with a newline."""
    lines = _verdict(report, report.verdict) if report.verdict else ["## Healthy: nothing wrong found", ""]
    if len(report.timeline) > 1:
        lines += _timeline(report)
    rest = [f for f in report.findings if f.role in (Role.CASCADE, Role.RECOVERED)]
    if rest:
        lines += ["### Seen as well", "", "| cause | role | count | first |", "| --- | --- | ---: | --- |"]
        for finding in rest:
            place = escape(f"{finding.first.source}:{finding.first.line}")
            lines.append(f"| {escape(finding.cause)} | {finding.role.value} | {number(finding.count)} | {place} |")
        lines.append("")
    environment = [
        f"{name} {escape(value)}"
        for name, value in report.environment.model_dump(
            include={"vllm", "torch", "torch_cuda", "nccl", "driver", "model"}
        ).items()
        if value
    ]
    if environment:
        lines += ["Environment: " + ", ".join(environment), ""]
    for item in report.inputs:
        if item.error:
            lines += [f"Could not read {code(item.source)}: {escape(item.error)}", ""]
    names = listing([code(item.source) for item in report.inputs], 8, "and {} more")
    lines.append(f"Read: {names or 'nothing'}. {report.tool.name} {report.tool.version}, rules {report.tool.rules}.")
    return "\n".join(lines) + "\n"

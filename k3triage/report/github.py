"""GitHub workflow commands: the verdict as an annotation of the log line, for a job that prints them."""

from k3triage.model.enums import Role, Status
from k3triage.model.report import Anomaly, Report
from k3triage.report.clean import clean

_LONGEST = 2000


def _data(text: str) -> str:
    """Escape what ends a workflow command; the newlines that we put in ourselves survive as %0A."""
    lines = (clean(line).replace("%", "%25") for line in text.split("\n"))
    return "%0A".join(lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _command(kind: str, title: str, message: str, place: Anomaly | None = None) -> str:
    properties = [] if place is None else [f"file={_property(place.source)}", f"line={place.line}"]
    properties.append(f"title={_property(title)}")
    return f"::{kind} {','.join(properties)}::{_data(message)}\n"


def render_github(report: Report) -> str:
    """One `::error` for the verdict, a `::warning` for each other root and each unreadable input, else a `::notice`."""
    out: list[str] = []
    verdict = report.verdict
    if verdict is None:
        if any(item.bytes and not item.error for item in report.inputs) or not report.inputs:
            out.append(_command("notice", "k3triage", "Nothing wrong found"))
        else:
            out.append(_command("warning", "k3triage", "Nothing was read, so nothing can be said"))
    else:
        lines = [verdict.first_anomaly.text[:_LONGEST].replace("\n", " ")]
        lines += [f"why: {reason}".replace("\n", " ") for reason in verdict.why[:3]]
        for index, step in enumerate(verdict.remediation[:5], 1):
            command = f": {step.command}" if step.command else ""
            lines.append(f"{index}. {step.action}{command}".replace("\n", " "))
        unsure = "inconclusive, best guess " if report.status is Status.INCONCLUSIVE else ""
        title = f"{unsure}{verdict.layer.value}: {verdict.title} ({verdict.confidence.value})"
        kind = "warning" if report.status is Status.INCONCLUSIVE else "error"
        out.append(_command(kind, title, "\n".join(lines), verdict.first_anomaly))
    for finding in report.findings:
        if finding.role is Role.ROOT and (verdict is None or finding.cause != verdict.cause):
            message = finding.first.text[:_LONGEST].replace("\n", " ")
            out.append(_command("warning", finding.cause, message, finding.first))
    for item in report.inputs:
        if item.error:
            out.append(_command("warning", "input not read", f"{item.source}: {item.error}".replace("\n", " ")))
    return "".join(out)

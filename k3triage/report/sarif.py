"""SARIF 2.1.0, which code-scanning services and editors read."""

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from k3triage.model.enums import Role, Status
from k3triage.model.report import Anomaly, FindingRef, Report, Verdict
from k3triage.report.clean import clean, clean_lines, escape_json

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Role.ROOT: "error", Role.CASCADE: "note", Role.RECOVERED: "note"}


def _uri(source: str) -> str:
    path = PurePath(source)
    quoted = quote(path.as_posix(), errors="surrogateescape")  # bytes of a file name that are no UTF-8 come back as %FF
    return f"file://{quoted}" if path.is_absolute() else quoted


def _location(place: Anomaly) -> dict[str, Any]:
    region = {"startLine": place.line, "snippet": {"text": clean(place.text)}}
    block = {"startLine": place.block.start_line, "endLine": max(place.block.start_line, place.block.end_line)}
    physical = {"artifactLocation": {"uri": _uri(place.source)}, "region": region}
    if block["startLine"] >= 1:
        physical["contextRegion"] = block
    return {"physicalLocation": physical}


def _message(verdict: Verdict) -> str:
    lines = [clean(verdict.title) + "."]
    lines += [clean(reason) for reason in verdict.why]
    for index, step in enumerate(verdict.remediation, 1):
        lines.append(f"{index}. {clean(step.action)}")
        lines += [f"   {line}" for line in clean_lines(step.command)] if step.command else []
    return "\n".join(lines)


def _result(finding: FindingRef, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.cause,
        "ruleIndex": index,
        "level": _LEVELS[finding.role],
        "message": {"text": clean(finding.first.text) or finding.cause},
        "locations": [_location(finding.first)],
        "occurrenceCount": max(finding.count, 1),
        "properties": {"role": finding.role.value, "layer": finding.layer.value},
    }


def render_sarif(report: Report) -> str:
    """One run: the verdict first, then other roots, cascades and recovered faults; unread inputs are notifications."""
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    verdict = report.verdict
    if verdict is not None:
        rules[verdict.cause] = {"id": verdict.cause, "shortDescription": {"text": clean(verdict.title)}}
        results.append(
            {
                "ruleId": verdict.cause,
                "ruleIndex": 0,
                "level": "warning" if report.status is Status.INCONCLUSIVE else "error",
                "message": {"text": _message(verdict)},
                "locations": [_location(verdict.first_anomaly)],
                "properties": {
                    "status": report.status.value,
                    "layer": verdict.layer.value,
                    "phase": verdict.phase.value,
                    "confidence": verdict.confidence.value,
                    "decision": verdict.decision.value,
                },
            }
        )
    for finding in report.findings:
        if finding.role not in _LEVELS or (verdict and finding.role is Role.ROOT and finding.cause == verdict.cause):
            continue
        rules.setdefault(finding.cause, {"id": finding.cause})
        results.append(_result(finding, list(rules).index(finding.cause)))
    unread = [item for item in report.inputs if item.error]
    notifications = [
        {"level": "error", "message": {"text": f"could not read {clean(item.source)}: {clean(item.error or '')}"}}
        for item in unread
    ]
    driver = {
        "name": report.tool.name,
        "version": report.tool.version,
        "rules": list(rules.values()),
        "properties": {"rules": report.tool.rules},
    }
    run = {
        "tool": {"driver": driver},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not unread, "toolExecutionNotifications": notifications}],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"

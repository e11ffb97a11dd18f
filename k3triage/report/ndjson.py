"""One JSON object a line: every finding, then the verdict, for tools that work line by line."""

import json

from k3triage.model.report import Report
from k3triage.report.clean import escape_json


def render_ndjson(report: Report) -> str:
    """Lines of `{"type": "finding", ...}` and, last, one of `{"type": "verdict", "status": ..., "verdict": ...}`."""
    rows = [{"type": "finding", **finding.model_dump(mode="json")} for finding in report.findings]
    rows.append(
        {
            "type": "verdict",
            "schema_version": report.schema_version,
            "tool": report.tool.model_dump(mode="json"),
            "status": report.status.value,
            "verdict": None if report.verdict is None else report.verdict.model_dump(mode="json"),
            "inputs": [item.model_dump(mode="json") for item in report.inputs],
        }
    )
    return "".join(escape_json(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)

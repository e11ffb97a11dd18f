"""The whole report as one JSON object."""

from k3triage.model.report import Report
from k3triage.report.clean import escape_json


def render_json(report: Report, *, indent: int | None = None) -> str:
    """The contract's JSON object and a newline; the same data as `Report.model_dump_json()`.

    Characters that could steer a terminal or hide text leave as `\\u` escapes.
    """
    return escape_json(report.model_dump_json(indent=indent)) + "\n"

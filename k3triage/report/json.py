"""The whole report as one JSON object."""

import json

from k3triage.model import plain
from k3triage.model.report import Report
from k3triage.report.clean import escape_json


def render_json(report: Report, *, indent: int | None = None) -> str:
    """The contract's JSON object and a newline; the same data as `Report.model_dump_json()`.

    Characters that could steer a terminal or hide text leave as `\\u` escapes.
    """
    if plain.chosen:
        return escape_json(_dumped(report, indent)) + "\n"
    from pydantic_core import PydanticSerializationError

    try:
        text = report.model_dump_json(indent=indent)
    except PydanticSerializationError:  # a file name that is not UTF-8
        text = _dumped(report, indent)
    return escape_json(text) + "\n"


def _dumped(report: Report, indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=indent, separators=separators)

"""Marks a verdict of `--follow` that takes another one's place."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k3triage.cli.terminal import message

if TYPE_CHECKING:
    from k3triage.model.report import Report


@dataclass(frozen=True)
class Revision:
    """number: which verdict of the run it is, from 1 on. replaces: the cause, or status, that was shown before."""

    number: int
    replaces: str | None
    place: str


def revised(before: "Report | None", number: int) -> Revision:
    """What to say of a verdict that comes after another one."""
    if before is None:
        return Revision(number, None, "")
    verdict = before.verdict
    if verdict is None:
        return Revision(number, str(before.status), "")
    first = verdict.first_anomaly
    return Revision(number, verdict.cause or str(before.status), f" at {first.source}:{first.line}")


def mark(text: str, revision: Revision, form: str) -> str:
    """The rendered report with the mark: a line above a page of text, fields of an NDJSON verdict.

    Other formats have no room for it, so there it is a message on stderr.
    """
    if form == "ndjson":
        *rows, last = text.splitlines()
        row = {**json.loads(last), "revision": revision.number, "replaces": revision.replaces}
        from k3triage.report.clean import escape_json

        return "".join(f"{line}\n" for line in (*rows, escape_json(json.dumps(row, ensure_ascii=False))))
    if revision.replaces is None:
        return text
    from k3triage.report.clean import clean

    said = clean(f"revised verdict {revision.number}, in place of {revision.replaces}{revision.place}")
    if form == "text":
        return f"\n=== {said} ===\n{text}"
    message(said)
    return text

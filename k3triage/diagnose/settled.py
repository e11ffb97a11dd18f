"""Complaints that a later line declares over: a pod that waited and was scheduled, an image that was pulled at last."""

import re
from collections.abc import Sequence

from k3triage.diagnose.parsed import Finding
from k3triage.rules.match import Matches


def settle(findings: Sequence[Finding], matches: Matches) -> None:
    """Mark as recovered what a "settled" marker of the same input, further down, puts an end to."""
    over = [
        (index, re.compile(marker.settles).search)
        for index, markers in matches.markers.items()
        for marker in markers
        if marker.settles is not None
    ]
    for finding in findings:
        text = finding.line.record.text
        if any(index > finding.index and search(text) for index, search in over):
            finding.recovered = True

"""`k3triage events FILE...`: typed events, one JSON object a line."""

import argparse
import sys

from k3triage.cli.terminal import hush


def command(options: argparse.Namespace) -> int:
    """Print every event as it is read; a reader that goes away ends the work quietly."""
    from k3triage.api import events
    from k3triage.report.clean import escape_json

    try:
        for event in events(*options.inputs):
            sys.stdout.write(escape_json(event.model_dump_json()) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    return 0

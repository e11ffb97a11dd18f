"""`k3triage accept FILE...`: whether a service that runs may be put back to work, in five rungs."""

import argparse
import sys

from k3triage.cli.exitcodes import FOUND, UNREAD
from k3triage.cli.terminal import Progress, message, page_width, wants_color, write


def command(options: argparse.Namespace) -> int:
    """Print the ladder; 0 where all five rungs hold, 3 where an input could not be read, else 1."""
    from k3triage.api import triage
    from k3triage.report.acceptance import render_acceptance, render_acceptance_json

    with Progress(f"reading {len(options.inputs)} input{'s' * (len(options.inputs) != 1)}"):
        report = triage(
            *options.inputs, rules=options.rules, jobs=options.jobs, engine=options.engine, redact=options.redact
        )
    unread = [item for item in report.inputs if item.error]
    for item in unread:
        message(f"could not read {item.source}: {item.error}")
    on_screen = options.output in (None, "-")
    if options.format == "json":
        text = render_acceptance_json(report, indent=2 if on_screen and sys.stdout.isatty() else None)
    else:
        color = wants_color(options.color, sys.stdout) and (on_screen or options.color == "always")
        text = render_acceptance(report, color=color, width=page_width(sys.stdout))
    write(text, options.output)
    if unread:
        return UNREAD
    return 0 if report.accepted or options.exit_zero else FOUND

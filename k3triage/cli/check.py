"""`k3triage check FILE...`: the prerequisites of a profile against the evidence given."""

import argparse
import sys

from k3triage.cli.exitcodes import FOUND, UNREAD
from k3triage.cli.terminal import Progress, message, page_width, wants_color, write


def command(options: argparse.Namespace) -> int:
    """Print the checks; 1 where a prerequisite is violated, 3 where an input could not be read, else 0."""
    from k3triage.api import check
    from k3triage.report.checks import render_checks, render_checks_json

    with Progress(f"reading {len(options.inputs)} input{'s' * (len(options.inputs) != 1)}"):
        report = check(*options.inputs, profile=options.profile, rules=options.rules)
    for name, reason in report.unread.items():
        message(f"could not read {name}: {reason}")
    on_screen = options.output in (None, "-")
    if options.format == "json":
        text = render_checks_json(report, indent=2 if on_screen and sys.stdout.isatty() else None)
    else:
        color = wants_color(options.color, sys.stdout) and (on_screen or options.color == "always")
        text = render_checks(report, color=color, width=page_width(sys.stdout))
    write(text, options.output)
    if report.unread:
        return UNREAD
    return FOUND if report.violated and not options.exit_zero else 0

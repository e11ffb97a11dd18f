"""`k3triage FILE...`: one triage, rendered."""

import sys
import time
from typing import TYPE_CHECKING

from k3triage.cli.exitcodes import FOUND, INTERRUPTED, UNREAD
from k3triage.cli.interrupt import interruptible
from k3triage.cli.terminal import Progress, message, page_width, wants_color, write
from k3triage.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from k3triage.model.report import Report


def _render(report: "Report", options: "argparse.Namespace") -> str:
    on_screen = options.output in (None, "-")
    if options.format == "text":
        from k3triage.report.text import render_text

        color = wants_color(options.color, sys.stdout) and (on_screen or options.color == "always")
        return render_text(report, color=color, width=page_width(sys.stdout), lang=options.lang)
    if options.format == "json":
        from k3triage.report.json import render_json

        return render_json(report, indent=2 if on_screen and sys.stdout.isatty() else None)
    if options.format == "ndjson":
        from k3triage.report.ndjson import render_ndjson as render
    elif options.format == "markdown":
        from k3triage.report.markdown import render_markdown as render
    elif options.format == "html":
        from k3triage.report.html import render_html as render
    elif options.format == "sarif":
        from k3triage.report.sarif import render_sarif as render
    else:
        from k3triage.report.github import render_github as render
    return render(report)


def exit_code(report: "Report", exit_zero: bool) -> int:
    """3 where an input could not be read, else 1 for a failure of any status, else 0."""
    from k3triage.model.enums import Status

    if any(item.error for item in report.inputs):
        return UNREAD
    return 0 if exit_zero or report.status is Status.HEALTHY else FOUND


def _stats(report: "Report", seconds: float) -> None:
    size = sum(item.bytes for item in report.inputs)
    lines = sum(item.lines or 0 for item in report.inputs)
    found = sum(finding.count for finding in report.findings)
    message(
        f"inputs {len(report.inputs)}, {size:,} bytes, {lines:,} lines in {seconds:.3f} s "
        f"({size / max(seconds, 1e-9) / 1e9:.3f} GB/s); {len(report.findings)} findings over {found:,} lines"
    )
    for item in report.inputs:
        message(
            f"  {item.source}: {item.bytes:,} bytes, envelope {item.envelope}, {item.skipped:,} records passed over"
        )


def _follow(options: "argparse.Namespace") -> int:
    from k3triage.cli.follow import follow

    if options.output not in (None, "-"):
        raise UsageError("--follow prints one report after another, so it cannot be written to one file with -o")

    def show(report: "Report", before: "Report | None", number: int) -> bool:
        from k3triage.cli.revised import mark, revised

        return write(mark(_render(report, options), revised(before, number), options.format))

    report, signal = follow(options, show)
    return 128 + signal if signal else exit_code(report, options.exit_zero)


def _meant(name: str) -> str:
    """A hint where a word that is no file looks like a command."""
    from difflib import get_close_matches

    from k3triage.cli.plainwords import COMMANDS

    near = get_close_matches(name, COMMANDS, 1, 0.75)
    return f" Did you mean the command {near[0]}?" if near else ""


def command(options: "argparse.Namespace") -> int:
    """Triage the inputs, print the report, return the exit code."""
    if options.follow:
        return _follow(options)
    from k3triage.api import triage

    start = time.perf_counter()
    what = f"reading {len(options.inputs)} input{'s' * (len(options.inputs) != 1)}"
    with interruptible(options.inputs) as (inputs, interrupted), Progress(what):
        report = triage(
            *inputs,
            profile=options.profile,
            rules=options.rules,
            jobs=options.jobs,
            engine=options.engine,
            redact=options.redact,
        )
    seconds = time.perf_counter() - start
    for item in report.inputs:
        if item.error:
            message(f"could not read {item.source}: {item.error}{_meant(item.source)}")
    if interrupted():
        message("interrupted: the report is about what was read until then")
    write(_render(report, options), options.output)
    if options.stats:
        _stats(report, seconds)
    return INTERRUPTED if interrupted() else exit_code(report, options.exit_zero)

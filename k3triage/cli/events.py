"""`k3triage events FILE...`: typed events, one JSON object a line."""

import argparse
import sys

from k3triage.cli.terminal import hush, message
from k3triage.errors import InputError, UsageError


def command(options: argparse.Namespace) -> int:
    """Print every event as it is read; a reader that goes away ends the work quietly. 3 where an input was not read."""
    from k3triage.rows import event_lines

    code = 0

    def unread(name: str, error: str) -> None:
        nonlocal code
        code = InputError.exit_code
        message(f"could not read {name}: {error}")

    out = getattr(sys.stdout, "buffer", None)
    try:
        for lines in event_lines(*options.inputs, unread=unread):
            if out is not None:
                out.write(lines)
                out.flush()
            else:
                sys.stdout.write(lines.decode())
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError as error:
        hush()
        raise UsageError(f"cannot write to standard output: {error.strerror or error}") from None
    return code

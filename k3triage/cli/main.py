"""Entry point: picks the command, and turns every error into a message and an exit code."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from k3triage.cli.exitcodes import INTERNAL, INTERRUPTED
from k3triage.cli.plainwords import COMMANDS, plain_words
from k3triage.cli.terminal import hush, message
from k3triage.errors import K3TriageError

if TYPE_CHECKING:
    import argparse


def _prepare_streams() -> None:
    """Make printing safe: characters that the terminal's encoding lacks are spelled out, closed streams swallow all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _lighten(options: "argparse.Namespace") -> None:
    """Leave pydantic out where the process only prints text and has nothing of a user's to validate."""
    from k3triage.model import plain

    if options.subcommand == "events":
        plain.choose()
        return
    if options.subcommand != "triage" or options.format not in ("text", "json"):
        return
    if options.follow or options.rules or options.redact or options.profile:
        return
    from k3triage.rules.compiled import is_compiled

    if is_compiled():
        plain.choose()


def main(argv: Sequence[str] | None = None, *, alone: bool = False) -> int:
    """Run one command line and return its exit code: 0 to 4 as `--help` lists them, 130 when interrupted.

    alone: nothing else runs in this process, so that it may take the unchecked models (see `k3triage.model.plain`).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    try:
        options = plain_words(words)
        if options is None:
            from k3triage.cli.arguments import parse

            options = parse(words)
        if alone:
            _lighten(options)
        code = import_module(COMMANDS[options.subcommand]).command(options)
        return int(code)
    except SystemExit as stop:  # argparse: help, version, wrong usage
        return stop.code if isinstance(stop.code, int) else 2
    except K3TriageError as error:
        message(str(error))
        return error.exit_code
    except BrokenPipeError:
        hush()
        return 0
    except KeyboardInterrupt:
        message("interrupted")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("K3TRIAGE_DEBUG"):
            raise
        message(f"internal error: {type(error).__name__}: {error}\nset K3TRIAGE_DEBUG=1 to see where, and report it")
        return INTERNAL


def run() -> None:
    """The `k3triage` command."""
    # A run makes many small objects that live to its end; looking through them again and again costs a tenth of it.
    gc.set_threshold(100_000, 50, 50)
    # numpy only counts lines here, and threads of its own that wait for work keep the searching ones off the cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(alone=True))

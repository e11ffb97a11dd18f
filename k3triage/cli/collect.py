"""`k3triage collect`: gathers the capture bundle of this host."""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from k3triage.cli.exitcodes import UNREAD
from k3triage.cli.terminal import Progress, message
from k3triage.collect.gather import Summary, Wanted, collect
from k3triage.collect.machine import LocalMachine
from k3triage.errors import UsageError
from k3triage.model.lazy import lazy

_CONTAINER = lazy(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_POD = lazy(r"(?:[a-z0-9][a-z0-9.-]*/)?[a-z0-9][a-z0-9.-]*", re.ASCII)
_SHOWN = 8
_LONGEST = 100


def _wanted(options: argparse.Namespace) -> Wanted:
    for name in options.container:
        if not _CONTAINER.fullmatch(name):
            raise UsageError(f"{name!r} is no name or id of a container")
    for name in options.pod:
        if not _POD.fullmatch(name):
            raise UsageError(f"{name!r} is no pod: give NAMESPACE/POD, or POD")
    if options.auto and (options.container or options.pod or options.pid):
        raise UsageError("'auto' looks for the server itself, so --container, --pod and --pid do not go with it")
    return Wanted(options.container, options.pod, options.pid)


@contextmanager
def _target(name: str) -> Iterator[IO[bytes]]:
    """The output; a file appears under its name only when it is complete, and only its owner may read it."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(part).replace(path)
    except BaseException as error:
        with suppress(OSError):
            Path(part).unlink()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise UsageError(f"cannot write {name}: {error.strerror or error}") from None
        raise


def _tell(summary: Summary, name: str, redact: bool) -> None:
    for note in summary.notes:
        message(note)
    for line in summary.unknown:
        message(f"not found: {line}")
    if not summary.has_log:
        message("no log of a server is in the bundle: name it with --container, --pod or --pid")
    if summary.absent:
        more = f", and {len(summary.absent) - _SHOWN} more" * (len(summary.absent) > _SHOWN)
        message(
            "absent, see manifest.json: "
            + "; ".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}...)" for line in summary.absent[:_SHOWN])
            + more
        )
    if not redact:
        message("secrets and prompts were left in, as --no-redact asks; do not pass this bundle on")
    message(f"wrote {summary.gathered} members to {'standard output' if name == '-' else name}; next: k3triage {name}")


def command(options: argparse.Namespace) -> int:
    """Write the bundle; 3 where something named was not found (the bundle is written all the same)."""
    wanted = _wanted(options)
    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("the bundle is no text: give a file with -o, or a pipe")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = options.output or f"k3triage-{re.sub(r'[^A-Za-z0-9.-]', '_', os.uname().nodename)}-{stamp}.tar.gz"
    with _target(name) as stream, Progress("gathering"):
        summary = collect(LocalMachine(), wanted, stream, timeout=options.timeout, redact=options.redact)
    _tell(summary, name, options.redact)
    return UNREAD if summary.unknown else 0

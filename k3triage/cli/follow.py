"""`k3triage --follow`: a verdict as soon as the log has come to rest, and again whenever it changes."""

import argparse
import os
import select
import sys
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import IO, TYPE_CHECKING

from k3triage.errors import InputError

if TYPE_CHECKING:
    from k3triage.api import Triage
    from k3triage.model.report import Report

_BLOCK = 1 << 20
_PAUSE = 0.25
# A traceback is printed within this time; a verdict in the middle of it would be about half of the evidence.
_REST = 1.0
# A log that never rests still gets a verdict now and then; making one may take at most a tenth of the time.
_BUSY = 10.0


class _Followed:
    """One growing input. A file that was truncated or replaced starts again, as `tail -F` does."""

    def __init__(self, name: str, make: Callable[[str], "Triage"]) -> None:
        self.name = name
        self.ended = False
        self._make = make
        self.triage = make(name)
        self._path = None if name == "-" else Path(name)
        self._file = self._open()
        self._read = 0

    def _open(self) -> IO[bytes]:
        if self._path is None:
            return sys.stdin.buffer
        try:
            return self._path.open("rb")
        except OSError as error:
            raise InputError(f"cannot follow {self.name}: {error.strerror or error}") from None

    def _replaced(self) -> bool:
        if self._path is None:
            return False
        try:
            there = self._path.stat()
        except OSError:  # between the two steps of a rotation
            return False
        here = os.fstat(self._file.fileno())
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino) or there.st_size < self._read

    def poll(self, wait: float) -> bool:
        """Read what is there, for at most `wait` seconds without anything; whether something new came."""
        if self._path is None:
            if self.ended or not select.select([self._file], [], [], wait)[0]:
                return False
            data = os.read(self._file.fileno(), _BLOCK)
            self.ended = not data
        else:
            data = self._file.read(_BLOCK)
            if not data and self._replaced():
                self._file.close()
                self._file, self._read, self.triage = self._open(), 0, self._make(self.name)
                data = self._file.read(_BLOCK)
            self._read += len(data)
        if data:
            self.triage.feed(data)
        return bool(data)


def _key(report: "Report") -> tuple[object, ...]:
    """What makes a verdict another one for the user."""
    verdict = report.verdict
    if verdict is None:
        return (report.status,)
    first = verdict.first_anomaly
    return (report.status, verdict.cause, verdict.confidence, first.source, first.line)


def _report(inputs: list[_Followed], profile: str | None, redact: bool) -> "Report":
    parts = (item.triage.partial() for item in inputs)
    return reduce(lambda one, other: one.merge(other), parts).report(profile=profile, redact=redact)


def follow(options: argparse.Namespace, show: Callable[["Report"], None]) -> tuple["Report", bool]:
    """Follow the inputs until standard input ends or the user interrupts; the last report, and whether interrupted.

    show: called with every report whose verdict differs from the one before, and with the last one if none was shown.
    Raises InputError for a file that cannot be opened.
    """
    from k3triage.api import Triage
    from k3triage.model.enums import Status

    def make(name: str) -> Triage:
        return Triage(profile=options.profile, rules=options.rules, name=name, engine=options.engine)

    inputs = [_Followed(name, make) for name in options.inputs]
    shown: tuple[object, ...] | None = None
    fresh = False
    interrupted = False
    last_data = last_report = time.monotonic()
    cost = 0.0

    def look() -> "Report":
        nonlocal shown, fresh, last_report, cost
        start = time.monotonic()
        report = _report(inputs, options.profile, options.redact)
        last_report, fresh = time.monotonic(), False
        cost = last_report - start
        # Until something fails there is nothing to say; after that, also that it is over.
        if _key(report) != shown and (shown is not None or report.status is not Status.HEALTHY):
            show(report)
            shown = _key(report)
        return report

    try:
        while not all(item.ended for item in inputs):
            news = [item.poll(_PAUSE if len(inputs) == 1 else 0) for item in inputs]
            now = time.monotonic()
            if any(news):
                fresh, last_data = True, now
            elif fresh and now - last_data >= _REST:
                look()
            else:
                time.sleep(_PAUSE)
            if fresh and now - last_report >= max(_BUSY, 10 * cost):
                look()
    except KeyboardInterrupt:
        interrupted = True
    report = look()
    if shown is None:
        show(report)
    return report, interrupted

"""`k3triage --follow`: a verdict within a second of the line that settles it, and again whenever it changes."""

import argparse
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from k3triage.cli.tailing import Followed

if TYPE_CHECKING:
    from k3triage.model.report import Report

_PAUSE = 0.1
# Signs of a fault are judged when the log comes to rest (a traceback is printed within this time), at the latest after
# `_URGENT` in a log that never rests.
_REST = 0.25
_URGENT = 0.5
# Without such signs there is less to learn: that work went on, or statistics.
_CALM_REST = 1.0
_CALM = 10.0
# A report may take this share of the time: one in three while something fails, one in twenty else.
_URGENT_SHARE = 2
_CALM_SHARE = 20

Show = Callable[["Report", "Report | None", int], bool]


class _Stop:
    """The first SIGINT or SIGTERM asks for the end; the second one forces it."""

    def __init__(self) -> None:
        self.signal = 0

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def _stoppable() -> Iterator[_Stop]:
    stop = _Stop()
    before = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _key(report: "Report") -> tuple[object, ...]:
    """What makes a verdict another one for the user."""
    verdict = report.verdict
    if verdict is None:
        return (report.status,)
    first = verdict.first_anomaly
    return (report.status, verdict.cause, verdict.confidence, first.source, first.line)


class _Verdicts:
    """Makes reports when they are due and shows those whose verdict is another one."""

    def __init__(self, inputs: list[Followed], options: argparse.Namespace, show: Show) -> None:
        self._inputs = inputs
        self._profile, self._redact = options.profile, options.redact
        self._show = show
        self.shown: Report | None = None
        self.heard = True  # False once nobody reads what is shown
        self._revision = 0
        self._cost = 0.0
        self._fresh = False
        self._alarm = 0.0
        self._data = self._last = time.monotonic()

    def news(self) -> None:
        """Something new was read."""
        now = time.monotonic()
        self._fresh, self._data = True, now
        alarms = [item.alarmed() for item in self._inputs]  # every input is asked, so that signs count once
        if any(alarms) and not self._alarm:
            self._alarm = now

    def due(self) -> bool:
        """Whether it is time for another report."""
        now = time.monotonic()
        rest, since = now - self._data, now - self._last
        if any(item.behind for item in self._inputs):
            return bool(self._alarm) and since >= max(_CALM, _CALM_SHARE * self._cost)
        if self._alarm:
            return since >= _URGENT_SHARE * self._cost and (rest >= _REST or now - self._alarm >= _URGENT)
        if not self._fresh or since < _CALM_SHARE * self._cost:
            return False
        return rest >= _CALM_REST or since >= _CALM

    def look(self, *, last: bool = False) -> "Report":
        """Make a report; show it where it differs, or where it is the last and none was shown."""
        from k3triage.model.enums import Status

        start = time.monotonic()
        self._fresh, self._alarm = False, 0.0
        first, *others = [item.partial() for item in self._inputs]
        report = first.merge(*others).report(profile=self._profile, redact=self._redact)
        self._last = time.monotonic()
        self._cost = self._last - start
        # Until something fails there is nothing to say; after that, also that it is over.
        silent = self.shown is None and report.status is Status.HEALTHY and not last
        if not silent and (self.shown is None or _key(report) != _key(self.shown)):
            self._revision += 1
            self.heard = self._show(report, self.shown, self._revision)
            self.shown = report
        return report


def follow(options: argparse.Namespace, show: Show) -> tuple["Report", int]:
    """Follow the inputs until all have ended or a signal comes; the last report, and the signal's number or 0.

    show: called with a report, the one it replaces (None for the first) and its number from 1 on: each whose verdict
        differs from the one before, and the last one if none was shown. What it returns says whether to go on.
    Raises InputError for a file that cannot be opened.
    """
    from k3triage.api import Triage

    def make(name: str) -> Triage:
        return Triage(profile=options.profile, rules=options.rules, name=name, engine=options.engine)

    inputs = [Followed(name, make) for name in options.inputs]
    verdicts = _Verdicts(inputs, options, show)
    wait = _PAUSE if len(inputs) == 1 else 0.0
    with _stoppable() as stop:
        while not stop.signal and verdicts.heard and not all(item.ended for item in inputs):
            news = [item.poll(wait) for item in inputs]
            if any(news):
                verdicts.news()
            elif not verdicts.due():
                time.sleep(_PAUSE)
            if verdicts.due():
                verdicts.look()
        return verdicts.look(last=True), stop.signal

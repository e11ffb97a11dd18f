"""A handler for Python's `logging` that triages what a program logs and calls back with the verdict.

handler = TriageHandler(on_verdict=lambda report, before: page(report.to_text()))
logging.getLogger().addHandler(handler)
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from k3triage.api import Triage

if TYPE_CHECKING:
    from k3triage.model.report import Report

OnVerdict = Callable[["Report", "Report | None"], object]

_FORMAT = "%(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s"
_CLOCK = "%m-%d %H:%M:%S"
# A traceback is logged within this time; a verdict in the middle of it would be about half of the evidence.
_REST = 0.25
# Records that never pause get a verdict after so long; making one may take a third of the time at most.
_LATEST = 1.0
_SHARE = 2


class TriageHandler(logging.Handler):
    """Feeds every record to a `Triage` and reports each verdict that differs from the one before.

    on_verdict: called with the report and the one it replaces (None at first), in a thread of the handler, never with a
        healthy report before a failure. What it raises goes to `logging.raiseExceptions`' place, as for any handler.
    most: records that may wait; the oldest go when there are more, and `dropped` counts them. Logging never waits for a
        triage. profile, rules: as for `k3triage.Triage`. name: the input's name in reports.

    Records are written as vLLM writes its own, exceptions included; another formatter may be set. `flush` waits until
    all that was logged has been judged; `close` (and the end of the program) does so too.
    """

    def __init__(
        self,
        on_verdict: OnVerdict,
        *,
        level: int = logging.NOTSET,
        most: int = 10_000,
        profile: str | None = None,
        rules: tuple[str, ...] = (),
        name: str = "logging",
    ) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter(_FORMAT, _CLOCK))
        self.dropped = 0
        self._on_verdict = on_verdict
        self._triage = Triage(profile=profile, rules=rules, name=name)
        self._waiting: deque[str] = deque(maxlen=max(1, most))
        self._change = threading.Condition()
        self._using = threading.Lock()  # the triage; never held by those who log
        self._judged = True
        self._hurry = False
        self._closed = False
        self._shown: Report | None = None
        self._thread = threading.Thread(target=self._work, name="k3triage-logging", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record; returns at once."""
        if threading.current_thread() is self._thread:
            return  # what the callback logs is no evidence, and would never end
        try:
            text = self.format(record)
        except Exception:
            self.handleError(record)
            return
        # Each line of a record has its header, as in vLLM's logs.
        head, _, rest = text.partition("\n")
        start = head[: len(head) - len(record.getMessage().partition("\n")[0])] if rest else ""
        lines = [head, *(start + line for line in rest.split("\n"))] if rest else [head]
        with self._change:
            if self._closed:
                return
            if len(self._waiting) == self._waiting.maxlen:
                self.dropped += 1
            self._waiting.append("\n".join(lines) + "\n")
            self._judged = False
            self._change.notify_all()

    def flush(self) -> None:
        """Wait until all that was logged so far has been judged and said."""
        if threading.current_thread() is self._thread:
            return
        with self._change:
            self._hurry = True
            self._change.notify_all()
            self._change.wait_for(lambda: self._judged or not self._thread.is_alive(), timeout=30)
            self._hurry = False

    def close(self) -> None:
        """Judge what is left and stop; later records are ignored."""
        self.flush()
        with self._change:
            self._closed = True
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=30)
        super().close()

    def report(self) -> "Report":
        """The report on everything logged so far."""
        self.flush()
        with self._using:
            return self._triage.report()

    def _work(self) -> None:
        cost = 0.0
        alarm = 0.0
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed or self._hurry, timeout=_REST)
                texts = list(self._waiting)
                self._waiting.clear()
                hurry, closed = self._hurry, self._closed
            now = time.monotonic()
            with self._using:
                if texts:
                    self._triage.feed("".join(texts))
                    if self._triage.alarmed() and not alarm:
                        alarm = now
                due = alarm and (hurry or closed or not texts or now - alarm > max(_LATEST, _SHARE * cost))
                report = self._triage.report() if due or (hurry and not self._judged) else None
            if report is not None:
                cost, alarm = time.monotonic() - now, 0.0
                self._say(report)
            with self._change:
                if not self._waiting and not alarm:
                    self._judged = True
                    self._change.notify_all()
                    if closed:
                        return

    def _say(self, report: "Report") -> None:
        before = self._shown
        if _key(report) == (None if before is None else _key(before)) or (before is None and report.verdict is None):
            return
        self._shown = report
        try:
            self._on_verdict(report, before)
        except Exception:
            self.handleError(logging.LogRecord("k3triage", logging.ERROR, __file__, 0, "on_verdict", None, None))


def _key(report: "Report") -> tuple[object, ...]:
    verdict = report.verdict
    if verdict is None:
        return (report.status,)
    return (report.status, verdict.cause, verdict.confidence, verdict.first_anomaly.line)

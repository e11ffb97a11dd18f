"""A `logging.Handler` that calls back with verdicts."""

import logging
import threading
import time
from collections.abc import Iterator

import pytest

from k3triage.integrations.logging_handler import TriageHandler

Calls = list[tuple[str | None, str | None]]


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    log = logging.Logger("app")
    yield log
    for handler in log.handlers:
        handler.close()


def handler_of(logger: logging.Logger, calls: Calls, **options) -> TriageHandler:  # type: ignore[no-untyped-def]
    def said(report, before) -> None:  # type: ignore[no-untyped-def]
        cause = report.verdict.cause if report.verdict else report.status.value
        calls.append((cause, before.verdict.cause if before is not None and before.verdict else None))

    handler = TriageHandler(said, **options)
    logger.addHandler(handler)
    return handler


def fail(logger: logging.Logger) -> None:
    try:
        raise MemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB")
    except MemoryError:
        logger.exception("WorkerProc hit an exception.")


def test_a_failure_calls_back_once_and_soon(logger: logging.Logger) -> None:
    calls: Calls = []
    handler_of(logger, calls)
    logger.info("ready to serve")
    time.sleep(0.6)
    assert calls == []
    fail(logger)
    deadline = time.monotonic() + 10
    while not calls and time.monotonic() < deadline:
        time.sleep(0.02)
    logger.info("more of the same")
    time.sleep(0.6)
    assert len(calls) == 1 and calls[0][0] is not None and calls[0][0].endswith("cuda_out_of_memory")


def test_a_verdict_that_changes_names_the_one_before(logger: logging.Logger) -> None:
    calls: Calls = []
    handler = handler_of(logger, calls)
    logger.error("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
    handler.flush()
    fail(logger)
    handler.flush()
    assert len(calls) == 2 and calls[1][1] == calls[0][0] != calls[1][0]


def test_tracebacks_keep_their_stack(logger: logging.Logger) -> None:
    handler = handler_of(logger, [])
    fail(logger)
    report = handler.report()
    assert report.verdict is not None
    first = report.verdict.first_anomaly
    assert (
        first.text.endswith("79.11 GiB") and first.block is not None and first.block.end_line > first.block.start_line
    )


def test_many_threads_and_no_record_is_lost(logger: logging.Logger) -> None:
    handler = handler_of(logger, [])
    threads = [threading.Thread(target=lambda: [logger.info("line %d", n) for n in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert handler.dropped == 0 and handler.report().inputs[0].lines == 4_000


def test_logging_never_waits_and_memory_is_bounded(logger: logging.Logger) -> None:
    release = threading.Event()
    handler = TriageHandler(lambda report, before: release.wait(30), most=50)
    logger.addHandler(handler)
    fail(logger)
    time.sleep(1.5)  # the callback hangs now
    start = time.monotonic()
    for n in range(1_000):
        logger.info("line %d", n)
    assert time.monotonic() - start < 5 and handler.dropped >= 900
    release.set()
    assert handler.report().inputs[0].lines is not None


def test_a_callback_that_logs_or_raises_does_no_harm(logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    seen = []

    def said(report, before) -> None:  # type: ignore[no-untyped-def]
        seen.append(report)
        logger.error("RuntimeError: said so")
        raise ValueError("of the callback")

    handler = TriageHandler(said)
    logger.addHandler(handler)
    fail(logger)
    handler.flush()
    lines = handler.report().inputs[0].lines
    logger.info("still works")
    assert handler.report().inputs[0].lines == (lines or 0) + 1 and len(seen) == 1


def test_close_judges_what_is_left_and_stops(logger: logging.Logger) -> None:
    calls: Calls = []
    handler = handler_of(logger, calls)
    fail(logger)
    handler.close()
    assert len(calls) == 1 and not handler._thread.is_alive()
    logger.info("after the end")
    handler.close()

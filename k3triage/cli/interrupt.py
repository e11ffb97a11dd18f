"""Standard input that ends when the user presses Ctrl-C, so that what was read so far can still be reported."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO, BinaryIO, cast

from k3triage.errors import UsageError
from k3triage.model import halt

NAME = "-"


class _EndedError(Exception):
    """Raised by the signal handler to leave a blocking read."""


class InterruptibleInput:
    """A binary stream; the first SIGINT is the end of its input, the second one a KeyboardInterrupt."""

    name = NAME

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting = False
        self.interrupted = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler; it may also be called while no read is waiting."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        if self._waiting:
            raise _EndedError

    def fileno(self) -> int:
        """Descriptor of the stream, for those who wait for input."""
        return self._stream.fileno()

    def read(self, size: int = -1) -> bytes:
        """What there is, up to `size` bytes; empty at the end of the input or after an interrupt."""
        if self.interrupted:
            return b""
        try:
            self._waiting = True
            read = getattr(self._stream, "read1", self._stream.read)
            return bytes(read(size))
        except _EndedError:
            return b""
        finally:
            self._waiting = False


@contextmanager
def _halting() -> Iterator[Callable[[], bool]]:
    """While files are read: the first SIGINT stops the readers at their next block."""
    import signal

    interrupts: list[int] = []

    def handle(number: int, frame: object) -> None:
        interrupts.append(number)
        halt.ask()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: bool(interrupts)
    finally:
        signal.signal(signal.SIGINT, before)
        halt.forget()


@contextmanager
def interruptible(names: Sequence[str]) -> Iterator[tuple[list[str | IO[bytes]], Callable[[], bool]]]:
    """Inputs with standard input in place of `-`, and a function that says whether the user ended it.

    The first SIGINT ends the reading, and what was read is reported; a second one ends the program.
    """
    if NAME not in names:
        with _halting() as interrupted:
            yield list(names), interrupted
        return
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    import signal  # its enums take a millisecond that a small log can do without

    stdin = InterruptibleInput(sys.stdin.buffer)
    before = signal.signal(signal.SIGINT, stdin.handle)
    try:
        yield [cast(IO[bytes], stdin) if name == NAME else name for name in names], lambda: stdin.interrupted
    finally:
        signal.signal(signal.SIGINT, before)

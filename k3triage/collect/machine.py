"""The machine on which a bundle is gathered: commands with time-outs, files, both ends of what is long."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

_BLOCK = 1 << 16
_GRACE = 2.0
_ERRORS_LIMIT = 64 << 10


@dataclass(frozen=True, slots=True)
class Output:
    """What came out of a command or a file.

    data: standard output (with standard error where that was asked for). errors: standard error, else empty.
    code: exit code, None where the command did not end by itself. cut: bytes left out of the middle of `data`.
    problem: why it did not run or not end, None where it ran to its end.
    """

    data: bytes = b""
    errors: bytes = b""
    code: int | None = 0
    seconds: float = 0.0
    cut: int = 0
    problem: str | None = None


class Machine(Protocol):
    """Where commands run and files lie; tests put recorded output in its place."""

    def run(self, command: Sequence[str], *, timeout: float, limit: int, merge: bool = False) -> Output:
        """Run a command for at most `timeout` seconds, keep `limit` bytes. merge: standard error is data too."""
        ...

    def read(self, path: str, limit: int) -> Output:
        """A file's bytes, at most `limit`; one that cannot be read has its `problem` set."""
        ...

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty where there is none or it cannot be read."""
        ...

    def link(self, path: str) -> str | None:
        """Where a link leads, None where it is none or cannot be read."""
        ...

    def stop(self) -> None:
        """End all commands that are running, and start none any more."""
        ...


class BothEnds:
    """Keeps the first and the last bytes of a stream, cut at line ends, and counts what it left out."""

    def __init__(self, limit: int) -> None:
        self._head_room = self._tail_limit = limit // 2
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._lost = 0

    def add(self, data: bytes) -> None:
        """The next bytes of the stream."""
        if self._head_room:
            self._head.append(data[: self._head_room])
            data = data[self._head_room :]
            self._head_room -= len(self._head[-1])
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_limit:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self._lost += len(gone)

    def result(self) -> tuple[bytes, int]:
        """The kept bytes, with a line that says how many are missing where some are, and that number."""
        head, tail = b"".join(self._head), b"".join(self._tail)
        excess = max(0, len(tail) - self._tail_limit)
        if not self._lost and not excess:
            return head + tail, 0
        head_end = head.rfind(b"\n") + 1 or len(head)
        tail_start = tail.find(b"\n", excess) + 1 or excess
        lost = self._lost + len(head) - head_end + tail_start
        note = b"[k3triage collect: %d bytes left out here]\n" % lost
        return head[:head_end] + note + tail[tail_start:], lost


class LocalMachine:
    """This machine. Commands get no input, run in a group of their own and are ended with all that they started."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], *, timeout: float, limit: int, merge: bool = False) -> Output:
        """See `Machine`."""
        start = time.monotonic()
        if self._stopped:
            return Output(code=None, problem="not run any more")
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merge else subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C"},
            )
        except FileNotFoundError:
            return Output(code=None, problem=f"{command[0]} is not installed")
        except OSError as error:
            return Output(code=None, problem=f"{command[0]} does not start: {error.strerror or error}")
        out, errors = BothEnds(limit), BothEnds(_ERRORS_LIMIT)
        self._running.add(process)
        ended = _drain(process, out, errors, start + timeout)
        self._running.discard(process)
        if not ended:
            _end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        data, cut = out.result()
        return Output(
            data,
            errors.result()[0],
            process.returncode if ended else None,
            time.monotonic() - start,
            cut,
            None if ended else f"stopped after {timeout:g} s",
        )

    def stop(self) -> None:
        """See `Machine`."""
        self._stopped = True
        for process in list(self._running):
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

    def read(self, path: str, limit: int) -> Output:
        """See `Machine`. Only regular files: a pipe or device could block for ever."""
        start = time.monotonic()
        kept = BothEnds(limit)
        try:
            if not Path(path).is_file():
                return Output(code=None, problem="there is no such file")
            with Path(path).open("rb", buffering=0) as file:
                # A log may grow faster than it is read, so its size is fixed at the start; /proc files have none.
                left = os.fstat(file.fileno()).st_size or limit
                while left > 0 and (block := file.read(min(_BLOCK, left))):
                    kept.add(block)
                    left -= len(block)
        except (OSError, ValueError) as error:
            return Output(code=None, problem=str(getattr(error, "strerror", None) or error))
        data, cut = kept.result()
        return Output(data, seconds=time.monotonic() - start, cut=cut)

    def names(self, path: str) -> list[str]:
        """See `Machine`."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208  (names only)
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        """See `Machine`."""
        try:
            return os.readlink(path)  # noqa: PTH115  (pipe:[1] is no path)
        except OSError:
            return None


def _drain(process: "subprocess.Popen[bytes]", out: BothEnds, errors: BothEnds, deadline: float) -> bool:
    """Read both pipes until they close and the command ended; whether that was before the deadline."""
    with selectors.DefaultSelector() as selector:
        pipes: list[tuple[IO[bytes] | None, BothEnds]] = [(process.stdout, out), (process.stderr, errors)]
        for pipe, kept in pipes:
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                data = os.read(key.fd, _BLOCK)
                if data:
                    key.data.add(data)
                else:
                    selector.unregister(key.fileobj)
    try:
        process.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the command's group. One that hangs inside the kernel (a lost GPU) cannot be ended and is left alone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
            return

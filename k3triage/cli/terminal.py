"""What the terminal can show, safe writing, and a sign of life while work takes long."""

import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO

from k3triage.errors import UsageError

_PATIENCE = 2.0
_WIDEST = 100


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour: `always`, `never`, or `auto` (a terminal without NO_COLOR and not TERM=dumb)."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def page_width(stream: TextIO) -> int:
    """Columns to fill: the terminal's, at most 100; 100 where the output is no terminal."""
    if not stream.isatty():
        return _WIDEST
    from shutil import get_terminal_size

    return min(get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


def message(text: str) -> None:
    """A message to the user on stderr; a closed stderr is no reason to fail."""
    from k3triage.report.clean import clean_lines

    try:
        print("k3triage: " + "\n".join(clean_lines(text)), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def hush() -> None:
    """Let what is still buffered for a closed pipe go nowhere, so that the interpreter ends without a complaint."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def write(text: str, target: str | None = None) -> bool:
    """Write to a file, or to stdout; False where the reader went away early, which is no error."""
    if target is not None and target != "-":
        from k3triage.report.clean import clean

        try:
            Path(target).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot write {clean(target)}: {error.strerror or error}") from None
        return True
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
        return False
    except OSError as error:
        hush()
        raise UsageError(f"cannot write to standard output: {error.strerror or error}") from None
    return True


class Progress:
    """Shows on a terminal's stderr how long the work has taken, once it takes longer than two seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)

    def _show(self) -> None:
        seconds = _PATIENCE
        wait = _PATIENCE
        shown = False
        while not self._done.wait(wait):
            sys.stderr.write(f"\rk3triage: {self._what}, {seconds:.0f} s \x1b[K")
            sys.stderr.flush()
            shown, wait = True, 1.0
            seconds += wait
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> "Progress":
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

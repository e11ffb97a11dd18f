"""Arguments of a command line into inputs: files, folders, globs, archives, standard input."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from k3triage.ingest.archives import ArchiveError, is_archive, members
from k3triage.ingest.names import may_be_log
from k3triage.ingest.sources import Source, reason
from k3triage.model.shapes import dataclass

_MAX_FILES = 10_000


Readable = str | Path | IO[bytes] | IO[str] | Iterable[bytes] | Iterable[str]
"""What a caller may give: a path, glob or folder, "-", an open file, or lines."""


@dataclass(slots=True, frozen=True)
class Input:
    """One thing to read. path: None for standard input and members of archives. error: why it cannot be read.

    read: the bytes of a member of an archive, `size` of them; with an error too where only a part could be read.
    """

    name: str
    path: Path | None = None
    error: str | None = None
    read: Callable[[], Iterator[bytes]] | None = None
    size: int = 0

    def open(self) -> Source:
        """The input as a source; one that cannot be opened has no blocks and its `error` set."""
        if self.read is not None:
            return Source(self.name, self.read(), size_hint=self.size, error=self.error)
        if self.error is not None:
            return Source(self.name, iter(()), error=self.error)
        if self.path is None:
            return Source.of_stdin()
        return Source.of_path(self.path, self.name)


def openers(inputs: Sequence[Readable]) -> Iterator[Callable[[], Source]]:
    """Every input once, each to be opened when its turn comes."""
    for found in expand([str(item) for item in inputs if isinstance(item, str | Path)]):
        yield found.open
    for number, item in enumerate(inputs, 1):
        if isinstance(item, str | Path):
            continue
        if hasattr(item, "read"):
            stream: Any = item
            yield partial(Source.of_stream, stream)
        else:
            lines: Any = item
            yield partial(Source.of_lines, lines, f"lines-{number}" if len(inputs) > 1 else "-")


def expand(arguments: Sequence[str]) -> list[Input]:
    """Inputs for the arguments, in their order, each file once; what is missing becomes an input with `error` set.

    Folders are walked (files that look like logs, sorted by name; hidden ones and links to folders are passed over).
    A pattern with `*`, `?` or `[` that is no file's name is expanded as a glob, `**` across folders.
    """
    inputs: list[Input] = []
    seen: set[object] = set()
    for argument in arguments:
        for item in _expand(argument):
            key: object = "-" if item == Input("-") else item.name
            if item.path is not None:
                try:
                    status = item.path.stat()
                    key = (status.st_dev, status.st_ino) if status.st_ino else item.path.resolve()
                except OSError:
                    key = item.name
            if key not in seen:
                seen.add(key)
                inputs.append(item)
    return inputs


def _expand(argument: str) -> list[Input]:
    if argument == "-":
        return [Input("-")]
    if not argument:  # an unset variable of a shell must not stand for the current folder
        return [_failed(argument, "An empty name is no file name.")]
    path = Path(argument)
    try:
        if path.is_dir():
            return _folder(path) or [_failed(argument, "There is no log file in this folder.")]
        if os.path.lexists(path):
            return _files(path, argument)
    except (OSError, ValueError) as error:
        return [_failed(argument, reason(error) if isinstance(error, OSError) else "This is not a file name.")]
    if glob.has_magic(argument):
        found: list[Input] = []
        for match in sorted(glob.glob(argument, recursive=True))[:_MAX_FILES]:  # noqa: PTH207  (absolute patterns)
            inner = Path(match)
            found.extend(_folder(inner) if inner.is_dir() else _files(inner, match))
        return found or [_failed(argument, "No file matches this pattern.")]
    return [_failed(argument, "No such file or folder.")]


def _folder(root: Path) -> list[Input]:
    found: list[Input] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if may_be_log(name) and path.is_file() and path.stat().st_size:
                found.extend(_files(path, str(path)))
            if len(found) >= _MAX_FILES:
                return found
    return found


def _files(path: Path, name: str) -> list[Input]:
    """A file as one input, an archive as one for each member."""
    item = _file(path, name)
    # Of a named pipe, the first bytes are there only once.
    if item.error is not None or not path.is_file():
        return [item]
    try:
        if not is_archive(path):
            return [item]
        found = members(path)
    except ArchiveError as error:
        return [_failed(name, str(error))]
    except OSError as error:
        return [_failed(name, reason(error))]
    return [
        Input(
            f"{name}/{member.name}" if member.name else name,
            error=member.error,
            read=member.read,
            size=member.size,
        )
        for member in found
    ]


def _file(path: Path, name: str) -> Input:
    if path.is_file() and not os.access(path, os.R_OK):
        return _failed(name, "Permission denied.", path)
    if not path.exists():
        return _failed(name, "This link leads nowhere.", path)
    return Input(name, path)


def _failed(name: str, message: str, path: Path | None = None) -> Input:
    return Input(name, path, message)

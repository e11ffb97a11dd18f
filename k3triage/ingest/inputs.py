"""Arguments of a command line into inputs: files, folders, globs, standard input."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from k3triage.ingest.sources import InputError, Source, reason

# fmt: off
_NOT_LOGS = frozenset(
    (
        ".py", ".pyc", ".so", ".o", ".a", ".bin", ".safetensors", ".gguf", ".pt", ".pth", ".onnx", ".npy", ".npz",
        ".parquet", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".pdf", ".zip", ".tar", ".tgz", ".whl", ".deb",
        ".rpm", ".exe", ".dll", ".html", ".css", ".js", ".ts", ".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".md",
        ".lock", ".db", ".sqlite", ".toml", ".ipynb", ".woff", ".woff2", ".mp4", ".core",
    )
)
# fmt: on
_MAX_FILES = 10_000


@dataclass(slots=True, frozen=True)
class Input:
    """One thing to read. path: None for standard input. error: why it cannot be read, None where it can."""

    name: str
    path: Path | None = None
    error: InputError | None = None

    def open(self) -> Source:
        """The input as a source; one that cannot be opened has no blocks and its `error` set."""
        if self.error is not None:
            return Source(self.name, iter(()), error=str(self.error))
        if self.path is None:
            return Source.of_stdin()
        return Source.of_path(self.path, self.name)


def expand(arguments: Sequence[str]) -> list[Input]:
    """Inputs for the arguments, in their order, each file once; what is missing becomes an input with `error` set.

    Folders are walked (files that look like logs, sorted by name; hidden ones and links to folders are passed over).
    A pattern with `*`, `?` or `[` that is no file's name is expanded as a glob, `**` across folders.
    """
    inputs: list[Input] = []
    seen: set[object] = set()
    for argument in arguments:
        for item in _expand(argument):
            key: object = "-" if item.path is None and item.error is None else item.name
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
    path = Path(argument)
    try:
        if path.is_dir():
            return _folder(path) or [_failed(argument, "There is no log file in this folder.")]
        if os.path.lexists(path):
            return [_file(path, argument)]
    except (OSError, ValueError) as error:
        return [_failed(argument, reason(error) if isinstance(error, OSError) else "This is not a file name.")]
    if glob.has_magic(argument):
        found: list[Input] = []
        for match in sorted(glob.glob(argument, recursive=True))[:_MAX_FILES]:  # noqa: PTH207  (absolute patterns)
            inner = Path(match)
            found.extend(_folder(inner) if inner.is_dir() else [_file(inner, match)])
        return found or [_failed(argument, "No file matches this pattern.")]
    return [_failed(argument, "No such file or folder.")]


def _folder(root: Path) -> list[Input]:
    found: list[Input] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            # Rotated names ("x.log.1.gz") hide the kind; their own suffix tells enough to leave out what is no log.
            if name.startswith(".") or path.suffix.lower() in _NOT_LOGS or not path.is_file():
                continue
            if path.stat().st_size:
                found.append(_file(path, str(path)))
            if len(found) >= _MAX_FILES:
                return found
    return found


def _file(path: Path, name: str) -> Input:
    if path.is_file() and not os.access(path, os.R_OK):
        return _failed(name, "Permission denied.", path)
    if not path.exists():
        return _failed(name, "This link leads nowhere.", path)
    return Input(name, path)


def _failed(name: str, message: str, path: Path | None = None) -> Input:
    return Input(name, path, InputError(name, message))

"""Finds the rule packs of installed distributions: entry points of the group `k3triage.rulepacks`.

An entry point names a package whose folder holds rule files (`acme = "acme_k3_rules.causes"`); its code is not run.
The folders of sys.path are asked for their metadata only after one of them changed: at every other start the answer is
read from the cache, which costs a stat() a folder instead of the import of importlib.metadata and hundreds of reads.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from k3triage.cache import load_or_make
from k3triage.errors import RulePackError

GROUP = "k3triage.rulepacks"
_FORMAT = "1"


def installed_packs() -> list[Path]:
    """Folders of all installed rule packs, in the order of their entry points' names.

    Raises RulePackError for an entry point whose package cannot be found or has no folder.
    """
    folders = [entry or "." for entry in sys.path]
    key = "\n".join([_FORMAT, *(f"{folder}:{_stamp(folder)}" for folder in folders)])
    found = json.loads(load_or_make("rulepacks", key, lambda: json.dumps(sorted(_entries(folders))).encode()))
    return [path for name, package in found for path in _folders(name, package)]


def _stamp(folder: str) -> int:
    """Time of the last change of what lies in a folder: installing and removing a distribution changes it."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - runs at every start
    except OSError:
        return 0


def _entries(folders: list[str]) -> Iterator[tuple[str, str]]:
    """Name and package of each entry point of the group."""
    for folder in folders:
        try:
            with os.scandir(folder) as listing:
                metadata = [entry.path for entry in listing if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for path in metadata:
            try:
                text = (Path(path) / "entry_points.txt").read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if GROUP in text:
                yield from _group(text)


def _group(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition(":")[0].partition("[")[0].strip()


def _folders(name: str, package: str) -> list[Path]:
    from importlib.util import find_spec

    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:
        raise RulePackError(f"rule pack {name!r} of the group {GROUP}: no package {package!r} ({error})") from None
    if spec is None or spec.submodule_search_locations is None:
        raise RulePackError(f"rule pack {name!r} of the group {GROUP}: {package!r} is not a package with a folder")
    return [Path(folder) for folder in spec.submodule_search_locations]

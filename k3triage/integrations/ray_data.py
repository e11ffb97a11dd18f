"""Many large logs on a Ray cluster: byte ranges are scanned by Ray Data tasks, and each incident is reported once.

Needs the extra `ray` (`pip install 'k3triage[ray]'`) on the driver and on the nodes, in one version, and paths that
mean the same files on all of them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ray.data

from k3triage.errors import InputError, UsageError
from k3triage.model.report import Report
from k3triage.partials import PartialTriage, scan_slice, unreadable
from k3triage.rules import load_pack

SLICE = 1 << 30
"""Bytes of a task's range: about a second of a core, beside which the 40 ms that Ray Data takes a task are little."""

_OPEN = 1 << 62
Key = Callable[[str], str]


def parent_folder(path: str) -> str:
    """The folder of a file: the incident key where none is given."""
    return str(Path(path).parent)


def plan(paths: Sequence[str | Path], *, key: Key = parent_folder, slice_bytes: int = SLICE) -> list[dict[str, Any]]:
    """One row a task: `key`, `path`, `start`, `stop` (bytes), `inputs` (files of the incident in all), `error`.

    The ranges of a file are about `slice_bytes` long, and equally so.
    paths: files, folders and globs as for `k3triage.triage`, seen from the driver. Raises UsageError.
    """
    from k3triage.ingest import expand

    if slice_bytes <= 0:
        raise UsageError("slice_bytes is a number of bytes")
    incidents: dict[str, dict[str, str]] = {}
    for item in expand([str(path) for path in paths]):
        if item.name == "-":
            raise UsageError("standard input cannot be read on a cluster")
        reason = "" if item.read is None else "Archives are not read on a cluster; unpack it first."
        incidents.setdefault(key(item.name), {})[item.name] = str(item.error or reason)
    rows: list[dict[str, Any]] = []
    for name, files in incidents.items():
        for path, error in files.items():
            try:
                size = Path(path).stat().st_size
            except OSError:  # the task that tries to read it says why
                size = 0
            # Ranges of one length: a short rest would cost a task of its own.
            parts = max(1, round(size / slice_bytes))
            edges = [size * part // parts for part in range(parts)]
            # The last range is open: the file may have grown before it is read.
            for start, stop in zip(edges, [*edges[1:], _OPEN], strict=True):
                place = {"path": path, "start": start, "stop": stop}
                rows.append({"key": name, **place, "inputs": len(files), "error": error})
    return rows


def scan_row(row: dict[str, Any], rules: Sequence[str] = ()) -> dict[str, Any]:
    """A task: the row's `key`, and as `partial` the bytes of the partial result of its byte range."""
    path, start, stop = row["path"], int(row["start"]), int(row["stop"])
    try:
        if row["error"]:
            raise OSError(row["error"])
        partial = scan_slice(path, start, stop, rules=rules, inputs=int(row["inputs"]), jobs=1)
    except OSError as error:
        partial = unreadable(path, f"{error.strerror or error}".rstrip(".") + ".", rules=rules)
    return {"key": row["key"], "partial": partial.to_bytes()}


def report_row(
    row: dict[str, Any], rules: Sequence[str] = (), profile: str | None = None, redact: bool = False
) -> dict[str, Any]:
    """The reduction: the incident's `report` (its JSON) of all `partials`."""
    first, *others = [PartialTriage.from_bytes(bytes(data), rules=rules) for data in row["partials"]]
    report = first.merge(*others).report(profile=profile, redact=redact)
    return {"key": row["key"], "report": report.model_dump_json()}


def triage_dataset(
    paths: Sequence[str | Path],
    *,
    key: Key = parent_folder,
    profile: str | None = None,
    rules: Sequence[str | Path] = (),
    redact: bool = False,
    slice_bytes: int = SLICE,
    concurrency: int | None = None,
    **remote: Any,
) -> Iterator[tuple[str, Report]]:
    """Reports of all incidents, each with its key, in the order in which the keys first occur.

    paths, slice_bytes: see `plan`. key: from a file's path to its incident. profile, rules, redact: as for
    `k3triage.triage`; rule folders have to be there on every node. concurrency: tasks at a time, by default as many as
    the cluster has room for; with a limit Ray Data leaves gaps of 0.1 to 0.2 s between them. remote: what else Ray
    shall know of the scanning tasks, such as `resources`.
    A file that cannot be read is named in its report. Raises UsageError and RulePackError before anything runs.
    """
    folders = [str(folder) for folder in rules]
    tasks = plan(paths, key=key, slice_bytes=slice_bytes)
    load_pack([Path(folder) for folder in folders])
    if profile is not None:
        from k3triage.profiles import load_profile

        load_profile(profile)
    if not tasks:
        raise InputError("no input was found")
    if concurrency is not None:
        remote["compute"] = ray.data.TaskPoolStrategy(size=concurrency)
    scanned = _items(tasks).map(scan_row, fn_kwargs={"rules": folders}, num_cpus=1, **remote)
    parts: dict[str, list[bytes]] = {task["key"]: [] for task in tasks}
    for row in scanned.iter_rows():
        parts[row["key"]].append(row["partial"])
    settings: dict[str, Any] = {"rules": folders, "profile": profile, "redact": redact}
    rows = [{"key": name, "partials": found} for name, found in parts.items()]
    if len(rows) == 1:  # not worth a task
        reports: Any = [report_row(rows[0], **settings)]
    else:
        reports = _items(rows).map(report_row, fn_kwargs=settings, num_cpus=1).iter_rows()
    found = {row["key"]: row["report"] for row in reports}
    for name in parts:
        yield name, Report.model_validate(json.loads(found[name]))


def _items(rows: list[dict[str, Any]]) -> Any:
    """A data set with one task a row, all of which may run at once.

    Ray Data holds tasks back until it knows how much they put into the object store and until that is fetched; what
    ours put there is little.
    """
    items = ray.data.from_items(rows, override_num_blocks=len(rows))
    items.context.op_resource_reservation_enabled = False
    items.context.downstream_capacity_backpressure_ratio = None
    return items


def triage(paths: Sequence[str | Path], **options: Any) -> dict[str, Report]:
    """The report of each incident by its key; see `triage_dataset` for the options."""
    return dict(triage_dataset(paths, **options))

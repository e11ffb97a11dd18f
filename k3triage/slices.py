"""Scans of parts of one plain file, and how adjoining ones become the scan of the whole."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO

from k3triage.errors import UsageError
from k3triage.evidence import LIMIT as EVIDENCE_LIMIT
from k3triage.evidence import may_hold_evidence
from k3triage.ingest import Source
from k3triage.ingest.whole import DOCUMENT_LIMIT, may_be_document
from k3triage.model.shapes import replace
from k3triage.pipeline import HEAD, TAIL, Scan, limits_for, read, whole_lines
from k3triage.rules import Pack
from k3triage.scan import Partial, Scanner


def read_slice(path: Path, start: int, stop: int, pack: Pack, *, inputs: int = 1, jobs: int | None = None) -> Scan:
    """The lines of a file that begin in bytes start (included) to stop (not included); OSError where it is unreadable.

    What cannot be read in part (compressed files, other encodings, JSON documents) is read as a whole with the slice
    that holds its first byte; its other slices are empty. inputs: how many inputs the incident has in all.
    """
    limits = limits_for(inputs)
    size = path.stat().st_size
    source = Source.of_path(path)
    with path.open("rb") as file:
        head = source.head if source.path is None else file.read(HEAD)
        if source.path is None or (size <= DOCUMENT_LIMIT and may_be_document(head)):
            if start > 0 or stop <= 0:
                source.close()
                return Scan(str(path), b"", Partial(), start=size, stop=size, total=size)
            return replace(read(source, pack, jobs=jobs, limits=limits), start=0, stop=size, total=size)
        source.close()
        first, last = _line_start(file, start, size), _line_start(file, stop, size)
        tail, evidence = b"", b""
        if first == 0 and len(head) == HEAD and size <= EVIDENCE_LIMIT and may_hold_evidence(head):
            file.seek(0)
            evidence = file.read(EVIDENCE_LIMIT)
        if last >= size:
            file.seek(max(0, size - TAIL))
            tail = whole_lines(file.read(TAIL))
    partial = Scanner(pack.anchors, jobs=jobs, limits=limits, cover=pack.cover).scan_slice(path, first, last)
    head = head if first == 0 else b""
    return Scan(str(path), head, partial, None, None, tail, evidence, start=first, stop=last, total=size)


def _line_start(file: IO[bytes], at: int, size: int) -> int:
    if at <= 0 or at >= size:
        return max(0, min(at, size))
    file.seek(at - 1)
    while block := file.read(1 << 20):
        cut = block.find(b"\n")
        if cut >= 0:
            return file.tell() - len(block) + cut + 1
    return size


def join(scans: Iterable[Scan]) -> list[Scan]:
    """The scans, with slices of one input that adjoin made one; in any order.

    A slice that another one contains is left out, as where a task was run twice. Raises UsageError for slices that
    overlap otherwise.
    """
    scans = list(scans)
    joined = [scan for scan in scans if scan.stop is None]
    slices = sorted((s for s in scans if s.stop is not None), key=lambda s: (s.name, s.start, -(s.stop or 0)))
    for name, group in groupby(slices, key=lambda s: s.name):
        runs: list[list[Scan]] = []
        stop = 0
        for scan in group:
            end = scan.stop or 0
            if not runs or scan.start > stop:
                runs.append([scan])
            elif scan.start == stop:
                runs[-1].append(scan)
            elif end > stop:
                raise UsageError(f"{name}: slices that overlap, at byte {scan.start}")
            stop = max(stop, end)
        joined += [_merged(run) for run in runs]
    return joined


def _merged(run: Sequence[Scan]) -> Scan:
    """Halves first: what is kept of the beginning is then not gone through again with every further slice."""
    if len(run) == 1:
        return run[0]
    half = len(run) // 2
    return _merged(run[:half]).merge(_merged(run[half:]))


def complete(scans: Sequence[Scan]) -> list[Scan]:
    """The scans of whole inputs, each with a name of its own.

    A part missing at the end is noted in `error`. Raises UsageError where one is missing before it: then no line number
    would be right.
    """
    names: dict[str, int] = {}
    ready = []
    for scan in scans:
        if scan.stop is not None:
            if scan.start > 0 or scan.name in names:
                raise UsageError(f"{scan.name}: the bytes before {scan.start} are missing; merge all slices first")
            if scan.stop < (scan.total or 0) and scan.error is None:
                scan = replace(scan, error=f"Only the first {scan.stop} of {scan.total} bytes were scanned.")
        times = names[scan.name] = names.get(scan.name, 0) + 1
        ready.append(scan if times == 1 else replace(scan, name=f"{scan.name} ({times})"))
    return ready

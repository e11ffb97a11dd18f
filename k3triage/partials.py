"""Partial results of an incident: made on any thread, process or host, merged in any order, reported once."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3triage.diagnose import ParsedInput, diagnose
from k3triage.errors import UsageError
from k3triage.model.shapes import replace
from k3triage.pipeline import Scan, parse
from k3triage.rules import Pack, load_pack
from k3triage.scan import Partial
from k3triage.slices import complete, join, read_slice

if TYPE_CHECKING:
    from k3triage.model.report import Report


class PartialTriage:
    """Scans of slices, files or hosts of one incident.

    Merging is associative, and slices find their place by themselves, in whatever order they come. It can be pickled;
    between hosts that do not trust each other `to_bytes` and `from_bytes` are the way.
    """

    def __init__(self, pack: Pack, scans: Sequence[Scan], rules: Sequence[str | Path] = ()) -> None:
        self._pack = pack
        self._scans = list(scans)
        self._rules = tuple(str(folder) for folder in rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_bytes(), self._rules)

    def merge(self, *others: "PartialTriage") -> "PartialTriage":
        """All together: other inputs are added, slices of one file that adjoin are joined.

        Raises UsageError where slices overlap, or where the parts were made with different rules.
        """
        scans = list(self._scans)
        for other in others:
            if other._pack is not self._pack and other._pack.anchors != self._pack.anchors:
                raise UsageError("partial results that were made with different rules")
            scans += other._scans
        return PartialTriage(self._pack, join(scans), self._rules)

    def named(self, prefix: str) -> "PartialTriage":
        """The same with `prefix` before the name of every input, to tell hosts apart whose paths are the same."""
        return PartialTriage(self._pack, [replace(s, name=prefix + s.name) for s in self._scans], self._rules)

    def to_bytes(self) -> bytes:
        """A form that can be stored or sent; it holds lines of the logs as they are."""
        from k3triage.wire import to_bytes

        return to_bytes(self._scans, self._pack)

    @classmethod
    def from_bytes(cls, data: bytes, *, rules: Sequence[str | Path] = ()) -> "PartialTriage":
        """What `to_bytes` gave, with the same rule folders; nothing in the bytes is executed.

        Raises InputError for bytes that are no partial result, UsageError where it was made with other rules.
        """
        from k3triage.wire import from_bytes

        pack = load_pack([Path(folder) for folder in rules])
        return cls(pack, from_bytes(data, pack), rules)

    def parsed(self) -> list[ParsedInput]:
        """What the diagnosis reads of each input. UsageError where slices before the last one are missing."""
        return [parse(scan) for scan in complete(self._scans)]

    def report(self, *, profile: str | None = None, redact: bool = False) -> "Report":
        """The report on what was scanned. profile, redact: as for `triage`.

        Raises UsageError where slices before the last one are missing; a missing end is named in
        `report.inputs[].error`.
        """
        report = diagnose(self.parsed(), self._pack, profile)
        if redact:
            from k3triage.report.redact import redact_report

            return redact_report(report)
        return report


def _restored(data: bytes, rules: tuple[str, ...]) -> PartialTriage:
    return PartialTriage.from_bytes(data, rules=rules)


def scan_slice(
    path: str | Path,
    start: int,
    stop: int,
    *,
    rules: Sequence[str | Path] = (),
    inputs: int = 1,
    jobs: int | None = None,
) -> PartialTriage:
    """The scan of the lines of one file that begin in bytes start (included) to stop (not included).

    Cuts may fall anywhere, also inside a line. What cannot be read in part (compressed files, JSON documents) comes as
    a whole with the slice that holds byte 0. inputs: how many inputs the incident has in all, the same for all slices;
    they share one budget. jobs: threads. Raises OSError where the file cannot be read.
    """
    pack = load_pack([Path(folder) for folder in rules])
    return PartialTriage(pack, [read_slice(Path(path), start, stop, pack, inputs=inputs, jobs=jobs)], rules)


def unreadable(path: str | Path, reason: str, *, rules: Sequence[str | Path] = ()) -> PartialTriage:
    """What stands for an input that cannot be read: the report names it with the reason, one sentence."""
    pack = load_pack([Path(folder) for folder in rules])
    return PartialTriage(pack, [Scan(str(path), b"", Partial(), error=reason)], rules)

"""The Python interface: `triage`, `check`, `Triage`, `events`, `scan`."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from k3triage.ingest.inputs import Readable as Input
from k3triage.ingest.inputs import openers
from k3triage.model import halt
from k3triage.model.records import TracebackBlock
from k3triage.partials import PartialTriage, scan_slice
from k3triage.pipeline import every_line, limits_for, read
from k3triage.rules import load_pack
from k3triage.scan import EngineName

if TYPE_CHECKING:
    from k3triage.model.checks import CheckReport
    from k3triage.model.events import Event
    from k3triage.model.report import Report

__all__ = ["PartialTriage", "Triage", "check", "event_lines", "events", "scan", "scan_slice", "triage"]


def triage(
    *inputs: Input,
    profile: str | None = None,
    rules: str | Path | Sequence[str | Path] = (),
    jobs: int | None = None,
    engine: EngineName = "auto",
    redact: bool = False,
) -> "Report":
    """The report on one incident.

    inputs: paths, globs, folders, "-" for standard input, open files, or iterables of lines or blocks.
    profile: name of a shipped profile, or the path of a .toml file, whose prerequisites are checked as well; by default
        the one for the model that the inputs name. rules: folders of additional rule files. jobs: threads of the scan,
        default all cores.
    Raises UsageError and RulePackError; an input that cannot be read is named in `report.inputs[].error`.
    """
    _known(profile)
    return scan(*inputs, rules=rules, jobs=jobs, engine=engine).report(profile=profile, redact=redact)


def check(*inputs: Input, profile: str | None = None, rules: str | Path | Sequence[str | Path] = ()) -> "CheckReport":
    """Whether the prerequisites of a profile are met, as far as the evidence tells; no failure is needed.

    inputs: as for `triage`: output of nvidia-smi, docker inspect, pip list and the like, and logs. profile: as for
    `triage`; by default the one for the model that the inputs name, generic for other models, kimi-k3 without a name.
    Raises UsageError and RulePackError; what could not be read is in `unread` of the result.
    """
    from k3triage.diagnose.environment import check_inputs

    _known(profile)
    return check_inputs(scan(*inputs, rules=rules).parsed(), profile)


def _known(profile: str | None) -> None:
    """UsageError for a profile that cannot be used, before hours of reading."""
    if profile is not None:
        from k3triage.profiles import load_profile

        load_profile(profile)


def scan(
    *inputs: Input, rules: str | Path | Sequence[str | Path] = (), jobs: int | None = None, engine: EngineName = "auto"
) -> PartialTriage:
    """The scan of some inputs of an incident, to be merged with others' and turned into a report."""
    pack = load_pack(_folders(rules))
    found = list(openers(inputs))
    limits = limits_for(len(found))
    scans = []
    for open_ in found:
        scans.append(read(open_(), pack, engine=engine, jobs=jobs, limits=limits))
        if halt.asked():
            break
    return PartialTriage(pack, scans, _folders(rules))


class Triage:
    """Incremental triage of one stream, for pipelines: feed it blocks of any size and ask for a report at any time.

    The bytes are text as it is, UTF-8 or close to it: compressed logs and UTF-16 are for `triage`. Memory does not grow
    with the length of the stream; `feed` after `report` goes on where it was. One thread at a time may use it.
    """

    def __init__(
        self,
        *,
        profile: str | None = None,
        rules: str | Path | Sequence[str | Path] = (),
        name: str = "-",
        engine: EngineName = "auto",
    ) -> None:
        from k3triage.stream import Stream

        self._pack = load_pack(_folders(rules))
        _known(profile)
        self._profile = profile
        self._rules = _folders(rules)
        self._stream = Stream(name, self._pack, engine=engine)
        self._reported: tuple[int, Report] | None = None

    def feed(self, chunk: bytes | str) -> None:
        """Add a piece of the log: bytes or text, any size, cut anywhere."""
        self._stream.feed(chunk.encode("utf-8", "surrogateescape") if isinstance(chunk, str) else bytes(chunk))

    def report(self, *, redact: bool = False) -> "Report":
        """The report on everything fed so far, the same as `triage` gives on all of it at once.

        Costs nothing where nothing came since the last one.
        """
        size = self._stream.size
        if self._reported is None or self._reported[0] != size:
            self._reported = size, self.partial().report(profile=self._profile)
        report = self._reported[1]
        return _redacted(report) if redact else report

    def alarmed(self) -> bool:
        """Whether lines that may tell of a fault came since this was last asked; cheap, where `report` is not."""
        return self._stream.alarmed()

    def partial(self) -> PartialTriage:
        """What was fed so far, to be merged with other inputs of the incident."""
        return PartialTriage(self._pack, [self._stream.scan()], self._rules)

    def merge(self, other: "Triage") -> PartialTriage:
        """What both have seen, as one incident."""
        return self.partial().merge(other.partial())


def events(*inputs: Input, unread: Callable[[str, str], object] | None = None) -> Iterator["Event"]:
    """Every typed event of the inputs, in the order of the lines; a traceback stands after its last line.

    unread: called with name and reason of each input that could not be read, or not to its end, when its turn is over.
    """
    from k3triage.grammar.events import event, traceback_event

    for open_ in openers(inputs):
        source = open_()
        for item in every_line(source):
            yield traceback_event(item) if isinstance(item, TracebackBlock) else event(item)
        if source.error is not None and unread is not None:
            unread(source.name, source.error)


def event_lines(*inputs: Input, unread: Callable[[str, str], object] | None = None) -> Iterator[bytes]:
    """The JSON of the same events, many times as fast: whole lines, many of them at once, in UTF-8.

    Control and invisible characters are escaped, so it is safe to print. unread: as for `events`.
    """
    from k3triage.rows import event_lines as lines

    return lines(*inputs, unread=unread)


def _redacted(report: "Report") -> "Report":
    from k3triage.report.redact import redact_report

    return redact_report(report)


def _folders(rules: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(rules)] if isinstance(rules, str | Path) else [Path(folder) for folder in rules]

"""What flows between ingest, scan, grammar and diagnose: plain slotted objects, cheap to make by the thousand.

pydantic models are made only for what leaves the program (see `report` and `events`).
"""

from k3triage.model.shapes import dataclass, field

NO_YEAR = 1972
"""Year that stands in where an envelope has none: the first leap year of the epoch, so that Feb 29 exists."""


@dataclass(slots=True)
class RawLine:
    """One physical line as bytes, chosen by the scan.

    offset: byte offset of its first byte in the decompressed source (UTF-16 sources: after conversion to UTF-8).
    number: 1-based physical line; lines end at LF alone.
    data: the line without its LF.
    gap: lines between the one kept before and this one were left out.
    """

    offset: int
    number: int
    data: bytes
    gap: bool = False


@dataclass(slots=True, frozen=True)
class Process:
    """Who wrote a line, as far as the innermost prefix, the envelope or the header tell."""

    name: str | None = None
    pid: int | None = None
    rank: int | None = None
    node: str | None = None
    container: str | None = None


NO_PROCESS = Process()


@dataclass(slots=True)
class Record:
    """One line of a program, out of its envelopes.

    A physical line can give several records (states of a progress bar, lines glued together), and several
    physical lines one record (docker's and CRI's partial lines): `line` and `offset` are where its text begins.

    raw: the physical line, decoded, without LF and trailing CR.
    text: without envelopes, ANSI sequences and process prefixes; indentation is kept.
    envelopes: names of the wrappers taken off, outermost first ("docker-json", "compose", "ray", ...).
    time: the envelope's time in seconds since 1970 UTC; year_known is False where the envelope has no year.
    stream: "stdout" or "stderr" where the envelope tells.
    level: severity that a JSON log record of the program itself carries.
    count: for how many equal lines it stands (Ray's "[repeated 7x across cluster]", "last message repeated").
    gap: lines before it were not kept by the scan.
    """

    source: str
    line: int
    offset: int
    raw: str
    text: str
    envelopes: tuple[str, ...] = ()
    time: float | None = None
    stream: str | None = None
    process: Process = NO_PROCESS
    level: str | None = None
    count: int = 1
    gap: bool = False
    year_known: bool = True


@dataclass(slots=True)
class Header:
    """A record's text cut into the logger's header and the message.

    kind: grammar that knew the header ("vllm", "nccl", "c10d", "kernel", "docker", ...), "" where none did.
    level: DEBUG, INFO, WARNING, ERROR or CRITICAL.
    clock: seconds into a leap year (month, day and time of day; years are not compared), None without a date.
    location: "core.py:1231" or the like.
    message: what is left, as the program wrote it.
    own: the message with every part that a stranger wrote (prompts, request bodies, URL paths, argument values)
        replaced by blanks of the same length; causes and markers are matched on this alone.
    """

    kind: str
    message: str
    own: str
    level: str | None = None
    clock: float | None = None
    location: str | None = None
    process: Process = NO_PROCESS
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Line:
    """A record with its header."""

    record: Record
    header: Header

    @property
    def own(self) -> str:
        """The program's own words of this line."""
        return self.header.own


@dataclass(slots=True)
class Raised:
    """One exception of a printed traceback.

    line: the `SomeError: message` line. message: its text and that of `more`, the lines that continue the message.
    link: how it stands to the exception printed before it in the same chain: "" (first), "cause" ("direct cause"),
        "context" ("During handling"), "group" (member of an exception group).
    frames: (file, line number, function), outermost first.
    """

    line: Line
    type: str
    message: str
    more: list[Line] = field(default_factory=list)
    link: str = ""
    frames: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass(slots=True)
class TracebackBlock:
    """One printed traceback with its chain, first printed first."""

    chain: list[Raised]
    lines: list[Line]

    @property
    def start(self) -> int:
        """Physical line on which the block begins."""
        return self.lines[0].record.line

    @property
    def end(self) -> int:
        """Physical line on which the block ends."""
        return self.lines[-1].record.line

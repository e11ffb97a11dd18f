"""What the diagnosis works on: one input's lines, tracebacks and totals, and the findings made of them."""

from k3triage.model.enums import Phase
from k3triage.model.evidence import EvidenceFact
from k3triage.model.records import Line, Process, Raised, TracebackBlock
from k3triage.model.shapes import dataclass, field
from k3triage.rules.pack import Signature


@dataclass
class ParsedInput:
    """One input after ingest, scan and grammar.

    lines: kept lines in file order. blocks: printed tracebacks; their lines are among `lines` (same objects).
    tail: the input's last lines, whether they were kept or not; they tell when it ended.
    evidence: facts, where the input holds output of commands.
    size: bytes read, after decompression. newlines: physical lines, None where they were not counted to the end.
    """

    name: str
    lines: list[Line]
    blocks: list[TracebackBlock]
    size: int = 0
    newlines: int | None = None
    envelope: str = "plain"
    skipped: int = 0
    error: str | None = None
    evidence: list[EvidenceFact] = field(default_factory=list)
    tail: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class Place:
    """Where a line stands inside a traceback."""

    block: TracebackBlock
    raised: Raised | None
    first: bool


@dataclass(slots=True)
class Finding:
    """One sign of trouble (or of harmlessness) on one line.

    role: a signature's role, or "generic" (an exception no rule knows) or "error_line" (an ERROR line none knows).
    tier: how loud it is: 0 for what never counts as a failure; the recovery of an attempt is judged by it.
    quiet: said at INFO or WARNING, outside of what ended the process.
    index: position of `line` in the input's lines. clock: seconds into a leap year, carried on from earlier lines.
    """

    cause: str
    layer: str
    role: str
    input: int
    index: int
    line: Line
    start: int
    end: int
    tier: int = 0
    attempt: int = 0
    phase: Phase = Phase.UNKNOWN
    clock: float | None = None
    signature: Signature | None = None
    captures: dict[str, str] = field(default_factory=dict)
    block: TracebackBlock | None = None
    recovered: bool = False
    last: int = 0
    quiet: bool = False

    @property
    def process(self) -> Process:
        """Who wrote the line."""
        return process_of(self.line)


def process_of(line: Line) -> Process:
    """Who wrote a line: the innermost prefix, else what the logger's header says."""
    known = line.record.process
    if known.name is None and known.pid is None and known.rank is None:
        header = line.header.process
        return Process(header.name, header.pid, header.rank, known.node or header.node, known.container)
    return known

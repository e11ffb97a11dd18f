"""Makes records and lines out of plain text."""

from k3triage.grammar import Tracebacks, to_line
from k3triage.model.records import NO_PROCESS, Header, Process, Record, TracebackBlock


def record(text: str, *, line: int = 1, process: Process = NO_PROCESS, gap: bool = False) -> Record:
    return Record(source="node.log", line=line, offset=0, raw=text, text=text, process=process, gap=gap)


def header(text: str) -> Header:
    return to_line(record(text)).header


def blocks(*lines: str | tuple[Process, str]) -> list[TracebackBlock]:
    """Tracebacks of lines, in the order in which they begin; a tuple gives the process that printed the line."""
    assembler = Tracebacks()
    found = []
    for number, item in enumerate(lines, 1):
        process, text = item if isinstance(item, tuple) else (NO_PROCESS, item)
        found += assembler.feed(to_line(record(text, line=number, process=process)))
    return sorted(found + assembler.close(), key=lambda block: block.start)

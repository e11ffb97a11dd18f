"""What the tests of ingest share."""

from k3triage.ingest import Unwrapper
from k3triage.model.records import RawLine, Record

VLLM = "(EngineCore_DP0 pid=68) ERROR 02-06 16:34:06 [core.py:936] ValueError: no blocks"
INNER = "ERROR 02-06 16:34:06 [core.py:936] ValueError: no blocks"


def raw_lines(data: bytes) -> list[RawLine]:
    """Physical lines with their offsets."""
    lines: list[RawLine] = []
    offset = 0
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
        lines.append(RawLine(offset, number, line))
        offset += len(line) + 1
    return lines


def unwrap(text: str | bytes, head: bytes | None = None) -> list[Record]:
    """All records of a file."""
    data = text.encode() if isinstance(text, str) else text
    unwrapper = Unwrapper("x.log", data[: 64 << 10] if head is None else head)
    records = [record for line in raw_lines(data) for record in unwrapper.feed(line)]
    return records + unwrapper.close()


def texts(text: str | bytes) -> list[str]:
    """Only the texts."""
    return [record.text for record in unwrap(text)]

"""Which inputs are read as a whole, and how much of others is held at once."""

from collections.abc import Iterator

# A pretty-printed JSON export has to be read as a whole; larger ones are read as plain lines.
DOCUMENT_LIMIT = 64 << 20
# Bytes of one line that are read where all lines are wanted.
LINE_LIMIT = 8 << 20


def may_be_document(head: bytes) -> bool:
    """Whether an input may be one JSON document, not a JSON object a line."""
    text = head.lstrip()
    if text[:1] not in (b"{", b"["):
        return False
    first, _, rest = text.partition(b"\n")
    return not first.rstrip().endswith(b"}") or not rest.strip() or first.startswith(b"[")


def up_to(blocks: Iterator[bytes], limit: int) -> bytes:
    """The blocks joined, until they exceed the limit."""
    kept: list[bytes] = []
    size = 0
    for block in blocks:
        kept.append(block)
        size += len(block)
        if size > limit:
            break
    return b"".join(kept)

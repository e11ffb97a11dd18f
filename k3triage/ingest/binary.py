"""Tells bytes that are no text: reading a core dump as a log would end in "nothing wrong found"."""

from itertools import chain

_MAGICS = (
    (b"\x7fELF", "an ELF program, library or core dump"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"GGUF", "a GGUF model"),
    (b"SQLite format 3\0", "an SQLite database"),
)
_LEAST = 512
_SAMPLE = 8192
# Controls that texts do not hold. Not among them: NUL (holes in files), 1 and 2 (raw frames of Docker), white space,
# backspace, bell and escape (terminals).
_CONTROLS = bytes(chain(range(3, 7), range(14, 27), range(28, 32), (127,)))


def kind(start: bytes) -> str | None:
    """What the first bytes of an input are, as words for "This is ...", where they are no text; None for text.

    Text in any of the old 8-bit encodings of Asia or Europe counts as text: it holds no control characters.
    """
    for magic, name in _MAGICS:
        if start.startswith(magic):
            return name
    sample = start[:_SAMPLE]
    if len(sample) < _LEAST:
        return None
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls * 25 < len(sample):
        return None
    wrong = sample.decode("utf-8", "replace").count("\ufffd")
    return "binary data" if wrong * 10 > len(sample) else None

"""Which lines of a block hold something that the fast lane of `events` must look at, or must leave."""

import re

from k3triage.model.anchors import Anchor
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engines

# A message that holds one of these is not for the lane,
_FOREIGN = ("|", "[repeated ", "it/s]", "s/it]", "]8;", "^[", "#033")
# and with one of these it may be an event of another type.
_TELLING = (
    "out of memory",
    "NCCL error in",
    "CUDA error: ",
    "with config: ",
    "args: ",
    "Prefix cache hit rate: GPU",
)
# These begin a traceback, of which the lane tells those who put it together; the last as JSON spells it.
_STACK = ("Traceback", 'File "', 'File \\"')
WORDS = (*_FOREIGN, *_TELLING, *_STACK)
FOREIGN = re.compile("|".join(map(re.escape, _FOREIGN)))
TELLING = re.compile("|".join(map(re.escape, _TELLING)))
STACK = re.compile("|".join(map(re.escape, _STACK)))
# In a block a line ends at a newline, in JSON at the escape of one.
COLOUR = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3})*m|m(?=[ (\[\n\\]|\Z))")
# Events cut what is longer than 20,000 characters.
LONGEST = 16_000
_PLAIN = bytes(range(32, 127)) + b"\n"
# How JSON spells some characters; no reason to leave the lane.
_SPELT = "\\u00"


class Marks:
    """Finds them with one pass for all words; `apart` and `stacks` are the offsets of lines in the source.

    apart: not for the lane, unless a closer look says so. stacks: may belong to a traceback. spelt: there is a `\\u00`
    somewhere.
    """

    def __init__(self) -> None:
        self.apart: set[int] = set()
        self.stacks: set[int] = set()
        self.spelt = False
        self._engines = Engines(AnchorSet([Anchor(word.encode(), "fault") for word in (*WORDS, _SPELT)]), "auto")

    def read(self, data: bytes, text: str, offset: int, *, escaped: bool) -> None:
        """Look at whole lines that begin at `offset`.

        text: the same, a character a byte. escaped: the lines are JSON, of which backslashes are a part.
        """
        apart, stacks = self.apart, self.stacks
        apart.clear()
        stacks.clear()
        self._engines.expect(offset + len(data))
        found = self._engines.get().present(data, 0, len(data))
        self.spelt = len(WORDS) in found
        for i in found[:-1] if self.spelt else found:
            _mark(data, WORDS[i].encode(), offset, stacks if WORDS[i] in _STACK else apart)
        if not escaped:
            _mark(data, b"\\", offset, apart)
        for odd in set(data.translate(None, _PLAIN)):
            _mark(data, bytes((odd,)), offset, apart)
        for match in COLOUR.finditer(text):
            apart.add(offset + text.rfind("\n", 0, match.start()) + 1)

    def read_lengths(self, lengths: list[int], more: int, offset: int) -> None:
        """Mark lines that are too long. more: by how much the lines are longer than `lengths`, newlines counted."""
        for length in lengths:
            if length + more > LONGEST:
                self.apart.add(offset)
            offset += length + more


def _mark(data: bytes, word: bytes, offset: int, found: set[int]) -> None:
    at = data.find(word)
    while at >= 0:
        found.add(offset + data.rfind(b"\n", 0, at) + 1)
        # One in a line is enough.
        end = data.find(b"\n", at)
        at = data.find(word, end) if end >= 0 else -1

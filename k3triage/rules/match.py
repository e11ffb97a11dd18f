"""Finds which signatures and markers the lines of a log show.

Cost: every distinct anchor is looked for once in one joined text (a C search), patterns run only on lines that hold
their anchor. Lines that differ by digits of their header alone (its time, above all) are searched once. Of a very long
line only both ends are looked at, as `rules.seen` tells: 8 KiB of its beginning and 2 KiB of its end; patterns are not
tried on a long one that lacks words which every match must hold.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field
from k3triage.rules.pack import Marker, Pack, Signature
from k3triage.rules.seen import may_match, room, seen

_ROLE_WEIGHT = {"benign": 5, "root": 4, "advisory": 3, "suspect": 2, "cascade": 1, "context": 0}
_MOST_HITS = 64
_DIGITS = dict.fromkeys(map(ord, "0123456789"))


@dataclass(slots=True)
class Hit:
    """A signature that one line shows; length is that of the matched text."""

    signature: Signature
    length: int
    captures: dict[str, str]

    @property
    def rank(self) -> tuple[int, int, int]:
        """Order of preference between hits on one line: precedence, role, length of the match."""
        return (self.signature.precedence, _ROLE_WEIGHT[self.signature.role], self.length)


@dataclass(slots=True)
class Matches:
    """Hits and markers by index of the line, both in order of the pack."""

    hits: dict[int, list[Hit]] = field(default_factory=dict)
    markers: dict[int, list[Marker]] = field(default_factory=dict)


def searchable(line: Line) -> str:
    """What anchors are looked for in: the header as printed and the program's own words of the message."""
    return _printed_header(line) + line.header.own


def _printed_header(line: Line) -> str:
    text, message = line.record.text, line.header.message
    return text[: len(text) - len(message)] if text.endswith(message) else ""


def match(lines: Sequence[Line], pack: Pack) -> Matches:
    """Every signature and marker that each line shows, conditions on phase and the like not yet applied."""
    most = room(len(line.own) for line in lines)
    alike: dict[tuple[str | None, ...], list[int]] = {}
    for index, line in enumerate(lines):
        header = line.header
        key = (header.own, _printed_header(line).translate(_DIGITS), header.location, header.level)
        alike.setdefault(key, []).append(index)
    groups = list(alike.values())
    texts = [(seen(lines[group[0]].own, most), seen(searchable(lines[group[0]]), most)) for group in groups]
    starts: list[int] = []
    position = 0
    for _, text in texts:
        starts.append(position)
        position += len(text) + 1
    joined = "\n".join(text for _, text in texts)
    found = Matches()
    for anchor, places in pack.by_anchor.items():
        for number in _occurrences(joined, anchor, starts):
            own, text = texts[number]
            for signature in (pack.signatures[place] for place in places):
                hit = _try(signature, own, lines[groups[number][0]])
                if hit is not None:
                    for index in groups[number]:
                        found.hits.setdefault(index, []).append(hit)
    for index, hits in found.hits.items():
        if len(hits) > _MOST_HITS:
            found.hits[index] = _best(hits)
    for anchor, markers in pack.markers_by_anchor.items():
        for number in _occurrences(joined, anchor, starts):
            own, text = texts[number]
            for marker in markers:
                if (may_match(marker.pattern, own) and marker.matches(own)) or (
                    marker.pattern is None and anchor in text
                ):
                    for index in groups[number]:
                        found.markers.setdefault(index, []).append(marker)
    return found


def _best(hits: list[Hit]) -> list[Hit]:
    """The hits that rank highest, in their order. No program's line shows so many; one made to slow us down does."""
    order = sorted(range(len(hits)), key=lambda number: hits[number].rank, reverse=True)[:_MOST_HITS]
    return [hits[number] for number in sorted(order)]


def _occurrences(joined: str, anchor: str, starts: list[int]) -> Iterator[int]:
    """Numbers of the texts that hold the anchor, each once."""
    position = joined.find(anchor)
    while position >= 0:
        number = bisect_right(starts, position) - 1
        yield number
        if number + 1 == len(starts):
            return
        position = joined.find(anchor, starts[number + 1])


def _try(signature: Signature, own: str, line: Line) -> Hit | None:
    if signature.pattern is None and signature.anchor not in own:
        # The anchor stands in the logger's header ("NCCL WARN"): the whole message is the match.
        return Hit(signature, len(signature.anchor), {}) if _header_fits(signature, line) else None
    if not may_match(signature.pattern, own):
        return None
    result = signature.search(own)
    if result is None or not _header_fits(signature, line):
        return None
    captures = {name: value for name, value in result.groupdict().items() if value is not None}
    return Hit(signature, result.end() - result.start(), captures)


def _header_fits(signature: Signature, line: Line) -> bool:
    header = line.header
    if signature.levels and header.level is not None and header.level not in signature.levels:
        return False
    if signature.header is None:
        return True
    return header.location is not None and re.search(signature.header, header.location) is not None

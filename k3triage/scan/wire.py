"""A partial scan in a form that hosts can exchange: checked when it comes in, since anyone may have made it."""

import itertools
from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from k3triage.model.records import RawLine
from k3triage.scan.anchors import AnchorSet, Limits
from k3triage.scan.partial import Event, Partial, mark_gaps

Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Bounds(_Strict):
    """`Limits` of the scan."""

    first: Size
    last: Size
    marker_first: Size
    stat_first: Size
    stat_last: Size
    attempt_lines: Size
    tight: Size
    tail_bytes: Size
    line_bytes: Size
    cut_bytes: Size
    context_bytes: Size
    kept_bytes: Size
    head_bytes: Size


class Lines(_Strict):
    """Where lines stand; their bytes follow one another in the blob."""

    numbers: list[Size]
    offsets: list[Count]
    sizes: list[Count]


class Events(_Strict):
    """Lines with anchors: `ids` are places in the pack's list of anchors."""

    numbers: list[Size]
    offsets: list[Count]
    ids: list[list[Count]]


class PartialHead(_Strict):
    """All of a partial scan but the bytes of its lines. dropped: anchor and how many of its lines were left out."""

    bytes: Count
    newlines: Count
    ends_open: bool
    limits: Bounds | None
    lines: Lines
    context: Lines
    events: Events
    dropped: list[tuple[Count, Count]]


def dump(partial: Partial, write: Callable[[bytes], object]) -> PartialHead:
    """The head of a partial scan; the bytes of its lines go to `write` in order."""
    anchors = partial._anchors
    place = {literal: i for i, literal in enumerate(anchors.literals)} if anchors else {}
    return PartialHead(
        bytes=partial.bytes,
        newlines=partial.newlines,
        ends_open=partial._ends_open,
        limits=Bounds(**{name: getattr(anchors.limits, name) for name in Bounds.model_fields}) if anchors else None,
        lines=_dump_lines(partial.lines, write),
        context=_dump_lines([line for _, line in sorted(partial._context.items())], write),
        events=Events(
            numbers=[event.number for event in partial._events],
            offsets=[event.offset for event in partial._events],
            ids=[sorted(event.ids) for event in partial._events],
        ),
        dropped=[(place[literal], count) for literal, count in partial.dropped.items()],
    )


def _dump_lines(lines: Iterable[RawLine], write: Callable[[bytes], object]) -> Lines:
    lines = list(lines)
    for line in lines:
        write(line.data)
    return Lines(
        numbers=[line.number for line in lines],
        offsets=[line.offset for line in lines],
        sizes=[len(line.data) for line in lines],
    )


def load(head: PartialHead, take: Callable[[int], bytes], anchors_for: Callable[[Limits], AnchorSet]) -> Partial:
    """The partial scan of a head. take: gives the next bytes of the blob. anchors_for: the pack's, with these limits.

    Raises ValueError where the parts do not fit each other.
    """
    if head.limits is None:
        if head.bytes and (head.events.numbers or head.lines.numbers):
            raise ValueError("lines without anchors")
        return Partial(bytes=head.bytes, newlines=head.newlines)
    anchors = anchors_for(Limits(**head.limits.model_dump()))
    lines, context = _load_lines(head.lines, head, take), _load_lines(head.context, head, take)
    mark_gaps(lines)
    known, kept = len(anchors.literals), {line.number for line in lines}
    found = head.events
    _check_order(found.numbers, found.offsets, head)
    if len(found.ids) != len(found.numbers) or not kept.issuperset(found.numbers):
        raise ValueError("events that do not fit the lines")
    if any(i >= known for ids in found.ids for i in ids) or any(i >= known for i, _ in head.dropped):
        raise ValueError("unknown anchors")
    return Partial(
        lines=lines,
        bytes=head.bytes,
        newlines=head.newlines,
        dropped={anchors.literals[i]: count for i, count in head.dropped},
        _anchors=anchors,
        _events=[
            Event(number, offset, frozenset(ids))
            for number, offset, ids in zip(found.numbers, found.offsets, found.ids, strict=True)
        ],
        _context={line.number: line for line in context},
        _ends_open=head.ends_open,
    )


def _load_lines(rows: Lines, head: PartialHead, take: Callable[[int], bytes]) -> list[RawLine]:
    if len(rows.sizes) != len(rows.numbers):
        raise ValueError("lines without sizes")
    _check_order(rows.numbers, rows.offsets, head)
    return [
        RawLine(offset, number, take(size))
        for offset, number, size in zip(rows.offsets, rows.numbers, rows.sizes, strict=True)
    ]


def _check_order(numbers: list[int], offsets: list[int], head: PartialHead) -> None:
    if len(numbers) != len(offsets):
        raise ValueError("lines without places")
    if any(a >= b for a, b in itertools.pairwise(numbers)):
        raise ValueError("lines out of order")
    if any(a >= b for a, b in itertools.pairwise(offsets)):
        raise ValueError("places out of order")
    if numbers and (numbers[-1] > head.newlines + head.ends_open or offsets[-1] > head.bytes):
        raise ValueError("lines beyond the end")

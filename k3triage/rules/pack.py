"""The compiled rule pack: what the matcher needs of every rule file, small and quick to load.

The texts of a cause (what it means, steps, examples) stay in its file and are read when they are asked for.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from k3triage.model.anchors import STRENGTH, Anchor, Kind
from k3triage.model.shapes import dataclass, field
from k3triage.rules.links import Links

_PATIENCE = 0.2
"""Seconds that a pattern of a foreign pack may take on one line."""


@dataclass(slots=True)
class Signature:
    """One compiled signature (see `schema.Signature` for the fields).

    foreign: it is of a pack that was not tested with this program; a pattern of it that takes too long is given up.
    """

    cause: str
    layer: str
    role: str
    index: int
    anchor: str = ""
    pattern: str | None = None
    levels: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    frames: str | None = None
    raised_in: str | None = None
    raised: bool = False
    header: str | None = None
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    fact: str | None = None
    equals: str | bool | int | None = None
    at: str = "exception"
    precedence: int = 50
    foreign: bool = False
    _search: Callable[[str], re.Match[str] | None] | None = field(default=None, repr=False, compare=False)

    @property
    def conditional(self) -> bool:
        """Whether more than the line itself decides if it holds."""
        return bool(self.frames or self.phases or self.needs or self.unless)

    def search(self, text: str) -> re.Match[str] | None:
        """First match of the pattern in the program's own words of a line; the anchor's where there is no pattern."""
        if self._search is None:
            pattern = self.pattern if self.pattern is not None else re.escape(self.anchor)
            self._search = _patient(pattern) if self.foreign else re.compile(pattern).search
        return self._search(text)


def _patient(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """A search that ends: `regex` can stop a pattern that backtracks without end, the standard library cannot."""
    import regex

    search: Any = regex.compile(pattern, regex.VERSION0).search

    def patient(text: str) -> re.Match[str] | None:
        try:
            found: re.Match[str] | None = search(text, timeout=_PATIENCE)
        except TimeoutError:
            return None
        return found

    return patient


class Signatures(Sequence[Signature]):
    """All signatures, made of their compiled rows when they are first looked at: a log shows few of them."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self._made: dict[int, Signature] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, number: int) -> Signature: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Signature]: ...
    def __getitem__(self, number: int | slice) -> Signature | Sequence[Signature]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self.rows)))]
        signature = self._made.get(number)
        if signature is None:
            row: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in self.rows[number].items()
            }
            signature = self._made[number] = Signature(**row)
        return signature


@dataclass(slots=True)
class CauseInfo:
    """What the diagnosis needs to know of a cause."""

    id: str
    title: str
    layer: str
    phase: str | None
    phase_is_fixed: bool
    confidence: str
    decision: str
    file: str
    crash: bool = False


@dataclass(slots=True)
class Marker:
    """A line that tells where in its life a process is, or (event "settled") that earlier complaints are over."""

    id: str
    anchor: str
    event: str
    phase: str | None = None
    pattern: str | None = None
    settles: str | None = None
    _search: Callable[[str], re.Match[str] | None] | None = field(default=None, repr=False, compare=False)

    def matches(self, text: str) -> bool:
        """Whether the line's own words show this marker."""
        if self.pattern is None:
            return self.anchor in text
        if self._search is None:
            self._search = re.compile(self.pattern).search
        return self._search(text) is not None


@dataclass(slots=True)
class FrameRule:
    """Phase that a stack frame gives away."""

    pattern: str
    phase: str
    priority: int = 50


@dataclass
class Pack:
    """All rules, compiled. cover: the hitting set over the anchors (see `rules.cover`)."""

    version: str
    signatures: Signatures
    infos: dict[str, CauseInfo]
    markers: list[Marker]
    frames: list[FrameRule]
    generic_anchors: list[Anchor]
    common: frozenset[str]
    pages: Callable[[str], Any]
    links: Links
    cover: tuple[bytes, ...] = ()

    def page(self, cause: str) -> Any:
        """The rule file of a cause (`schema.Cause`) without its examples and look-alikes.

        KeyError for an id that the pack does not have.
        """
        return self.pages(self.infos[cause].id)

    def causes(self) -> list[Any]:
        """Every rule file, whole, by id."""
        from k3triage.rules.loader import read_cause

        return [read_cause(Path(info.file)) for _, info in sorted(self.infos.items())]

    @cached_property
    def by_anchor(self) -> dict[str, list[int]]:
        """Places of the signatures by their anchor literal."""
        table: dict[str, list[int]] = {}
        for number, row in enumerate(self.signatures.rows):
            anchor = row.get("anchor")
            if anchor:
                table.setdefault(anchor, []).append(number)
        return table

    @cached_property
    def markers_by_anchor(self) -> dict[str, list[Marker]]:
        """Markers by their anchor literal."""
        table: dict[str, list[Marker]] = {}
        for marker in self.markers:
            table.setdefault(marker.anchor, []).append(marker)
        return table

    @cached_property
    def fact_signatures(self) -> list[Signature]:
        """Signatures that look at gathered facts instead of a line."""
        return [self.signatures[i] for i, row in enumerate(self.signatures.rows) if row.get("fact") is not None]

    @cached_property
    def anchors(self) -> list[Anchor]:
        """What the scan looks for: generic anchors, markers, signatures; of equal literals the strongest kind.

        Left out are literals too common in healthy logs, and those of harmless lines, which matter only where another
        anchor has picked their line.
        """
        kinds: dict[str, tuple[Kind, bool]] = {}

        def add(literal: str, kind: Kind, resets: bool = False) -> None:
            old = kinds.get(literal)
            if old is None or STRENGTH[old[0]] < STRENGTH[kind]:
                kinds[literal] = kind, resets or bool(old and old[1])

        for anchor in self.generic_anchors:
            add(anchor.literal.decode("ascii"), anchor.kind, anchor.resets)
        for marker in self.markers:
            kind: Kind = "marker"
            if marker.event in ("progress", "hint"):
                kind = "progress"
            elif marker.event == "stats":
                kind = "stat"
            add(marker.anchor, kind, marker.event == "start")
        rows = self.signatures.rows
        wanted = {other for row in rows for other in (*row.get("needs", ()), *row.get("unless", ()))}
        for row in rows:
            literal, role = row.get("anchor"), row["role"]
            if not literal or literal in self.common:
                continue
            if role != "benign":
                add(literal, "marker" if role == "context" else "fault")
            elif row["cause"] in wanted:
                add(literal, "marker")
        return [Anchor(literal.encode("ascii"), *kinds[literal]) for literal in sorted(kinds)]

"""What is known about a line while its envelopes come off."""

from k3triage.model.shapes import dataclass


@dataclass(slots=True)
class Draft:
    """A record in the making: everything but its text.

    ns: envelope time in nanoseconds since 1970 UTC.
    partial: the text goes on in a later record of the same envelope and stream.
    """

    line: int
    offset: int
    raw: str
    gap: bool = False
    envelopes: tuple[str, ...] = ()
    ns: int | None = None
    year_known: bool = True
    stream: str | None = None
    name: str | None = None
    pid: int | None = None
    rank: int | None = None
    node: str | None = None
    container: str | None = None
    level: str | None = None
    count: int = 1
    partial: bool = False

    def copy(self) -> "Draft":
        """An independent copy, for one of several records out of the same wrapper."""
        return Draft(
            self.line,
            self.offset,
            self.raw,
            self.gap,
            self.envelopes,
            self.ns,
            self.year_known,
            self.stream,
            self.name,
            self.pid,
            self.rank,
            self.node,
            self.container,
            self.level,
            self.count,
        )


@dataclass(slots=True)
class Entry:
    """One log entry out of a JSON wrapper.

    kind: name of the wrapper ("docker-json", "gcp", ...).
    text: what the program wrote; may hold several lines.
    key: JSON key of the text, "" where it is an array element.
    partial: the text goes on in the stream's next entry.
    """

    kind: str
    text: str
    key: str = ""
    ns: int | None = None
    stream: str | None = None
    node: str | None = None
    container: str | None = None
    pid: int | None = None
    level: str | None = None
    partial: bool = False

    def onto(self, draft: Draft) -> None:
        """Write what the entry knows into the draft; what it does not know stays as an outer wrapper had it."""
        draft.envelopes = (*draft.envelopes, self.kind)
        if self.ns is not None:
            draft.ns, draft.year_known = self.ns, True
        draft.stream = self.stream or draft.stream
        draft.node = self.node or draft.node
        draft.container = self.container or draft.container
        draft.pid = self.pid if self.pid is not None else draft.pid
        draft.level = self.level or draft.level
        draft.partial = self.partial

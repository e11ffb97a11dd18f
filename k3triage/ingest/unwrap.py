"""Turns physical lines into records: takes envelopes and prefixes off until the program's own text is left."""

from collections import Counter
from collections.abc import Callable

from k3triage.ingest import prefixes, progress, quickjson
from k3triage.ingest.ansi import strip_ansi
from k3triage.ingest.draft import Draft, Entry
from k3triage.ingest.election import Elected, elect
from k3triage.ingest.envelopes import (
    compose,
    cri,
    csvrows,
    docker,
    fluent,
    journald,
    jsonlines,
    kubernetes,
    labels,
    loki,
    stamps,
    syslog,
)
from k3triage.model.records import NO_PROCESS, Process, RawLine, Record

Peel = Callable[[str, Draft], str | None]

_MAX_LINE = 8 << 20
"""Bytes of one physical line that are looked at."""
_MAX_JOINED = 4 << 20
_MAX_PENDING = 256
_MAX_LAYERS = 16
_MAX_DEPTH = 8
_ELECTORS = 200
_FULL_HEAD = 64 << 10
_MAX_CACHE = 4096

_DIGIT: tuple[Peel, ...] = (cri.cri, csvrows.row, fluent.file_form, journald.iso, stamps.rfc3339, syslog.talos)
_BRACKET: tuple[Peel, ...] = (prefixes.rank, kubernetes.prefix, fluent.stdout_form)
_UPPER: tuple[Peel, ...] = (journald.short,)
_NONE: tuple[Peel, ...] = ()
_BY_FIRST: dict[str, tuple[Peel, ...]] = {
    **dict.fromkeys("0123456789", _DIGIT),
    **dict.fromkeys("JFMASOND", _UPPER),
    "(": (prefixes.process,),
    "[": _BRACKET,
    "<": (syslog.syslog,),
    "{": (loki.labels,),
    '"': (csvrows.row,),
    "r": (prefixes.mpich,),
    "k": (syslog.talos,),
    "u": (syslog.talos,),
    "d": (syslog.talos,),
}


class Unwrapper:
    """Makes records of the lines of one source.

    name: source that the records carry. head: the first bytes of the source, over which ambiguous envelopes are
    elected; lines that do not fit what was elected are taken as bare text, and none is dropped.
    """

    def __init__(self, name: str, head: bytes = b"") -> None:
        self.name = name
        self._elected = Elected()
        self._pending: dict[tuple[object, ...], tuple[Draft, list[str], int]] = {}
        self._kinds: Counter[str] = Counter()
        self._processes: dict[tuple[object, ...], Process] = {}
        self._frame_rest = 0
        self._electing = False
        self._json_kind: str | None = None
        self._joins_json = b'\\n"' in head
        self._elect(head)

    @property
    def envelope(self) -> str:
        """The outer envelope that most lines had so far, "plain" where most had none."""
        return self._kinds.most_common(1)[0][0] if self._kinds else "plain"

    @property
    def waiting(self) -> bool:
        """Whether the next line may belong to an earlier one."""
        return bool(self._pending) or self._frame_rest > 0

    def passed_over(self) -> None:
        """Whole lines of Docker's json-file were read by someone else; what they tell about later lines counts."""
        self._joins_json = True
        self._json_kind = "docker-json"

    @property
    def bare(self) -> bool:
        """Whether no envelope was elected, so that each line alone tells what it is wrapped in."""
        return not self._elected.any()

    def feed(self, line: RawLine) -> list[Record]:
        """The records of one physical line: none while a partial line is waiting for its rest, or several."""
        out: list[Record] = []
        if line.gap:
            self._frame_rest = 0
            if self._pending:
                self._flush(out)
        data = line.data
        if len(data) > _MAX_LINE:
            data = data[:_MAX_LINE]
        draft = Draft(line.number, line.offset, "", line.gap)
        if self._frame_rest or data[:1] in (b"\x01", b"\x02"):
            data = self._unframe(data, draft)
        text = data.decode("utf-8", "replace")
        if text.endswith("\r"):
            text = text[:-1]
        draft.raw = text
        if not text.isprintable():
            if "\0" in text:
                text = text.replace("\0", "")
            text = text.removeprefix("\ufeff")
        self._open(text, draft, out, 0)
        if out:
            envelopes = out[-1].envelopes
            self._kinds[envelopes[0] if envelopes else "plain"] += 1
        return out

    def feed_text(self, text: str, draft: Draft) -> list[Record]:
        """The records of a text that a document's envelope, already in the draft, was taken off of."""
        out: list[Record] = []
        if self._parts(draft):
            joined = self._join(text, draft)
            if joined is None:
                return out
            text, draft = joined
        self._open(text, draft, out, 1)
        if out and out[-1].envelopes:
            self._kinds[out[-1].envelopes[0]] += 1
        return out

    def close(self) -> list[Record]:
        """The records of partial lines whose rest never came."""
        out: list[Record] = []
        self._flush(out)
        return out

    # -- taking off ---------------------------------------------------------------------------------------------

    def _open(self, text: str, draft: Draft, out: list[Record], depth: int) -> None:
        if "\n" in text and depth < _MAX_DEPTH:
            self._split(text, draft, out, depth)
            return
        if text[:1] != "{":
            text = strip_ansi(text)
        for _ in range(_MAX_LAYERS):
            if text[:1] == "{" and depth < _MAX_DEPTH:
                if self._open_json(text, draft, out, depth):
                    return
                text = strip_ansi(text)
            inner = self._peel(text, draft)
            if inner is None:
                break
            text = inner
            if (draft.partial or self._pending) and draft.envelopes[-1:] == ("cri",):
                joined = self._join(text, draft)
                if joined is None:
                    return
                text, draft = joined
        if "\n" in text and depth < _MAX_DEPTH:
            self._split(text, draft, out, depth)
        elif "\r" in text and depth < _MAX_DEPTH:
            self._states(text, draft, out, depth)
        else:
            self._finish(text, draft, out, depth)

    def _peel(self, text: str, draft: Draft) -> str | None:
        first = text[:1]
        for peel in _BY_FIRST.get(first, _NONE):
            inner = peel(text, draft)
            if inner is not None:
                return inner
        # Nothing but prefixes of processes stands behind the prefix of a process.
        if draft.name is not None:
            return None
        return self._peel_label(text, first, draft)

    def _peel_label(self, text: str, first: str, draft: Draft) -> str | None:
        elected = self._elected
        inner: str | None = None
        if first == " " or first.isdigit():
            stripped = text.lstrip(" ")
            if stripped[:1] == "(":
                return prefixes.process(stripped, draft)
            if "slurm" not in draft.envelopes:
                inner = labels.slurm(text, draft) if elected.slurm else labels.certain_slurm(text, draft)
        elif "|" in text[:140] and "compose" not in draft.envelopes:
            inner = compose.elected(text, draft) if elected.compose else compose.certain(text, draft)
        if inner is None and elected.pairs and "stern" not in draft.envelopes:
            inner = kubernetes.stern(text, draft, elected.pairs)
        if inner is None and elected.desktop and "docker-desktop" not in draft.envelopes:
            inner = stamps.desktop(text, draft)
        if inner is None and elected.hosts and "pdsh" not in draft.envelopes:
            inner = labels.host(text, draft, elected.hosts)
        if inner is None and elected.tags and "label" not in draft.envelopes:
            inner = labels.tag(text, draft, elected.tags)
        if inner is None and "\t" in text:
            inner = stamps.github_job(text, draft)
        if inner is None and "[" in text[12:21] and first.isalnum():
            inner = stamps.runpod(text, draft)
        return inner

    def _open_json(self, text: str, draft: Draft, out: list[Record], depth: int) -> bool:
        try:
            item = quickjson.loads(text)
        except quickjson.JSONDecodeError:
            message = jsonlines.torn(text) if self._json_kind is not None else None
            if message is None or self._json_kind is None:
                return False
            found: list[Entry] | None = [Entry(self._json_kind, message)]
        else:
            found = jsonlines.entries(item) if isinstance(item, dict) else None
        if not found:
            return False
        self._json_kind = found[0].kind
        for entry in found:
            own = draft.copy() if len(found) > 1 else draft
            body: str = entry.text
            entry.onto(own)
            if self._parts(own):
                joined = self._join(body, own)
                if joined is None:
                    continue
                body, own = joined
            self._open(body, own, out, depth + 1)
        return True

    # -- partial lines ------------------------------------------------------------------------------------------

    def _parts(self, draft: Draft) -> bool:
        """Whether the draft's envelope marks partial lines, and one is under way."""
        if draft.envelopes[-1:] == ("docker-json",):
            # Some tools strip the newline that ends a whole line; then its absence tells nothing.
            self._joins_json = self._joins_json or not draft.partial
            draft.partial = draft.partial and self._joins_json
        return draft.partial or bool(self._pending)

    def _join(self, text: str, draft: Draft) -> tuple[str, Draft] | None:
        """Put the text behind its earlier parts; None while more are to come."""
        key = (draft.envelopes, draft.stream, draft.node, draft.container)
        waiting = self._pending.pop(key, None)
        partial, draft.partial = draft.partial, False
        if waiting is None:
            if not partial:
                return text, draft
            waiting = (draft, [], 0)
        first, parts, size = waiting
        parts.append(text)
        size += len(text)
        if partial and size < _MAX_JOINED and len(self._pending) < _MAX_PENDING:
            self._pending[key] = (first, parts, size)
            return None
        return "".join(parts), first

    def _flush(self, out: list[Record]) -> None:
        waiting = sorted(self._pending.values(), key=lambda item: item[0].line)
        self._pending.clear()
        for draft, parts, _ in waiting:
            self._open("".join(parts), draft, out, 1)

    def _unframe(self, data: bytes, draft: Draft) -> bytes:
        """Take the Engine API's frame header off; an LF among its bytes tears it over two lines."""
        if self._frame_rest:
            data = data[self._frame_rest :]
            self._frame_rest = 0
            return data
        frame = docker.frame(data)
        if frame is None:
            return data
        draft.stream, length = frame
        draft.envelopes = (*draft.envelopes, "docker-raw")
        self._frame_rest = max(0, docker.FRAME - length - 1)
        return data[length:]

    # -- several records in one line ----------------------------------------------------------------------------

    def _split(self, text: str, draft: Draft, out: list[Record], depth: int) -> None:
        for part in text.removesuffix("\n").split("\n"):
            self._open(part.removesuffix("\r"), draft.copy(), out, depth + 1)

    def _states(self, text: str, draft: Draft, out: list[Record], depth: int) -> None:
        for part in progress.states(text):
            self._open(part, draft.copy(), out, depth + 1)

    def _finish(self, text: str, draft: Draft, out: list[Record], depth: int) -> None:
        if "[repeated " in text:
            text = prefixes.repeated(text, draft)
        # A label that stands on each line must be seen as such before it is taken for a line that was cut.
        if depth < _MAX_DEPTH and not self._electing:
            pieces = progress.glued(text)
            if len(pieces) > 1 or pieces[0] is not text:
                for piece in pieces:
                    self._open(piece, draft.copy(), out, _MAX_DEPTH - 1 if piece is pieces[0] else depth + 1)
                return
        out.append(
            Record(
                self.name,
                draft.line,
                draft.offset,
                draft.raw,
                text,
                draft.envelopes,
                None if draft.ns is None else draft.ns / 1e9,
                draft.stream,
                self._process(draft),
                draft.level,
                draft.count,
                draft.gap,
                draft.year_known,
            )
        )

    def _process(self, draft: Draft) -> Process:
        key = (draft.name, draft.pid, draft.rank, draft.node, draft.container)
        process = self._processes.get(key)
        if process is None:
            if len(self._processes) >= _MAX_CACHE:
                self._processes.clear()
            process = Process(*key) if any(part is not None for part in key) else NO_PROCESS
            self._processes[key] = process
        return process

    # -- election -----------------------------------------------------------------------------------------------

    def _elect(self, head: bytes) -> None:
        lines = [line for line in head.split(b"\n")[: _ELECTORS * 2] if line.strip()][:_ELECTORS]
        if len(lines) > 1 and len(head) >= _FULL_HEAD and not head.endswith(b"\n"):
            lines.pop()  # a full head may cut its last line
        if not lines:
            return
        self._electing = True
        # Each kind found may lay another one bare beneath it.
        for _ in range(4):
            texts: list[str] = []
            for number, line in enumerate(lines, start=1):
                records = self.feed(RawLine(0, number, line))[:8]
                texts.extend(record.text for record in records if record.process.name is None)
            self._pending.clear()
            if not elect(texts, self._elected):
                break
        self._electing = False
        self._kinds.clear()
        self._json_kind = None
        self._frame_rest = 0

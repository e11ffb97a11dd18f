"""Puts the lines of printed tracebacks together, although those of several processes stand between each other.

A stream is one process printing either bare lines or lines with one logger's header (vLLM repeats the header, with
its location, on every line of a record). Each stream has at most one open block.

- A block opens with `Traceback ...`, with a frame (its beginning was cut away), with rich's box, with the repr that V0
  logs, or with a lone `SomeError: message`. The last needs a class called like an exception and either a bare line
  without indentation or a record of level ERROR or CRITICAL, since no stack vouches for it.
- While frames are awaited, foreign lines in between are left out. After the exception's line all that the stream
  prints belongs to its message, blank lines included (hub and JIT messages have paragraphs), until a log line of the
  process, a new traceback or a line that is known to be no message.
- An exception inside a message (Ray's and multiprocessing's remote tracebacks) and a member of a group is deeper than
  the one that carries it, and stands before it in the chain: `chain[0]` is the deepest exception that was printed.
- A block that was cut before its exception has one Raised of type "" at its last line.
"""

from collections.abc import Collection

from k3triage.grammar import exceptions as shapes
from k3triage.grammar.boxes import Box, closes_box, opens_box
from k3triage.model.lazy import lazy
from k3triage.model.records import Line, Process, Raised, TracebackBlock

_MAX_OPEN = 256
_MAX_LINES, _KEPT_LINES = 600, 300
_MAX_FRAMES, _KEPT_FRAMES = 200, 80
_MAX_MORE = 300
_MAX_CHAIN = 64
# So many lines of others may stand between two lines of a block.
_PATIENCE = 200
# So many lines may follow a blank one in a message of which no process is known.
_NAKED_PARAGRAPH = 60

_NO_MESSAGE = lazy(
    r"Process \S+:\s*\Z|Exception (?:ignored|in thread)|Fatal Python error|terminate called|Killed\b|Aborted\b"
    r"|Segmentation fault|Bus error|\*\*\* SIG|!!!!!!!|nanobind: |\S+\.py:\d+: \w*Warning: |srun: |slurmstepd: "
    r"|Loading \S+ checkpoint shards|Capturing CUDA graph|==> .+ <==|torch\.distributed\.elastic|=====+\s*\Z"
    r"|\[\w+\] Rank \d+ is connected|-{20,}\s*\Z"
    r"|(?:docker|podman|nerdctl|kubectl|nvidia-container-cli): \S"
    r"|Error response from daemon|Error from server|OCI runtime|Unable to find image "
)
_QUOTE = '"""'
_LONE_KINDS = frozenset(("", "vllm", "python", "uvicorn", "ray", "klog"))

_Who = tuple[str, Process]
_Stream = tuple[str, str | None]
_BARE: _Stream = ("", None)


class _Open:
    """One block under construction."""

    def __init__(self, naked: bool) -> None:
        self.naked = naked
        self.lines: list[Line] = []
        self.chain: list[Raised] = []
        self.frames: list[tuple[str, int, str]] = []
        self.state = "frames"
        self.link = ""
        self.current: Raised | None = None
        self.wrapper: Raised | None = None
        self.group = False
        # The exceptions that carry members, by the column of the rules between their members.
        self.carriers: dict[int, Raised] = {}
        self.carrier: Raised | None = None
        self.box: Box | None = None
        self.boxed = False
        self.foreign = 0
        self.after_blank = -1

    def keep(self, line: Line) -> None:
        self.lines.append(line)
        self.foreign = 0
        if len(self.lines) > _MAX_LINES:
            del self.lines[_KEPT_LINES]

    def add_frame(self, frame: tuple[str, int, str]) -> None:
        self.frames.append(frame)
        if len(self.frames) > _MAX_FRAMES:
            del self.frames[_KEPT_FRAMES]

    def raise_(self, line: Line, shown: shapes.Shown) -> None:
        """Take the line that names an exception."""
        raised = Raised(line, shown.type, shown.message, [], self.link, self.frames)
        self.frames = []
        if len(self.chain) < _MAX_CHAIN:
            if self.wrapper is not None:
                raised.link, self.wrapper.link = self.wrapper.link, "cause"
                self.chain.insert(self.chain.index(self.wrapper), raised)
                self.wrapper = None
            elif self.link == "group" and self.chain:
                place = next((i for i, one in enumerate(self.chain) if one is self.carrier), len(self.chain) - 1)
                self.chain[place].link = "cause"
                self.chain.insert(place, raised)
            else:
                self.chain.append(raised)
        self.current, self.link, self.state, self.after_blank = raised, "", "message", -1

    def close(self) -> TracebackBlock | None:
        if not self.chain:
            if not self.frames:
                return None
            self.chain.append(Raised(self.lines[-1], "", "", [], self.link, self.frames))
        for raised in self.chain:
            while raised.more and not _text(raised.more[-1]).strip():
                raised.more.pop()
            texts = [raised.message, *(_text(line) for line in raised.more)]
            raised.message = " ".join(text.strip() for text in texts) if self.boxed else "\n".join(texts)
        while len(self.lines) > 1 and not _text(self.lines[-1]).strip():
            self.lines.pop()
        return TracebackBlock(self.chain, self.lines)


class Tracebacks:
    """Feed it all lines in order; it gives each block when it is complete.

    Memory is bounded: long messages and stacks keep their head and tail, and the oldest of too many open blocks is
    closed. Blocks come in the order in which they end, not in which they begin.
    """

    def __init__(self) -> None:
        self._open: dict[_Who, dict[_Stream, _Open]] = {}
        self._count = 0
        self._done: list[TracebackBlock] = []

    def feed(self, line: Line) -> list[TracebackBlock]:
        """Take one line; returns the blocks that it shows to be complete."""
        record, header = line.record, line.header
        if record.gap:
            self._close_all()
        bare = header.kind == "" or (header.kind == "docker" and header.level is None)
        stream: _Stream = _BARE if bare else (header.kind, header.location)
        who = (record.source, record.process)
        streams = self._open.get(who)
        text = header.message
        if streams is None:
            if text:
                self._begin(who, stream, line, text)
        elif not self._continue(who, streams, stream, line, text) and text.strip():
            self._begin(who, stream, line, text)
        if not self._done:
            return []
        done, self._done = self._done, []
        return done

    @property
    def speakers(self) -> Collection[tuple[str, Process]]:
        """Source and process of each open block, kept up to date: lines of others mean nothing to it."""
        return self._open

    def close(self) -> list[TracebackBlock]:
        """End of input: the blocks that are still open."""
        self._close_all()
        done, self._done = self._done, []
        return done

    def _close_all(self) -> None:
        for streams in self._open.values():
            for block in streams.values():
                self._give(block)
        self._open.clear()
        self._count = 0

    def _give(self, block: _Open) -> None:
        done = block.close()
        if done is not None:
            self._done.append(done)

    def _end(self, who: _Who, stream: _Stream) -> None:
        streams = self._open[who]
        self._give(streams.pop(stream))
        self._count -= 1
        if not streams:
            del self._open[who]

    def _begin(self, who: _Who, stream: _Stream, line: Line, text: str) -> None:
        block = _beginning(line, text)
        if block is None:
            return
        block.keep(line)
        if self._count >= _MAX_OPEN:
            oldest = next(iter(self._open))
            self._end(oldest, next(iter(self._open[oldest])))
        self._open.setdefault(who, {})[stream] = block
        self._count += 1

    def _continue(self, who: _Who, streams: dict[_Stream, _Open], stream: _Stream, line: Line, text: str) -> bool:
        """Offer the line to the open blocks of its process; True where one took it."""
        block = streams.get(stream)
        for other in list(streams):
            if other != stream and not _tolerates(streams[other]):
                self._end(who, other)
        if block is None and stream == _BARE:
            block = self._adopt(streams, text)
        if block is None:
            return False
        if _take(block, line, text):
            return True
        if block.state == "frames" and not _starts(text) and _tolerates(block):
            return True
        self._end(who, stream)
        return False

    @staticmethod
    def _adopt(streams: dict[_Stream, _Open], text: str) -> _Open | None:
        """A logger that prints its header on `Traceback ...` alone: the bare frames below continue that block."""
        if shapes.frame(text) is None:
            return None
        for stream, block in streams.items():
            if len(block.lines) == 1 and block.state == "frames":
                streams[_BARE] = streams.pop(stream)
                return block
        return None


def _text(line: Line) -> str:
    return line.header.message


def _starts(text: str) -> bool:
    return shapes.starts_traceback(text) or shapes.starts_group(text) or opens_box(text)


def _tolerates(block: _Open) -> bool:
    """Whether the block goes on after a line that is not its own."""
    if block.state == "message":
        return False
    block.foreign += 1
    return block.foreign <= _PATIENCE


def _beginning(line: Line, text: str) -> _Open | None:
    """The block that a line opens."""
    header = line.header
    lone = header.kind in _LONE_KINDS and (not header.kind or header.level in ("ERROR", "CRITICAL"))
    # Most lines begin nothing, and this is asked of all of them.
    if not lone and "Traceback" not in text and 'File "' not in text:
        return None
    process = line.record.process
    block = _Open(naked=process.name is None and process.pid is None and process.rank is None and header.kind == "")
    if opens_box(text):
        block.box, block.boxed, block.state = Box(), True, "box"
        return block
    if shapes.starts_group(text):
        block.group = True
        return block
    if shapes.starts_traceback(text):
        return block
    frame = shapes.frame(text)
    if frame is not None:
        block.add_frame(frame)
        return block
    if not lone:
        return None
    shown = shapes.lone_exception(text) or (shapes.represented(text) if header.kind else shapes.indented(text))
    if shown is None:
        return None
    block.raise_(line, shown)
    return block


def _take(block: _Open, line: Line, text: str) -> bool:
    """Let the block take a line of its own stream; False where the line is none of its."""
    if block.box is not None:
        return _take_boxed(block, line, text)
    if block.group:
        if shapes.group_rule(text):
            block.keep(line)
            column, opens = shapes.rule_column(text)
            if opens and block.current is not None and len(block.carriers) < _MAX_CHAIN:
                block.carriers[column] = block.current
            block.carrier = block.carriers.get(column)
            block.link, block.state, block.frames = "group", "frames", []
            return True
        text = shapes.without_margin(text)
    if block.state == "message":
        taken = _take_message(block, line, text)
    elif block.state == "chain":
        taken = _take_chain(block, text)
    else:
        taken = _take_stack(block, line, text)
    if taken:
        block.keep(line)
    return taken


def _take_boxed(block: _Open, line: Line, text: str) -> bool:
    assert block.box is not None
    block.keep(line)
    frame = block.box.feed(text)
    if frame is not None:
        block.add_frame(frame)
    if closes_box(text):
        block.box, block.state = None, "frames"
    return True


def _take_stack(block: _Open, line: Line, text: str) -> bool:
    frame = shapes.frame(text)
    if frame is not None:
        block.add_frame(frame)
        return True
    if not text or text[0] in " \t":
        return True
    if shapes.starts_traceback(text) or shapes.starts_group(text):
        return block.group or not block.frames
    shown = shapes.exception(text)
    if shown is not None:
        block.raise_(line, shown)
        return True
    if block.wrapper is not None:
        # frames quoted by a message, with no exception of their own
        block.wrapper, block.state, block.frames = None, "message", []
        return _take_message(block, line, text)
    return False


def _take_chain(block: _Open, text: str) -> bool:
    if not text.strip():
        return True
    if shapes.starts_traceback(text) or shapes.starts_group(text):
        block.state = "frames"
        return True
    if shapes.frame(text) is not None:
        block.state = "frames"
        block.add_frame(shapes.frame(text) or ("", 0, ""))
        return True
    return False


def _take_message(block: _Open, line: Line, text: str) -> bool:
    current = block.current
    assert current is not None
    link = shapes.chain_link(text)
    if link is not None:
        block.link, block.state, block.wrapper = link, "chain", None
        return True
    if _starts(text):
        if not _quotes_traceback(current, text):
            return False
        block.wrapper, block.state = current, "frames"
        return True
    frame = shapes.frame(text)
    if frame is not None and "ray::" in current.message:
        block.wrapper, block.state = current, "frames"
        block.add_frame(frame)
        return True
    if text and text[0] not in " \t":
        inner = shapes.lone_exception(text)
        if inner is not None:
            if not current.type.endswith(f"({inner.type.rsplit('.', 1)[-1]})"):
                return False
            block.wrapper = current
            block.raise_(line, inner)
            return True
        if _NO_MESSAGE.match(text):
            return False
    return _add_more(block, current, line, text)


def _quotes_traceback(current: Raised, text: str) -> bool:
    """Whether a traceback that begins inside a message is that of another process, quoted by the exception."""
    if text.startswith("Original Traceback"):
        return True
    before = next((_text(line).strip() for line in reversed(current.more) if _text(line).strip()), "")
    return before == _QUOTE or (before.startswith("-- Process ") and before.endswith(":"))


def _add_more(block: _Open, current: Raised, line: Line, text: str) -> bool:
    if not text.strip():
        block.after_blank = max(block.after_blank, 0)
    elif block.after_blank >= 0:
        block.after_blank += 1
        if block.naked and block.after_blank > _NAKED_PARAGRAPH:
            return False
    current.more.append(line)
    if len(current.more) > _MAX_MORE:
        del current.more[_MAX_MORE // 2]
    return True

"""The fast lane of `events`: the lines of a server at work, and the stacks of its tracebacks.

A line of a logger is its header, which many lines share, and a message. What the grammars say about a header is asked
once, with a message that means nothing, and kept. A line takes the lane only where nothing in its message can matter to
the stages it skips: no second record, no colours, no sentence that makes it an event of another type. Everything else
is left to the caller, and the tests hold both ways against each other.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from k3triage.grammar import Tracebacks
from k3triage.grammar.events import stats_row
from k3triage.grammar.sentences import access, engine_stats
from k3triage.ingest import Unwrapper
from k3triage.lanehead import CRI, DOCKER, PLAIN, Head, Heads, open_cri, open_docker
from k3triage.model.anchors import Anchor
from k3triage.model.records import Header, Line, RawLine, Record
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engines

# A message that holds one of these is not for the lane.
_SPECIAL = (
    "|",
    "[repeated ",
    "out of memory",
    "NCCL error in",
    "CUDA error: ",
    "with config: ",
    "args: ",
    "Prefix cache hit rate: GPU",
    "it/s]",
    "s/it]",
    "]8;",
    "^[",
    "#033",
)
# These begin a traceback, of which the lane tells those who put it together; the last as JSON spells it.
_STACK = ("Traceback", 'File "', 'File \\"')
_WORDS = (*_SPECIAL, *_STACK)
_ANY_SPECIAL = re.compile("|".join(map(re.escape, _SPECIAL)))
_ANY_STACK = re.compile("|".join(map(re.escape, _STACK)))
_COLOUR = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m|\[m(?=[ (\[]|$)")
_SECOND_HEADER = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d ")
_HEADER_WITHIN = 240
_LONGEST = 16_000
_MOST = 20_000
_ENOUGH = 5_000
_NOWHERE = float("inf")
_NCCL = "NCCL INFO "

Slow = Callable[[RawLine], tuple[bytes, bool]]
Tell = Callable[[Line], bytes]


class Lane:
    """The lane of one source without elected envelopes.

    head: the first bytes of the source. dump: makes the JSON of a row. tracebacks: who has one open, now.
    slow: called with every line that does not take the lane; gives its JSON and whether the next line must follow.
    tell: called with a line that took the lane and may belong to a traceback; gives the JSON of what it completes.
    pays: False once most lines do not take the lane. took_docker: whole lines of Docker's json-file took it.
    """

    def __init__(
        self,
        name: str,
        head: bytes,
        dump: Callable[[dict[str, Any]], bytes],
        tracebacks: Tracebacks,
        slow: Slow,
        tell: Tell,
    ) -> None:
        self.pays = True
        self.took_docker = False
        self._name = name
        self._speakers = tracebacks.speakers
        self._slow, self._tell = slow, tell
        self._start = '{"source":' + dump({"source": name}).decode()[len('{"source":') : -1] + ',"line":'
        unusable = re.compile("|".join(map(re.escape, (*_WORDS, "\\"))) + "|" + _COLOUR.pattern)
        self._heads = Heads(Unwrapper(name, head), dump, unusable)
        self._requests: dict[str, tuple[str, str] | None] = {}
        self._missed = self._taken = 0
        self._busy = False
        self._engines = Engines(AnchorSet([Anchor(word.encode(), "fault") for word in _WORDS]), "auto")

    def run(self, data: bytes, offset: int, number: int) -> bytes:
        """The JSON of whole lines, of which the first is line `number` and begins at `offset`."""
        out: list[str] = []
        add = out.append
        start, speakers, find = self._start, self._speakers, self._heads.find
        plain = self._heads.known[PLAIN]
        specials, stacks = self._places(data, offset)
        special, stack = next(specials), next(stacks)
        busy = self._busy
        missed = 0
        # One character a byte, so that lengths are those of the bytes; only ASCII lines take the lane.
        lines = data.decode("latin-1").split("\n")
        if lines[-1] == "":
            lines.pop()
        for raw in lines:
            row = None
            if not busy and raw.isascii() and raw.isprintable():
                text, time, envelope = raw, None, PLAIN
                first = raw[:1]
                if first == "{":
                    text, time = open_docker(raw)
                    envelope = DOCKER
                elif "0" <= first <= "9":
                    text, time = open_cri(raw)
                    envelope = CRI
                end = text.find("] ", 0, _HEADER_WITHIN) + 2
                if end == 1:
                    end = text.find(":     ", 0, _HEADER_WITHIN) + 6
                key = text[:end]
                try:
                    head = plain[key] if envelope == PLAIN else find(key, envelope)
                except KeyError:
                    head = find(key, envelope)
                if head is None and text.startswith(_NCCL, end):
                    end += len(_NCCL)
                    head = find(text[:end], envelope)
                if head is not None:
                    message = text[end:]
                    beyond = offset + len(raw)
                    while special < offset:
                        special = next(specials)
                    while stack < offset:
                        stack = next(stacks)
                    stacked = stack < beyond
                    fit = special >= beyond
                    if envelope == DOCKER and ("\\u" in raw or "\\/" in raw):
                        # Spelt so that the search in the bytes cannot have seen all words.
                        fit = fit and _ANY_SPECIAL.search(message) is None
                        stacked = stacked or _ANY_STACK.search(message) is not None
                    if fit:
                        row = self._message(head, message)
                    if row is not None:
                        add(f'{start}{number},"byte_offset":{offset},"time":{time or head.time}{row}')
                        if envelope == DOCKER:
                            self.took_docker = True
                        if head.loud or stacked or (speakers and head.speaker in speakers):
                            seconds = float(time) if time else head.seconds
                            done = self._tell(self._line(head, message, number, offset, seconds))
                            if done:
                                add(done.decode("latin-1"))
            if row is None:
                missed += 1
                done, busy = self._slow(RawLine(offset, number, raw.encode("latin-1")))
                # One character a byte here too, until the end.
                add(done.decode("latin-1"))
            offset += len(raw) + 1
            number += 1
        self._busy = busy
        self._weigh(missed, len(lines) - missed)
        return "".join(out).encode("latin-1")

    def _places(self, data: bytes, offset: int) -> tuple[Iterator[float], Iterator[float]]:
        """Where special words and those of a traceback stand, ascending, with infinity at the end."""
        self._engines.expect(offset + len(data))
        places: tuple[list[float], list[float]] = ([], [])
        for i in self._engines.get().present(data, 0, len(data)):
            word = _WORDS[i].encode()
            own = places[_WORDS[i] in _STACK]
            at = data.find(word)
            while at >= 0:
                own.append(offset + at)
                # One in a line is enough.
                end = data.find(b"\n", at)
                at = data.find(word, end) if end >= 0 else -1
        return iter([*sorted(places[0]), _NOWHERE]), iter([*sorted(places[1]), _NOWHERE])

    def _weigh(self, missed: int, taken: int) -> None:
        self._missed += missed
        self._taken += taken
        if self._missed + self._taken > _ENOUGH:
            self.pays = self._busy or self._taken * 2 > self._missed
            self._missed //= 2
            self._taken //= 2

    def _line(self, head: Head, message: str, number: int, offset: int, seconds: float | None) -> Line:
        """The line, as far as tracebacks and their events look at it."""
        record = Record(self._name, number, offset, "", "", (), seconds, None, head.speaker[1])
        return Line(record, Header(head.kind, message, message, head.level, head.clock, head.location, head.process))

    def _message(self, head: Head, message: str) -> str | None:
        """The rest of the row from the clock on; None where the message is not for the lane."""
        if (
            not message
            or len(message) > _LONGEST
            or "\\" in message
            or " pid=" in message
            or ("[" in message and _COLOUR.search(message) is not None)
            or (message.count(":") > 1 and _SECOND_HEADER.search(message) is not None)
        ):
            return None
        if head.kind == "vllm":
            if "throughput: " in message:
                found = engine_stats(message)
                if found is None or '"' in message:
                    return None
                fields = orjson.dumps(stats_row(found)).decode()
                return f'{head.before}"{message}",{fields[1:]}\n'
        elif message[0] == " ":
            return None
        elif head.kind == "uvicorn":
            if " HTTP/" in message:
                return self._request(head, message)
            # Some envelopes have brackets within the first columns, where the header is short.
            if "[" in message:
                return None
        elif message[2:3] == "-" or " NCCL " in message:
            return None
        if '"' in message:
            message = message.replace('"', '\\"')
        return f'{head.before}"{message}"{head.after}'

    def _request(self, head: Head, message: str) -> str | None:
        client, _, request = message.partition(' - "')
        try:
            found = self._requests[request]
        except KeyError:
            found = self._learn_request(request)
        if found is None or '"' in client or " " in client or not client:
            return None
        escaped, after = found
        return f'{head.before}"{client} - \\"{escaped}","kind":"access","client":"{client}",{after}'

    def _learn_request(self, request: str) -> tuple[str, str] | None:
        if len(self._requests) >= _MOST:
            self._requests.clear()
        found = access(f'c - "{request}')
        known = None
        if found is not None and request.count('"') == 1:
            del found["client"]
            known = request.replace('"', '\\"'), orjson.dumps(found).decode()[1:] + "\n"
        self._requests[request] = known
        return known

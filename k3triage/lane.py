"""The fast lane of `events`: the lines of a server at work, and the stacks of its tracebacks.

A line of a logger is its header, which many lines share, and a message. What the grammars say about a header is asked
once, with a message that means nothing, and kept. A line takes the lane only where nothing in its message can matter to
the stages it skips: no second record, no colours, no sentence that makes it an event of another type. Everything else
is left to the caller, and the tests hold both ways against each other.

What a word or a character tells is looked for in a whole block at once (`lanemarks`), envelopes are taken off a block
at a time (`laneopen`); then a loop takes the lines whose header was seen before. Lines that it leaves get a closer look
one by one.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, count, repeat
from operator import add as plus
from typing import Any

from k3triage.grammar import Tracebacks
from k3triage.ingest import Unwrapper
from k3triage.lanehead import BRACKET, COLON, CRI, DOCKER, NCCL, PLAIN, Head, Heads
from k3triage.lanemarks import COLOUR, SPECIAL, STACK, WORDS, Marks
from k3triage.lanemessage import Requests, closely, quoted, stats
from k3triage.laneopen import open_cri, open_cri_line, open_docker, open_docker_line
from k3triage.model.records import Header, Line, RawLine, Record

_ENOUGH = 5_000
_SAMPLE = 16
# A second header holds the end of a date.
_DATE = re.compile(r"-\d\d ")

Slow = Callable[[RawLine], tuple[bytes, bool]]
Tell = Callable[[Line], bytes]
Rows = Iterator[tuple[str, str, int, int]]


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
        unusable = re.compile("|".join(map(re.escape, (*WORDS, "\\"))) + "|" + COLOUR.pattern)
        self._heads = Heads(Unwrapper(name, head), dump, unusable)
        self._requests = {escaped: Requests(escaped=escaped) for escaped in (False, True)}
        self._marks = Marks()
        self._seen = self._missed = 0
        self._busy = False

    def run(self, data: bytes, offset: int, number: int) -> bytes:
        """The JSON of whole lines, of which the first is line `number` and begins at `offset`."""
        # One character a byte, so that lengths are those of the bytes; only ASCII lines take the lane.
        block = data.decode("latin-1")
        lines = block.split("\n")
        if lines[-1] == "":
            lines.pop()
        lengths = list(map(len, lines))
        starts = list(map(plus, accumulate(lengths, initial=offset), count()))
        envelope = _envelope(lines)
        self._marks.read(data, block, lengths, starts, escaped=envelope == DOCKER)
        texts: list[str] = lines
        times: Iterator[str] = repeat("")
        if envelope == DOCKER:
            texts, opened = open_docker(block, lines)
            times = iter(opened)
        elif envelope == CRI:
            texts, opened = open_cri(lines)
            times = iter(opened)
        out: list[str] = []
        self._lines(out, envelope, lines, zip(texts, times, starts, count(number), strict=False))
        self._weigh(len(lines))
        return "".join(out).encode("latin-1")

    def _lines(self, out: list[str], envelope: str, lines: list[str], rows: Rows) -> None:
        """Write the JSON of the lines. rows: text, time, offset and number of each."""
        near = self._heads.near[envelope]
        brackets, colons = near[BRACKET], near[COLON]
        escaped = envelope == DOCKER
        requests, known = self._requests[escaped], self._requests[escaped].known
        quote, asked = ("\\", ' - \\"') if escaped else ('"', ' - "')
        apart, stacks = self._marks.apart, self._marks.stacks
        start, speakers, has_date = self._start, self._speakers, _DATE.search
        add = out.append
        index = -1
        left = 0
        for text, time, offset, number in rows:
            index += 1
            said = None
            if not (index in apart or self._busy):
                key, _, message = text.partition(BRACKET)
                head = brackets.get(key)
                if head is None:
                    key, _, message = text.partition(COLON)
                    head = colons.get(key)
                    if head is not None:
                        client, _, request = message.partition(asked)
                        try:
                            found = known[request]
                        except KeyError:
                            found = requests.learn(request)
                        if not (
                            found is None
                            or not client
                            or " " in client
                            or "[" in client
                            or '"' in client
                            or quote in client
                        ):
                            said = f'{client} - \\"{found[0]}'
                            after = f',"kind":"access","client":"{client}",{found[1]}'
                else:
                    if head.nccl:
                        # A message that is not for the lane becomes an empty one, which is none either.
                        message = message[10:] if message.startswith(NCCL) and message[10:11] != " " else ""
                        if message[2:3] == "-" or " NCCL " in message:
                            message = ""
                    after = head.after
                    if message[:1] in "EA0123456789" and "throughput: " in message and not head.nccl:
                        counted = stats(message)
                        if counted is not None:
                            said, after = message, counted
                    elif not (
                        not message
                        or ("=" in message and " pid=" in message)
                        or ("-" in message and has_date(message) is not None)
                    ):
                        if not escaped:
                            said = message.replace('"', '\\"') if '"' in message else message
                        elif not ("\\" in message or '"' in message) or quoted(message):
                            said = message
            if said is None or head is None:
                self.took_docker = self.took_docker or (escaped and index > left)
                left += 1
                add(self._leave(lines[index], offset, number))
                continue
            add(f'{start}{number},"byte_offset":{offset},"time":{time or head.time}{head.before}"{said}"{after}')
            if head.loud or index in stacks or (speakers and head.speaker in speakers):
                add(self._told(head, message.replace('\\"', '"') if escaped else message, number, offset, time))
        self.took_docker = self.took_docker or (escaped and index >= left)

    def _leave(self, raw: str, offset: int, number: int) -> str:
        """The JSON of a line that the loop left: after a closer look, or the slow way."""
        if not self._busy:
            found = self._closely(raw, offset, number)
            if found is not None:
                return found
        self._missed += 1
        done, self._busy = self._slow(RawLine(offset, number, raw.encode("latin-1")))
        # One character a byte here too, until the end.
        return done.decode("latin-1")

    def _closely(self, raw: str, offset: int, number: int) -> str | None:
        if not (raw.isascii() and raw.isprintable()):
            return None
        text, time, envelope = raw, "", PLAIN
        first = raw[:1]
        if first == "{":
            text, time = open_docker_line(raw)
            envelope = DOCKER
        elif "0" <= first <= "9":
            text, time = open_cri_line(raw)
            envelope = CRI
        split = self._heads.split(text, envelope)
        if split is None:
            return None
        head, message = split
        if SPECIAL.search(message) is not None:
            return None
        rest = closely(head, message)
        if rest is None:
            return None
        row = f'{self._start}{number},"byte_offset":{offset},"time":{time or head.time}{rest}'
        if envelope == DOCKER:
            self.took_docker = True
        if head.loud or STACK.search(message) is not None or head.speaker in self._speakers:
            row += self._told(head, message, number, offset, time)
        return row

    def _told(self, head: Head, message: str, number: int, offset: int, time: str) -> str:
        """The JSON of the tracebacks that a line which took the lane shows to be complete."""
        seconds = float(time) if time else head.seconds
        record = Record(self._name, number, offset, "", "", (), seconds, None, head.speaker[1])
        header = Header(head.kind, message, message, head.level, head.clock, head.location, head.process)
        return self._tell(Line(record, header)).decode("latin-1")

    def _weigh(self, lines: int) -> None:
        self._seen += lines
        if self._seen > _ENOUGH:
            self.pays = self._busy or self._seen > self._missed * 1.5
            self._missed //= 2
            self._seen //= 2


def _envelope(lines: list[str]) -> str:
    """The envelope that most of the lines seem to have."""
    firsts = [line[:1] for line in lines[:: len(lines) // _SAMPLE + 1]]
    if firsts.count("{") * 2 > len(firsts):
        return DOCKER
    return CRI if sum(map(str.isdigit, firsts)) * 2 > len(firsts) else PLAIN

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
from collections.abc import Callable
from itertools import count
from typing import Any

from k3triage.grammar import Tracebacks
from k3triage.grammar.events import event_row
from k3triage.ingest import Unwrapper
from k3triage.lanehead import BRACKET, COLON, NCCL, Head, Heads
from k3triage.lanemarks import COLOUR, FOREIGN, LONGEST, STACK, TELLING, WORDS, Marks
from k3triage.lanemessage import Requests, closely, quoted, stats
from k3triage.laneopen import CRI, DOCKER, PLAIN, TIME, Opened, open_block, open_line
from k3triage.model.records import Header, Line, RawLine, Record

_ENOUGH = 5_000
_SAMPLE = 16
# A second header holds the end of a date.
_DATE = re.compile(r"-\d\d ")

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
        self._dump, self._slow, self._tell = dump, slow, tell
        self._start = '{"source":' + dump({"source": name}).decode()[len('{"source":') : -1] + ',"line":'
        unusable = re.compile("|".join(map(re.escape, (*WORDS, "\\"))) + "|" + COLOUR.pattern)
        self._heads = Heads(Unwrapper(name, head), dump, unusable)
        self._requests = {escaped: Requests(escaped=escaped) for escaped in (False, True)}
        self._marks = Marks()
        self._seen = self._missed = 0
        self._busy = False

    def run(self, data: bytes, offset: int, number: int) -> tuple[bytes, int]:
        """The JSON of whole lines, of which the first is line `number` and begins at `offset`; how many they are."""
        # One character a byte, so that lengths are those of the bytes; only ASCII lines take the lane.
        block = data.decode("latin-1")
        if block[-1:] != "\n":
            block += "\n"
        envelope = _envelope(block)
        self._marks.read(data, block, offset, escaped=envelope == DOCKER)
        opened = open_block(block, envelope, spelt=self._marks.spelt)
        if max(opened.lengths) + opened.common > LONGEST:
            self._marks.read_lengths(opened.lengths, opened.common + 1, offset)
        out: list[str] = []
        self._lines(out, envelope, opened, block, offset, number)
        self._weigh(len(opened.texts))
        return "".join(out).encode("latin-1"), len(opened.texts)

    def _lines(self, out: list[str], envelope: str, opened: Opened, block: str, base: int, first: int) -> None:
        """Write the JSON of the lines of a block."""
        near = self._heads.near[envelope]
        brackets, colons = near[BRACKET], near[COLON]
        escaped = envelope == DOCKER
        requests, known = self._requests[escaped], self._requests[escaped].known
        asked = ' - \\"' if escaped else ' - "'
        apart, stacks = self._marks.apart, self._marks.stacks
        start, speakers, tell, has_date = self._start, self._speakers, self._tell, _DATE.search
        add = out.append
        texts, times, lengths, common = opened
        next_offset, more, left = base, common + 1, 0
        busy = self._busy
        # The last header of uvicorn: most lines of a server have the same one.
        latest: Head | None = None
        usual, size = "\n", 1
        for text, time, length, number in zip(texts, times, lengths, count(first), strict=False):
            offset = next_offset
            next_offset += length + more
            row = None
            if busy or (apart and offset in apart):
                head = None
            elif text.startswith(usual):
                head, message = latest, text[size:]
            else:
                key, _, message = text.partition(BRACKET)
                head = brackets.get(key)
                if head is None:
                    key, _, message = text.partition(COLON)
                    head = colons.get(key)
                    if head is not None:
                        latest, usual, size = head, key + COLON, len(key) + len(COLON)
            if head is None:
                pass
            elif head is latest:
                client, _, request = message.partition(asked)
                try:
                    found = known[request]
                except KeyError:
                    found = requests.learn(request)
                if (
                    found is not None
                    and client
                    and " " not in client
                    and "[" not in client
                    and '"' not in client
                    and not (escaped and "\\" in client)
                ):
                    asking, after = found
                    row = f'{start}{number},"byte_offset":{offset}{time}{head.before}{client}{asking}{client}{after}'
            else:
                if head.nccl:
                    # A message that is not for the lane becomes an empty one, which is none either.
                    message = message[10:] if message.startswith(NCCL) and message[10:11] != " " else ""
                    if message[2:3] == "-" or " NCCL " in message:
                        message = ""
                if message[:1] in "EA0123456789" and "throughput: " in message and not head.nccl:
                    counted = stats(message)
                    if counted is not None:
                        row = f'{start}{number},"byte_offset":{offset}{time}{head.before}{message}{counted}'
                elif message and not (
                    ("=" in message and " pid=" in message) or ("-" in message and has_date(message) is not None)
                ):
                    said = message
                    if escaped:
                        if ("\\" in message or '"' in message) and not quoted(message):
                            said = ""
                    elif '"' in message:
                        said = message.replace('"', '\\"')
                    if said:
                        row = f'{start}{number},"byte_offset":{offset}{time}{head.before}{said}{head.after}'
            if row is None or head is None:
                self.took_docker = self.took_docker or (escaped and number - first > left)
                left += 1
                at = offset - base
                add(self._leave(block[at : at + length + common], offset, number))
                busy = self._busy
                continue
            add(row)
            if head.loud or ((stacks or speakers) and (offset in stacks or head.speaker in speakers)):
                if escaped:
                    message = message.replace('\\"', '"')
                done = tell(self._line(head, message, number, offset, time))
                if done:
                    add(done.decode("latin-1"))
        self.took_docker = self.took_docker or (escaped and number - first >= left)

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
            envelope = DOCKER
            text, time = open_line(raw, DOCKER)
        elif "0" <= first <= "9":
            envelope = CRI
            text, time = open_line(raw, CRI)
        split = self._heads.split(text, envelope)
        if split is None:
            return None
        head, message = split
        rest = closely(head, message) if FOREIGN.search(message) is None else None
        if rest is None:
            return None
        line = None
        if TELLING.search(message) is None:
            row = f'{self._start}{number},"byte_offset":{offset}{time}{rest}'
        elif head.kind == "vllm":
            line = self._line(head, message, number, offset, time)
            row = self._dump(event_row(line)).decode("latin-1") + "\n"
        else:
            return None
        if envelope == DOCKER:
            self.took_docker = True
        if head.loud or STACK.search(message) is not None or head.speaker in self._speakers:
            row += self._tell(line or self._line(head, message, number, offset, time)).decode("latin-1")
        return row

    def _line(self, head: Head, message: str, number: int, offset: int, time: str) -> Line:
        """The line, as far as its event and tracebacks look at it."""
        seconds = float(time[len(TIME) :]) if time else head.seconds
        record = Record(self._name, number, offset, "", "", (), seconds, None, head.speaker[1])
        return Line(record, Header(head.kind, message, message, head.level, head.clock, head.location, head.process))

    def _weigh(self, lines: int) -> None:
        self._seen += lines
        if self._seen > _ENOUGH:
            self.pays = self._busy or self._seen > self._missed * 1.5
            self._missed //= 2
            self._seen //= 2


def _envelope(block: str) -> str:
    """The envelope that most of the lines seem to have."""
    firsts = [block[0]]
    for at in range(0, len(block), len(block) // _SAMPLE + 1):
        end = block.find("\n", at) + 1
        firsts.append(block[end : end + 1])
    if firsts.count("{") * 2 > len(firsts):
        return DOCKER
    return CRI if sum(map(str.isdigit, firsts)) * 2 > len(firsts) else PLAIN

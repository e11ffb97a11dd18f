"""From a message to the end of its row, for the fast lane of `events`."""

import re

import orjson

from k3triage.grammar.events import stats_row
from k3triage.grammar.sentences import access, engine_stats
from k3triage.lanehead import Head
from k3triage.lanemarks import COLOUR, LONGEST

_SECOND_HEADER = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d ")
_MOST = 20_000

# The usual wordings of `grammar.sentences.engine_stats`, taken over as they are: reading the numbers and spelling them
# anew would cost more. The tests hold both against each other.
# Numbers that JSON spells as vLLM does.
_WHOLE = r"(0|[1-9]\d{0,8})"
_TENTHS = r"((?:0|[1-9]\d{0,8})\.\d)"
_STATS = re.compile(
    rf"(?:Engine 0{{0,2}}{_WHOLE}: |{_WHOLE} Engines Aggregated: |)"
    rf"Avg prompt throughput: {_TENTHS} tokens/s, Avg generation throughput: {_TENTHS} tokens/s, "
    rf"Running: {_WHOLE} reqs, Waiting: {_WHOLE} reqs, (?:GPU )?KV cache usage: {_TENTHS}%"
    rf"(?:, Prefix cache hit rate: {_TENTHS}%(?:, External prefix cache hit rate: {_TENTHS}%)?)?"
)


def quoted(text: str) -> bool:
    """Whether the quotes in a part of a JSON string are escaped and nothing else is."""
    pairs = text.count('\\"')
    return text.count("\\") == pairs and text.count('"') == pairs


def stats(message: str) -> str | None:
    """What stands behind the message of a statistics line; None where it is none, or one that is not for the lane.

    message: in JSON's spelling.
    """
    match = _STATS.fullmatch(message)
    if match is None:
        return None
    engine, engines, prompt, generation, running, waiting, usage, hits, external = match.groups("null")
    return (
        f'","kind":"engine_stats","engine":{engine},"engines":{engines},"prompt_rate":{prompt},'
        f'"generation_rate":{generation},"running":{running},"waiting":{waiting},"swapped":null,'
        f'"kv_cache_usage":{usage},"prefix_cache_hit_rate":{hits},"external_hit_rate":{external},'
        '"preemptions":null,"deferred":null}\n'
    )


def closely(head: Head, message: str) -> str | None:
    """The rest of the row from the clock on, of any message; None where it is not for the lane."""
    if not message or "\\" in message or not _single(message):
        return None
    if head.kind == "vllm":
        if "throughput: " in message:
            found = engine_stats(message)
            if found is None or '"' in message:
                return None
            fields = orjson.dumps(stats_row(found)).decode()
            return f'{head.before}{message}",{fields[1:]}\n'
    elif message[0] == " ":
        return None
    elif head.kind == "uvicorn":
        # Some envelopes have brackets within the first columns, where the header is short.
        if " HTTP/" in message or "[" in message:
            return None
    elif message[2:3] == "-" or " NCCL " in message:
        return None
    if '"' in message:
        message = message.replace('"', '\\"')
    return f"{head.before}{message}{head.after}"


def _single(message: str) -> bool:
    """Whether the message is short, without colours, and without a second record in it."""
    return not (
        len(message) > LONGEST
        or " pid=" in message
        or ("[" in message and COLOUR.search(message) is not None)
        or (message.count(":") > 1 and _SECOND_HEADER.search(message) is not None)
    )


class Requests:
    """The rows of answered requests without their clients, by what stands behind the client: `GET / HTTP/1.1" 200 OK`.

    escaped: quotes are spelt as in JSON.
    """

    def __init__(self, *, escaped: bool) -> None:
        self.known: dict[str, tuple[str, str] | None] = {}
        self._escaped = escaped

    def learn(self, request: str) -> tuple[str, str] | None:
        """The JSON between the client in the message and the client's own field, and the rest of the row.

        None where it is not for the lane.
        """
        if len(self.known) >= _MOST:
            self.known.clear()
        known = self.known[request] = self._read(request)
        return known

    def _read(self, request: str) -> tuple[str, str] | None:
        if self._escaped:
            if not quoted(request):
                return None
            request = request.replace('\\"', '"')
        if "\\" in request or request.count('"') != 1 or "[" in request or not _single(request):
            return None
        found = access(f'c - "{request}')
        if found is None:
            return None
        del found["client"]
        message = request.replace('"', '\\"')
        return f' - \\"{message}","kind":"access","client":"', '",' + orjson.dumps(found).decode()[1:] + "\n"

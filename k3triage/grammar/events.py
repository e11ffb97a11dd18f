"""Lines and tracebacks as typed events: as rows (plain dictionaries, made by the million) or as models.

A row has the fields of its model in the model's order, so that both give the same JSON. The models are loaded only
where one is asked for.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from k3triage.grammar import sentences
from k3triage.grammar.values import engine_config, non_default_args
from k3triage.model.records import Header, Line, Process, TracebackBlock

if TYPE_CHECKING:
    from k3triage.model.events import Event, TracebackEvent

_MESSAGE_LIMIT = 20_000

Row = dict[str, Any]


def event(line: Line) -> "Event":
    """The typed event of a line: the most telling type that its header and message allow.

    Messages are cut at 20,000 characters.
    """
    from k3triage.model.events import EVENTS

    return EVENTS.validate_python(event_row(line))


def traceback_event(block: TracebackBlock) -> "TracebackEvent":
    """The typed event of a traceback; its place is that of the deepest exception's line."""
    from k3triage.model.events import TracebackEvent

    return TracebackEvent.model_validate(traceback_row(block))


def event_row(line: Line) -> Row:
    """The event of a line as a row."""
    record, header = line.record, line.header
    place = {
        "source": record.source,
        "line": record.line,
        "byte_offset": record.offset,
        "time": record.time,
        "clock": header.clock,
        "process": _process(header.process),
        "level": header.level,
        "location": header.location,
        "message": header.message[:_MESSAGE_LIMIT],
    }
    read = _READERS.get(header.kind)
    found = read(header, place) if read is not None else None
    return found or _sentence(header, place)


def traceback_row(block: TracebackBlock) -> Row:
    """The event of a traceback as a row."""
    deepest = block.chain[0]
    record, header = deepest.line.record, deepest.line.header
    return {
        "source": record.source,
        "line": record.line,
        "byte_offset": record.offset,
        "time": record.time,
        "clock": header.clock,
        "process": _process(header.process),
        "level": header.level,
        "location": header.location,
        "message": deepest.message[:_MESSAGE_LIMIT],
        "kind": "traceback",
        "start_line": block.start,
        "end_line": block.end,
        "chain": [
            {
                "type": raised.type,
                "message": raised.message[:_MESSAGE_LIMIT],
                "line": raised.line.record.line,
                "link": raised.link,
                "frames": [{"file": file, "line": line, "function": name} for file, line, name in raised.frames],
            }
            for raised in block.chain
        ],
    }


def _process(process: Process) -> Row:
    return {"name": process.name, "pid": process.pid, "rank": process.rank, "node": process.node}


# Fields of each type behind those of the place, with what they are where the line does not say.
_FIELDS: dict[str, Row] = {
    "nccl": dict.fromkeys(("host", "pid", "tid", "device", "function")),
    "c10d": dict.fromkeys(
        ("sequence", "operation", "numel_in", "numel_out", "timeout_ms", "ran_ms", "enqueued", "completed")
    ),
    "engine_stats": dict.fromkeys(
        (
            "engine",
            "engines",
            "prompt_rate",
            "generation_rate",
            "running",
            "waiting",
            "swapped",
            "kv_cache_usage",
            "prefix_cache_hit_rate",
            "external_hit_rate",
            "preemptions",
            "deferred",
        )
    ),
    "access": dict.fromkeys(("client", "method", "path", "status")),
    "cuda_oom": dict.fromkeys(
        (
            "device",
            "gpu",
            "requested",
            "total",
            "free",
            "in_use",
            "allowed",
            "allocated",
            "private_pools",
            "unallocated",
        )
    ),
    "cuda_error": {"error": None},
    "nccl_error": dict.fromkeys(("where", "result", "nccl_version")),
    "xid": {"bus": None, "code": None, "pid": None, "name": None, "detail": "", "unit": None}
    | dict.fromkeys(("fatal", "link")),
    "sxid": {"switch": None, "bus": None, "code": None, "fatal": None, "detail": ""},
    "oom_kill": dict.fromkeys(("stage", "task", "pid", "constraint", "memcg", "anon_rss")),
    "segfault": dict.fromkeys(("task", "pid", "library")),
    "docker_error": dict.fromkeys(("origin", "reasons")),
    "kubelet_event": dict.fromkeys(("type", "reason", "age", "reporter")),
}


def _typed(place: Row, kind: str, found: Row) -> Row:
    return {**place, "kind": kind, **_FIELDS[kind], **found}


def stats_row(found: Row) -> Row:
    """What stands behind the message in the row of vLLM's statistics."""
    return {"kind": "engine_stats", **_FIELDS["engine_stats"], **found}


def _vllm(header: Header, place: Row) -> Row | None:
    message = header.message
    found = sentences.engine_stats(message)
    if found is not None:
        return place | stats_row(found)
    if "LLM engine (" in message and "with config: " in message:
        settings = engine_config(message)
        version = settings.pop("engine_version", None)
        return {**place, "kind": "engine_config", "version": version, "settings": settings}
    if message.startswith(("non-default args: ", "args: Namespace(", "vLLM API server args: ")):
        return {**place, "kind": "launch_args", "arguments": non_default_args(message)}
    return _sentence(header, place, "vllm")


def _nccl(header: Header, place: Row) -> Row:
    fields = header.fields
    return {
        **place,
        "kind": "nccl",
        "host": fields["host"],
        "pid": int(fields["pid"]),
        "tid": int(fields["tid"]),
        "device": int(fields["dev"]) if "dev" in fields else None,
        "function": fields.get("function"),
    }


def _c10d(header: Header, place: Row) -> Row:
    return _typed(place, "c10d", sentences.collective(header.message))


def _uvicorn(header: Header, place: Row) -> Row | None:
    found = sentences.access(header.message)
    return _typed(place, "access", found) if found is not None else None


def _kernel(header: Header, place: Row) -> Row | None:
    for read, kind in _KERNEL:
        found = read(header.message)
        if found is not None:
            return _typed(place, kind, found)
    return None


def _docker(header: Header, place: Row) -> Row | None:
    found = sentences.docker_error(header.message)
    if found is not None:
        return _typed(place, "docker_error", found)
    if "time" in header.fields:
        return {**place, "kind": "containerd", "attributes": header.fields.get("attributes", "")}
    return None


def _sentence(header: Header, place: Row, kind: str | None = None) -> Row:
    """The types that a line of any logger may have."""
    message = header.message
    for read, sentence in _ANYWHERE:
        found = read(message)
        if found is not None:
            return _typed(place, sentence, found)
    if header.kind in ("", "kernel"):
        kernel = _kernel(header, place)
        if kernel is not None:
            return kernel
    if not header.kind:
        row = sentences.kubelet_event(message)
        if row is not None:
            place["message"] = row.pop("message")
            return _typed(place, "kubelet_event", row)
    if kind is not None:
        return {**place, "kind": kind}
    return {**place, "kind": "plain", "logger": header.kind}


_Read = Callable[[str], Row | None]
_ANYWHERE: tuple[tuple[_Read, str], ...] = (
    (sentences.cuda_oom, "cuda_oom"),
    (sentences.nccl_error, "nccl_error"),
    (sentences.cuda_error, "cuda_error"),
)
_KERNEL: tuple[tuple[_Read, str], ...] = (
    (sentences.xid, "xid"),
    (sentences.sxid, "sxid"),
    (sentences.oom_kill, "oom_kill"),
    (sentences.segfault, "segfault"),
)
_READERS = {
    "vllm": _vllm,
    "nccl": _nccl,
    "c10d": _c10d,
    "uvicorn": _uvicorn,
    "kernel": _kernel,
    "docker": _docker,
}

"""Lines and tracebacks as typed events."""

from typing import Any

from k3triage.grammar import sentences
from k3triage.grammar.values import engine_config, non_default_args
from k3triage.model import events
from k3triage.model.records import Header, Line, Process, TracebackBlock
from k3triage.model.report import ProcessRef

_MESSAGE_LIMIT = 20_000


def event(line: Line) -> events.Event:
    """The typed event of a line: the most telling type that its header and message allow.

    Messages are cut at 20,000 characters.
    """
    record, header = line.record, line.header
    place: dict[str, Any] = {
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


def traceback_event(block: TracebackBlock) -> events.TracebackEvent:
    """The typed event of a traceback; its place is that of the deepest exception's line."""
    deepest = block.chain[0]
    record, header = deepest.line.record, deepest.line.header
    return events.TracebackEvent(
        source=record.source,
        line=record.line,
        byte_offset=record.offset,
        time=record.time,
        clock=header.clock,
        process=_process(header.process),
        level=header.level,
        location=header.location,
        message=deepest.message[:_MESSAGE_LIMIT],
        start_line=block.start,
        end_line=block.end,
        chain=[
            events.RaisedEvent(
                type=raised.type,
                message=raised.message[:_MESSAGE_LIMIT],
                line=raised.line.record.line,
                link=raised.link,
                frames=[events.Frame(file=file, line=line, function=name) for file, line, name in raised.frames],
            )
            for raised in block.chain
        ],
    )


def _process(process: Process) -> ProcessRef:
    return ProcessRef(name=process.name, pid=process.pid, rank=process.rank, node=process.node)


def _vllm(header: Header, place: dict[str, Any]) -> events.Event | None:
    message = header.message
    found = sentences.engine_stats(message)
    if found is not None:
        return events.EngineStats(**place, **found)
    if "LLM engine (" in message and "with config: " in message:
        settings = engine_config(message)
        return events.EngineConfig(**place, version=settings.pop("engine_version", None), settings=settings)
    if message.startswith(("non-default args: ", "args: Namespace(", "vLLM API server args: ")):
        return events.LaunchArgs(**place, arguments=non_default_args(message))
    return _sentence(header, place, events.VllmLine)


def _nccl(header: Header, place: dict[str, Any]) -> events.Event:
    fields = header.fields
    return events.NcclLine(
        **place,
        host=fields["host"],
        pid=int(fields["pid"]),
        tid=int(fields["tid"]),
        device=int(fields["dev"]) if "dev" in fields else None,
        function=fields.get("function"),
    )


def _c10d(header: Header, place: dict[str, Any]) -> events.Event:
    return events.C10dLine(**place, **sentences.collective(header.message))  # type: ignore[arg-type]


def _uvicorn(header: Header, place: dict[str, Any]) -> events.Event | None:
    found = sentences.access(header.message)
    return events.AccessLog(**place, **found) if found is not None else None


def _kernel(header: Header, place: dict[str, Any]) -> events.Event | None:
    for read, kind in _KERNEL:
        found = read(header.message)
        if found is not None:
            return kind(**place, **found)  # type: ignore[no-any-return]
    return None


def _docker(header: Header, place: dict[str, Any]) -> events.Event | None:
    found = sentences.docker_error(header.message)
    if found is not None:
        return events.DockerError(**place, **found)
    if "time" in header.fields:
        return events.ContainerdLine(**place, attributes=header.fields.get("attributes", ""))
    return None


def _sentence(header: Header, place: dict[str, Any], kind: Any = None) -> events.Event:
    """The types that a line of any logger may have."""
    message = header.message
    for read, sentence in _ANYWHERE:
        found = read(message)
        if found is not None:
            return sentence(**place, **found)  # type: ignore[no-any-return]
    if header.kind in ("", "kernel"):
        kernel = _kernel(header, place)
        if kernel is not None:
            return kernel
    if not header.kind:
        row = sentences.kubelet_event(message)
        if row is not None:
            return events.KubeletEvent(**{**place, **row})
    if kind is not None:
        return kind(**place)  # type: ignore[no-any-return]
    return events.PlainLine(**place, logger=header.kind)


_ANYWHERE: tuple[tuple[Any, Any], ...] = (
    (sentences.cuda_oom, events.CudaOom),
    (sentences.nccl_error, events.NcclError),
    (sentences.cuda_error, events.CudaError),
)
_KERNEL: tuple[tuple[Any, Any], ...] = (
    (sentences.xid, events.Xid),
    (sentences.sxid, events.Sxid),
    (sentences.oom_kill, events.OomKill),
    (sentences.segfault, events.Segfault),
)
_READERS = {
    "vllm": _vllm,
    "nccl": _nccl,
    "c10d": _c10d,
    "uvicorn": _uvicorn,
    "kernel": _kernel,
    "docker": _docker,
}

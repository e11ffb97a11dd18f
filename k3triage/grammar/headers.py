"""A line cut into the logger's header and the message.

The patterns are derived from the header rules in `grammars/` and kept in the user's cache, so that a run does not
load Lark for them. `parse_header` picks the patterns to try by the first character, because it runs on every line
that the scan keeps.
"""

import re
from collections.abc import Callable
from functools import cache

from k3triage.grammar.clocks import calendar_clock, epoch_clock, glog_clock, iso_clock, us_clock, vllm_clock
from k3triage.grammar.own_words import own_words
from k3triage.grammar.patterns import matcher
from k3triage.model.lazy import lazy
from k3triage.model.records import NO_PROCESS, Header, Line, Process, Record

_LEVELS = {
    "T": "DEBUG",
    "TRACE": "DEBUG",
    "TRAC": "DEBUG",
    "DIAG": "DEBUG",
    "CALL": "DEBUG",
    "D": "DEBUG",
    "DEBU": "DEBUG",
    "V": "DEBUG",
    "I": "INFO",
    "SUCC": "INFO",
    "SUCCESS": "INFO",
    "W": "WARNING",
    "WARN": "WARNING",
    "E": "ERROR",
    "ERR": "ERROR",
    "ERRO": "ERROR",
    "F": "CRITICAL",
    "FATA": "CRITICAL",
    "FATAL": "CRITICAL",
    "PANI": "CRITICAL",
    "PANIC": "CRITICAL",
}
_RANK = lazy(r"\bRank (\d{1,6})\]")
_TENSOR_RANK = lazy(r"\bTP(\d{1,4})\b")
_LMCACHE_TAIL = lazy(r" \(([\w.]+\.py:\d+):[\w.]+\)\Z")
_ESCAPE = lazy(r"\\(.)", re.DOTALL)
_CLIENT = lazy(
    r"(?:docker: |Error response from daemon: |Error: |nvidia-container-cli: |OCI runtime |runc (?:create|run) failed"
    r"|time=|Cannot connect to the Docker daemon|failed to create )"
)
_SLURM = lazy(r"(?:slurmstepd|srun|sbatch|salloc): (error|fatal|warning|info)?")
# VLLM_LOGGING_PREFIX puts any text in front of the level.
_PREFIXED = lazy(r"\S{1,60} (?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +\d\d-\d\d \d\d:)")
# Programs without a grammar of their own: a severity among the first words ("<time> ERROR target: text",
# "01/19 15:19:51 - name - ERROR - text", "[TRT] [E] text", "level=error msg=..."), or the word of a failure in front.
_LOOSE = frozenset({"", "docker", "trtllm"})
_LEVEL_WITHIN = 160
_LEVEL_WORD = lazy(
    r" {0,2}(?:[^\s=\"]{1,60}[ \t]{1,8}){0,5}?(?:"
    r"\[(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|PANIC)\]"
    r"|(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|PANIC)(?:[ \t:]|\Z)"
    r"|\[([DIWEF])\] |level=\"?(debug|info|warn(?:ing)?|error|fatal|panic)\b)"
)
_FAILURE_WORD = lazy(r"(?:[Ee]rror|panic|[Ff]atal(?: error)?): \S")
# NCCL cuts its lines at 1023 bytes, so its mark stands near the start or not at all.
_NCCL_WITHIN = 700

Parse = Callable[[str, Record], Header | None]


def parse_header(record: Record) -> Header:
    """The header of a record's text; kind is "" and the message the whole text where no grammar knows it."""
    text = record.text
    header = None
    parse = _BY_FIRST.get(text[:1], _other)
    if parse is not None:
        header = parse(text, record)
    if header is None:
        # The journal and syslog name the kernel as the writer and leave its own header out.
        kind = "kernel" if record.process.container in ("kernel", "audit") else ""
        header = Header(kind, text, own_words(text), None, None, None, record.process)
    if header.level is None:
        header.level = record.level or _stated_level(header, text)
    return header


def _stated_level(header: Header, text: str) -> str | None:
    """The severity that a line of no known shape begins with; None where its first words are not one."""
    if header.kind not in _LOOSE:
        return None
    match = _LEVEL_WORD.match(text, 0, _LEVEL_WITHIN)
    if match is not None:
        level = match[match.lastindex or 0].upper()
        return _LEVELS.get(level, level)
    return "ERROR" if _FAILURE_WORD.match(text) is not None else None


def to_line(record: Record) -> Line:
    """The record together with its header."""
    return Line(record, parse_header(record))


def _process(
    known: Process, *, name: str | None = None, pid: str | None = None, rank: int | None = None, node: str | None = None
) -> Process:
    """What is known of the process, completed by what the header says; the prefix is the better witness."""
    number = int(pid) if pid is not None and len(pid) < 12 else None
    if known is NO_PROCESS:
        return Process(name, number, rank, node)
    return Process(
        known.name or name,
        number if known.pid is None else known.pid,
        rank if known.rank is None else known.rank,
        known.node or node,
        known.container,
    )


def _word(text: str, record: Record) -> Header | None:
    """Lines that begin with one of the letters of a level or a severity."""
    match = _vllm()(text)
    if match is not None:
        level, stamp, location, message = match.groups()
        message = message or ""
        own = own_words(message, location, level)
        return Header("vllm", message, own, level, vllm_clock(stamp), location, record.process)
    if text[1:2].isdigit():
        return _klog(text, record)
    if text[1:2] == " ":
        return _nixl(text, record)
    head = text[:9]
    if ":" in head:
        return _uvicorn(text, record)
    if "[" in head:
        return _logrus(text, record)
    return _other(text, record)


@cache
def _vllm() -> Callable[[str], re.Match[str] | None]:
    return matcher("vllm")


def _klog(text: str, record: Record) -> Header | None:
    match = matcher("klog")(text)
    if match is None:
        return _other(text, record)
    clock = glog_clock(match["monthday"], match["time"])
    return _header("klog", match, record, _LEVELS[match["severity"]], clock, match["location"])


def _nixl(text: str, record: Record) -> Header | None:
    match = matcher("nixl")(text)
    if match is None:
        return _other(text, record)
    return _header("nixl", match, record, _LEVELS[match["severity"]], None, match["source"])


def _uvicorn(text: str, record: Record) -> Header | None:
    match = matcher("uvicorn")(text)
    if match is not None:
        # uvicorn pads its level to ten columns; others write one blank
        kind = "uvicorn" if match.start("message") == 10 else "python"
        return _header(kind, match, record, match["word"])
    match = matcher("basic")(text)
    if match is not None:
        return _header("python", match, record, match["word"])
    return _other(text, record)


def _logrus(text: str, record: Record) -> Header | None:
    match = matcher("logrus")(text)
    return _other(text, record) if match is None else _header("docker", match, record, match["short_grade"])


def _bracket(text: str, record: Record) -> Header | None:
    second = text[1:2]
    if second in "TDIWEF":
        match = matcher("c10d")(text)
        if match is not None:
            clock = glog_clock(match["monthday"], match["time"])
            header = _header("c10d", match, record, _LEVELS[match["severity"]], clock, match["location"])
            rank = _RANK.search(header.message, 0, 200)
            if rank is not None:
                header.process = _process(record.process, rank=int(rank[1]))
            return header
    found = _nccl(text, record)
    if found is None and second.isdigit():
        found = _dated_bracket(text, record)
    elif found is None and "] " in text[:40]:
        match = matcher("tagged")(text)
        if match is not None:
            found = _header("python", match, record, match["word"])
    return found or _kernel(text, record)


def _dated_bracket(text: str, record: Record) -> Header | None:
    match = matcher("raycpp")(text)
    if match is not None:
        clock = iso_clock(match["datetime"])
        header = _header("ray", match, record, _LEVELS[match["severity"]], clock, match["source"])
        header.process = _process(record.process, name=match["component"], pid=match["pid"])
        return header
    match = matcher("bracketed")(text)
    if match is not None:
        return _bracketed(match, record)
    match = matcher("trtllm")(text)
    if match is not None:
        return _header("trtllm", match, record, match["trt_severity"], us_clock(match["us_stamp"]))
    match = matcher("ucx")(text)
    if match is not None:
        clock = epoch_clock(match["epoch"])
        header = _header("ucx", match, record, match["word"], clock, match["source"])
        header.process = _process(record.process, pid=match["pid"], node=match["host"])
        return header
    return None


def _bracketed(match: re.Match[str], record: Record) -> Header:
    header = _header("python", match, record, match["word"], iso_clock(match["datetime"]))
    tail = _LMCACHE_TAIL.search(header.message)
    if tail is not None:
        header.location = tail[1]
    tag = match["tag"]
    if tag is None:
        return header
    if tag[1:2] == " " and tag[0] in "DIWEF":
        header.level = _LEVELS[tag[0]]
        header.location = tag[2:]
    rank = _TENSOR_RANK.search(tag)
    if rank is not None:
        header.process = _process(record.process, name=tag, rank=int(rank[1]))
    return header


def _kernel(text: str, record: Record) -> Header | None:
    match = matcher("kernel")(text)
    if match is None:
        match = matcher("kernel_plain")(text)
        return _other(text, record) if match is None else _header("kernel", match, record, None)
    calendar = match["calendar"]
    return _header("kernel", match, record, None, calendar_clock(calendar) if calendar else None)


def _digit(text: str, record: Record) -> Header | None:
    for rule, source in (("loguru", "loguru_source"), ("dashed", "dashed_logger"), ("spaced", "source")):
        match = matcher(rule)(text)
        if match is not None:
            location = match[source] if rule != "dashed" else None
            return _header("python", match, record, match["word"], iso_clock(match["datetime"]), location)
    return _other(text, record)


def _time(text: str, record: Record) -> Header | None:
    match = matcher("logfmt")(text)
    if match is None:
        return _other(text, record)
    quoted = match["text"]
    message = _unescape(quoted[1:-1]) if quoted[0] == '"' else quoted
    level = match["grade"].upper()
    fields = {"attributes": match["attributes"] or "", "time": match["quoted"][1:-1]}
    clock = iso_clock(fields["time"])
    level = _LEVELS.get(level, level)
    return Header("docker", message, own_words(message), level, clock, None, record.process, fields)


def _unescape(text: str) -> str:
    """Go's quoting of logfmt: only what occurs in messages."""
    return _ESCAPE.sub(lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), text)


def _nccl(text: str, record: Record) -> Header | None:
    if text.find(" NCCL ", 0, _NCCL_WITHIN) < 0:
        return None
    match = matcher("nccl")(text)
    if match is None:
        return None
    fields = {name: value for name, value in match.groupdict().items() if value is not None}
    message = fields.pop("message", "")
    stamp = fields.get("stamp") or fields.get("bare_stamp")
    level = fields["level"] = _LEVELS.get(fields["grade"], fields["grade"])
    location = f"{fields['file']}:{fields['line']}" if "file" in fields else None
    process = _process(record.process, pid=fields["pid"], node=fields["host"])
    clock = iso_clock(stamp) if stamp else None
    return Header("nccl", message, message, level, clock, location, process, fields)


def _other(text: str, record: Record) -> Header | None:
    """Everything that the first character does not tell."""
    header = _nccl(text, record)
    if header is not None:
        return header
    prefix = _PREFIXED.match(text)
    if prefix is not None:
        return _word(text[prefix.end() :], record)
    slurm = _SLURM.match(text)
    if slurm is not None:
        level = {"error": "ERROR", "fatal": "CRITICAL", "warning": "WARNING", "info": "INFO"}.get(slurm[1])
        return Header("slurm", text, text, level, None, None, record.process)
    if _CLIENT.match(text) is not None:
        return Header("docker", text, text, None, None, None, record.process)
    return None


def _header(
    kind: str,
    match: re.Match[str],
    record: Record,
    level: str | None,
    clock: float | None = None,
    location: str | None = None,
) -> Header:
    fields = {name: value for name, value in match.groupdict().items() if value is not None}
    message = fields.pop("message", "")
    if level is not None:
        level = _LEVELS.get(level, level)
    return Header(kind, message, own_words(message, location, level), level, clock, location, record.process, fields)


_BY_FIRST: dict[str, Parse | None] = {
    "": None,
    " ": None,
    "\t": None,
    "[": _bracket,
    "<": _kernel,
    "k": _kernel,
    "t": _time,
    **dict.fromkeys("DIWECFTS", _word),
    **dict.fromkeys("0123456789", _digit),
}

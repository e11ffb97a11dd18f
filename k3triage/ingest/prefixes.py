"""Prefixes by which launchers and vLLM itself name the process that wrote a line."""

from k3triage.ingest.draft import Draft
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass

_PROCESS = lazy(
    r"(?P<name>[^\W\d][\w.:<>/+-]*)?(?: rank=(?P<rank>\d+))?(?:^| )pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:%]+))?$"
)
_DAEMON = lazy(r"(?P<name>raylet|autoscaler|gcs_server|pid=gcs_server)(?: \+[\dhms]+)?(?:, ip=(?P<ip>[\w.:%]+))?$")
_TENSOR_RANK = lazy(r"\w*?Worker_TP(\d+)$")
_RANK = lazy(r"\[(?:rank|default)(\d+)\]:(?=[ \[]|$)")
_MPI = lazy(r"\[(?:[\w.@-]+@)?\d+,(\d+)\]<(stdout|stderr|stddiag)>:")
_MPICH = lazy(r"rank #(\d+):")
_REPEATED = lazy(
    r" ?\[repeated (\d{1,9})x across (?:all nodes|cluster)\]"
    r"(?: \(Ray deduplicates logs by default\.[^()]*(?:\([^()]*\)[^()]*)?\))?"
)
_MAX_PREFIX = 120
_MAX_CACHE = 4096


@dataclass(slots=True, frozen=True)
class _Prefix:
    name: str | None
    pid: int | None
    rank: int | None
    ip: str | None
    ray: bool


_cache: dict[str, _Prefix | None] = {}


def _parse(inner: str) -> _Prefix | None:
    match = _PROCESS.match(inner)
    if match is not None:
        name, ip = match["name"], match["ip"]
        rank = match["rank"]
        if rank is None and name is not None and (tensor := _TENSOR_RANK.match(name)):
            rank = tensor[1]
        ray = ip is not None or name is None or name.startswith(("Ray", "ServeReplica", "ServeController"))
        return _Prefix(name, int(match["pid"][:18]), None if rank is None else int(rank[:9]), ip, ray)
    match = _DAEMON.match(inner)
    if match is not None:
        return _Prefix(match["name"].removeprefix("pid="), None, None, match["ip"], True)
    return None


def process(text: str, draft: Draft) -> str | None:
    """Take a `(Name pid=N)` prefix of vLLM or Ray off; None where the text does not begin with one."""
    end = text.find(")", 1, _MAX_PREFIX)
    if end < 0:
        return None
    inner = text[1:end]
    try:
        found = _cache[inner]
    except KeyError:
        if len(_cache) >= _MAX_CACHE:
            _cache.clear()
        found = _cache[inner] = _parse(inner)
    if found is None:
        return None
    draft.name, draft.pid = found.name, found.pid
    if found.rank is not None:
        draft.rank = found.rank
    if found.ip is not None:
        draft.node = found.ip
    if found.ray and draft.envelopes[-1:] != ("ray",):
        draft.envelopes = (*draft.envelopes, "ray")
    return text[end + 2 :] if text[end + 1 : end + 2] == " " else text[end + 1 :]


def rank(text: str, draft: Draft) -> str | None:
    """Take `[rank0]: `, `[default0]: ` or mpirun's `[1,0]<stderr>:` off; c10d's own bracket behind it stays."""
    match = _RANK.match(text)
    if match is not None:
        draft.rank = int(match[1][:9])
        end = match.end()
        return text[end + 1 :] if text[end : end + 1] == " " else text[end:]
    match = _MPI.match(text)
    if match is None:
        return None
    draft.rank = int(match[1][:9])
    draft.stream = "stdout" if match[2] == "stdout" else "stderr"
    draft.envelopes = (*draft.envelopes, "mpirun")
    rest = text[match.end() :]
    # Only some releases put a blank behind the colon; Python indents by even numbers, so an odd count tells.
    return rest[1:] if (len(rest) - len(rest.lstrip(" "))) % 2 else rest


def mpich(text: str, draft: Draft) -> str | None:
    """Take `rank #0: ` off."""
    match = _MPICH.match(text)
    if match is None:
        return None
    draft.rank = int(match[1][:9])
    draft.envelopes = (*draft.envelopes, "mpirun")
    end = match.end()
    return text[end + 1 :] if text[end : end + 1] == " " else text[end:]


def repeated(text: str, draft: Draft) -> str:
    """Take Ray's "[repeated 7x across cluster]" out and count it."""
    match = _REPEATED.search(text)
    if match is None:
        return text
    draft.count = max(1, int(match[1]))
    return text[: match.start()] + text[match.end() :]

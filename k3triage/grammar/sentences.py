"""Sentences of torch, the kernel and docker inside a message, as plain fields; numbers are converted."""

from typing import Any

from k3triage.grammar.patterns import finder, matcher
from k3triage.model.lazy import lazy

_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_MAX_REASONS = 30
# Only so much of a message is searched: the sentences are short, messages may hold a compiler's whole output.
_SEARCHED = 20_000


def size(text: str) -> int:
    """`44.53 GiB` in bytes."""
    number, _, unit = text.partition(" ")
    return round(float(number) * _UNITS[unit])


def cuda_oom(message: str) -> dict[str, Any] | None:
    """All numbers of the allocator's out-of-memory sentence, in bytes."""
    message = message[:_SEARCHED]
    if " out of memory. Tried to allocate " not in message:
        return None
    match = finder("oom_old")(message)
    if match is not None:
        return {
            "device": match["device"],
            "gpu": int(match["gpu"]),
            "requested": size(match["tried"]),
            "total": size(match["total"]),
            "free": size(match["free"]),
            "allocated": size(match["allocated"]),
        }
    match = finder("oom")(message)
    if match is None:
        return None
    found: dict[str, Any] = {"device": match["device"], "requested": size(match["tried"])}
    if match["gpu"] is not None:
        found |= {"gpu": int(match["gpu"]), "total": size(match["total"]), "free": size(match["free"])}
    for rule, group, name in (
        ("oom_process", "in_use", "in_use"),
        ("oom_allowed", "allowed", "allowed"),
        ("oom_allocated", "allocated", "allocated"),
        ("oom_private", "private", "private_pools"),
        ("oom_unallocated", "unallocated", "unallocated"),
    ):
        clause = finder(rule)(message)
        if clause is not None:
            found[name] = size(clause[group])
    return found


def cuda_error(message: str) -> dict[str, Any] | None:
    """The runtime's string behind `CUDA error: `."""
    match = finder("cuda_error")(message[:_SEARCHED]) if "CUDA error: " in message else None
    return {"error": match["cuda_text"].strip()} if match else None


def nccl_error(message: str) -> dict[str, Any] | None:
    """torch's `NCCL error in: ...`."""
    match = finder("backend")(message[:_SEARCHED]) if "NCCL error in: " in message else None
    if match is None:
        return None
    return {"where": match["where"], "result": match["result"], "nccl_version": match["nccl_version"]}


def collective(message: str) -> dict[str, int | str]:
    """What a watchdog line tells of the collective and of the group's progress; empty where it tells nothing."""
    message = message[:_SEARCHED]
    found: dict[str, int | str] = {}
    match = finder("work")(message) if "WorkNCCL(" in message else None
    if match is not None:
        found["operation"] = match["operation"]
        for name in ("sequence", "numel_in", "numel_out", "timeout_ms", "ran_ms"):
            if match[name] is not None:
                found[name] = int(match[name])
    match = finder("watchdog")(message) if "watchdog at work" in message else None
    if match is not None:
        for name in ("sequence", "enqueued", "completed"):
            if match[name] is not None:
                found[name] = int(match[name])
    return found


def xid(message: str) -> dict[str, Any] | None:
    """An Xid line with the payload of the NVLink 5 codes."""
    message = message[:_SEARCHED]
    match = finder("xid")(message) if "NVRM: Xid" in message else None
    if match is None:
        return None
    detail = match["detail"] or ""
    pid = (match["xid_pid"] or "").strip("'")
    found: dict[str, Any] = {"bus": match["bus"], "code": int(match["code"]), "detail": detail}
    if pid.isdigit():
        found["pid"] = int(pid)
    if match["xid_name"] not in (None, "<unknown>"):
        found["name"] = match["xid_name"]
    payload = finder("nvlink5")(detail)
    if payload is not None:
        found |= {"unit": payload["unit"], "fatal": payload["severity"] == "Fatal", "link": int(payload["link"])}
    return found


def sxid(message: str) -> dict[str, Any] | None:
    """An SXid line."""
    message = message[:_SEARCHED]
    match = finder("sxid")(message) if "SXid (" in message else None
    if match is None:
        return None
    grade = match["sxid_grade"]
    return {
        "switch": match["switch"],
        "bus": match["bus"],
        "code": int(match["code"]),
        "fatal": None if grade is None else grade == "Fatal",
        "detail": match["detail"] or "",
    }


def oom_kill(message: str) -> dict[str, Any] | None:
    """The three lines of the OOM killer that name a task."""
    message = message[:_SEARCHED]
    match = finder("oom_kill")(message) if "oom-kill:" in message else None
    if match is not None:
        return {
            "stage": "chosen",
            "task": match["task"],
            "pid": int(match["pid"]),
            "constraint": match["constraint"],
            "memcg": match["task_memcg"],
        }
    match = finder("killed")(message) if "process " in message and "Kill" in message else None
    if match is not None:
        rss = match["anon_rss"]
        found = {"stage": "killed", "task": match["task_name"], "pid": int(match["pid"])}
        return found if rss is None else found | {"anon_rss": int(rss) * 1024}
    match = finder("invoked")(message) if "invoked oom-killer" in message else None
    return {"stage": "invoked", "task": match["task_invoking"]} if match else None


def segfault(message: str) -> dict[str, Any] | None:
    """The kernel's segfault line."""
    message = message[:_SEARCHED]
    match = finder("segfault")(message) if ": segfault at " in message else None
    if match is None:
        return None
    return {"task": match["task_segfault"], "pid": int(match["pid"]), "library": match["library"]}


def docker_error(message: str) -> dict[str, Any] | None:
    """An error of a container client with its nested reasons."""
    match = matcher("client_error")(message)
    return {"origin": match["origin"], "reasons": reasons(match["message"])} if match else None


_APART = lazy(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(: )""")


def reasons(text: str) -> list[str]:
    """`a: b: "c: d"` as its parts, outermost first; what is quoted stays whole, a closing ": unknown" is left out."""
    parts: list[str] = []
    start = 0
    for match in _APART.finditer(text[:_SEARCHED]):
        if match[1] is not None and len(parts) < _MAX_REASONS:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    last = text[start:].strip().removesuffix(": unknown").removesuffix(": unknown.")
    if last.rstrip(".") not in ("unknown", "") or not parts:
        parts.append(last)
    return [part for part in parts if part]


def kubelet_event(message: str) -> dict[str, Any] | None:
    """A row of `kubectl describe`'s table of events."""
    match = matcher("kubelet_event")(message)
    if match is None:
        return None
    return {
        "type": match["event_type"],
        "reason": match["event_reason"],
        "age": match["age"],
        "reporter": match["reporter"],
        "message": match["message"],
    }


def engine_stats(message: str) -> dict[str, Any] | None:
    """vLLM's statistics line, in the wording of every version."""
    if message.startswith("Prefix cache hit rate: GPU: "):
        match = matcher("stats_v0")(message)
        return {"prefix_cache_hit_rate": float(match["hit_rate"])} if match else None
    if "Avg prompt throughput: " not in message[:60]:
        return None
    match = matcher("stats")(message)
    if match is None:
        return None
    names = {
        "engine": ("engine", int),
        "engines": ("engines", int),
        "prompt_rate": ("prompt_rate", float),
        "generation_rate": ("generation_rate", float),
        "running": ("running", int),
        "waiting": ("waiting", int),
        "swapped": ("swapped", int),
        "kv_usage": ("kv_cache_usage", float),
        "hit_rate": ("prefix_cache_hit_rate", float),
    }
    found: dict[str, Any] = {
        name: convert(match[group]) for group, (name, convert) in names.items() if match[group] is not None
    }
    for name, pattern in _STATS_PARTS.items():
        part = pattern.search(message, 0, _SEARCHED)
        if part is not None:
            found[name] = float(part[1]) if "." in part[1] else int(part[1])
    return found


# Parts of the statistics line that only some versions and set-ups print, in no fixed order.
_STATS_PARTS = {
    "preemptions": lazy(r", Preemptions: (\d{1,15})"),
    "deferred": lazy(r", Deferred: (\d{1,15}) reqs"),
    "external_hit_rate": lazy(r", External prefix cache hit rate: (\d{1,15}(?:\.\d{1,9})?)%"),
}


def access(message: str) -> dict[str, Any] | None:
    """uvicorn's line for an answered request."""
    match = matcher("access")(message) if " HTTP/" in message else None
    if match is None:
        return None
    return {
        "client": match["client"],
        "method": match["method"],
        "path": match["path"],
        "status": int(match["status"]),
    }

"""Kernel lines as witnesses: a kernel log tells of every process of the host, most of them not ours."""

import re
from collections.abc import Sequence

from k3triage.diagnose.parsed import Finding, ParsedInput, process_of

_PID = re.compile(r"\bpid[=: ]+'?(\d+)|Killed? process (\d+)|\[(\d+)\]: segfault")
# The kernel cuts names at 15 characters.
_OURS = re.compile(r"(?:task|name)=(?:VLLM::|vllm|ray::|sglang)|\((?:VLLM::|vllm|ray::|sglang)")


def related(pool: Sequence[Finding], inputs: Sequence[ParsedInput]) -> list[Finding]:
    """The findings without kernel lines about other processes, where some kernel line is about one of ours."""
    kernel = [f for f in pool if f.line.header.kind == "kernel"]
    if not kernel:
        return list(pool)
    pids = {
        process_of(line).pid
        for parsed in inputs
        for line in parsed.lines
        if line.header.kind != "kernel" and process_of(line).pid is not None
    }
    ours = {id(f) for f in kernel if _is_ours(f, pids)}
    if not ours:
        return list(pool)
    return [f for f in pool if f.line.header.kind != "kernel" or id(f) in ours]


def _is_ours(finding: Finding, pids: set[int | None]) -> bool:
    message = finding.line.header.message
    found = _PID.search(message)
    if found and int(next(group for group in found.groups() if group)) in pids:
        return True
    return _OURS.search(message) is not None

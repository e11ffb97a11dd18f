"""Bare labels in front of each line: srun -l, pdsh, kubetail, parallel --tag. Only the whole file can tell them."""

from k3triage.ingest.draft import Draft
from k3triage.model.lazy import lazy

SLURM = lazy(r" {0,6}(\d{1,6}):(?: |$)")
HOST = lazy(r"([A-Za-z0-9][\w.-]{0,120}):(?: |$)")
TAB = lazy(r"([\w./:@-]{1,120})\t")
WORD = lazy(r"([a-z0-9][\w./-]{1,120}) ")
# Text that surely is a program's own line: what stands before it is a label, even in a file that has few of them.
CERTAIN_TEXT = lazy(
    r"(?:\([A-Z]\w*(?: rank=\d+)? pid=\d+\)|\[rank\d+\]:|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"\d\d-\d\d \d\d:\d\d:\d\d "
    r"|[\w.-]+:\d+:\d+ \[\d+\] (?:NCCL |\S+:\d+ NCCL )|Traceback \(most recent)"
)


def slurm(text: str, draft: Draft) -> str | None:
    """Take srun's task number off."""
    match = SLURM.match(text)
    if match is None:
        return None
    draft.rank = int(match[1])
    draft.envelopes = (*draft.envelopes, "slurm")
    return text[match.end() :]


def certain_slurm(text: str, draft: Draft) -> str | None:
    """The same in a file that was not elected, if a program's own line follows."""
    match = SLURM.match(text)
    if match is None or CERTAIN_TEXT.match(text, match.end()) is None:
        return None
    return slurm(text, draft)


def host(text: str, draft: Draft, hosts: set[str]) -> str | None:
    """Take `node-a: ` off where the host is known."""
    end = text.find(":", 0, 128)
    if end < 1 or text[:end] not in hosts or text[end + 1 : end + 2] not in ("", " "):
        return None
    draft.node = text[:end]
    draft.envelopes = (*draft.envelopes, "pdsh")
    return text[end + 2 :]


def tag(text: str, draft: Draft, tags: set[str]) -> str | None:
    """Take a known first word and the blank or tab behind it off."""
    for mark in ("\t", " "):
        end = text.find(mark, 0, 128)
        if end > 0 and text[:end] in tags:
            draft.container = text[:end]
            draft.envelopes = (*draft.envelopes, "label")
            return text[end + 1 :]
    return None

"""A time in front of a line: docker logs -t, kubectl logs --timestamps, GitHub Actions, RunPod, Docker Desktop."""

from k3triage.ingest.draft import Draft
from k3triage.ingest.times import stamp
from k3triage.model.lazy import lazy

_GITHUB_JOB = lazy(r"[^\t]{1,200}\t[^\t]{1,200}\t\ufeff?(?=\d{4}-\d\d-\d\dT)")
_GITHUB_COMMAND = lazy(r"##\[(error|warning|group|endgroup|command|debug|section)\]")
_RUNPOD = lazy(r"[a-z0-9]{12,20}\[(error|info|warning|warn|debug)\]")
_LEVELS = {"error": "ERROR", "warning": "WARNING", "warn": "WARNING"}
_DESKTOP = lazy(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?= (?![|-] )|$)")


def rfc3339(text: str, draft: Draft) -> str | None:
    """Take an RFC 3339 stamp with a zone and one blank off.

    A stamp that a program's own header goes on from ("- name - INFO") is left alone.
    """
    if text[4:5] != "-" or text[10:11] != "T":
        return None
    found = stamp(text)
    if found is None:
        return None
    ns, end = found
    if text[end - 1] != "Z" and text[end - 3] not in ":+-" and text[end - 5] not in "+-":
        return None
    follower = text[end : end + 1]
    if follower not in ("", " ", "\t") or text.startswith((" - ", " | "), end):
        return None
    draft.ns, draft.year_known = ns, True
    draft.envelopes = (*draft.envelopes, "timestamps")
    inner = text[end + 1 :]
    if inner.startswith("##[") and (command := _GITHUB_COMMAND.match(inner)):
        draft.level = _LEVELS.get(command[1], draft.level)
        inner = inner[command.end() :]
    return inner


def github_job(text: str, draft: Draft) -> str | None:
    """Take the job and step names that `gh run view --log` puts before each stamp off."""
    match = _GITHUB_JOB.match(text)
    if match is None:
        return None
    draft.envelopes = (*draft.envelopes, "github")
    return text[match.end() :]


def runpod(text: str, draft: Draft) -> str | None:
    """Take RunPod's worker id and stream tag off: `0a1b2c3d4e5f6g[error]text`."""
    match = _RUNPOD.match(text)
    if match is None:
        return None
    draft.envelopes = (*draft.envelopes, "runpod")
    return text[match.end() :]


def desktop(text: str, draft: Draft) -> str | None:
    """Take Docker Desktop's local time off. Only where each line of the file has it, as programs print it too."""
    match = _DESKTOP.match(text)
    if match is None:
        return None
    found = stamp(match[0])
    if found is None:
        return None
    draft.ns, draft.year_known = found[0], True
    draft.envelopes = (*draft.envelopes, "docker-desktop")
    return text[match.end() + 1 :]

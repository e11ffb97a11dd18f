"""The log files of containerd and CRI-O: `TIME STREAM TAG text`; tag P: the line goes on in its stream's next."""

from k3triage.ingest.draft import Draft
from k3triage.ingest.times import stamp
from k3triage.model.lazy import lazy

_BEHIND_TIME = lazy(r" (stdout|stderr) (?:([PF])(?::[\w:]*)?(?: |$))?")


def cri(text: str, draft: Draft) -> str | None:
    """Take the time, stream and tag off; old CRI-O wrote no tag."""
    # The stream stands behind the time; looking for it first is cheaper than reading the time.
    if text[4:5] != "-" or text[10:11] != "T" or " std" not in text[19:42]:
        return None
    found = stamp(text)
    if found is None:
        return None
    ns, end = found
    match = _BEHIND_TIME.match(text, end)
    if match is None:
        return None
    draft.ns, draft.year_known = ns, True
    draft.stream = match[1]
    draft.partial = match[2] == "P"
    draft.envelopes = (*draft.envelopes, "cri")
    return text[match.end() :]

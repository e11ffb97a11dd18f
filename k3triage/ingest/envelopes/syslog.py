"""syslog on the wire and in files: RFC 3164 and RFC 5424 with their PRI, and Talos' kernel log."""

from k3triage.ingest.draft import Draft
from k3triage.ingest.envelopes import journald
from k3triage.ingest.times import stamp
from k3triage.model.lazy import lazy

_PRI = lazy(r"<(\d{1,3})>(?:(1) )?")
_HEADER_5424 = lazy(r"(\S{1,255}) (\S{1,48}) (\S{1,128}) (\S{1,32}) ")
_STRUCTURED = lazy(r'(?:-|(?:\[[^\s\]"=]{1,32}(?: [^\s\]"=]{1,32}="(?:[^"\\\]]|\\.)*")*\])+)(?: |$)')
_TAG_3164 = lazy(r"([\w./-]{1,48})(?:\[(\d{1,10})\])?: ?")
_TALOS = lazy(r"(?:(\d[\d.]{6,14}|[\da-f:]{3,39}): )?(?:kern|user|daemon|syslog): +(\w+): \[")
_OCTAL = lazy(r"#(0[01][0-7]|177)(?=\[|#|\S)")


def syslog(text: str, draft: Draft) -> str | None:
    """Take a line's PRI, header and structured data off."""
    pri = _PRI.match(text)
    if pri is None or int(pri[1]) > 191:
        return None
    start = pri.end()
    return _new(text, start, draft) if pri[2] else _old(text[start:], draft)


def _new(text: str, start: int, draft: Draft) -> str | None:
    found = stamp(text, start)
    if found is None:
        if not text.startswith("- ", start):
            return None
        end = start + 1
    else:
        end = found[1]
    header = _HEADER_5424.match(text, end + 1)
    if header is None:
        return None
    data = _STRUCTURED.match(text, header.end())
    if found is not None:
        draft.ns, draft.year_known = found[0], True
    host, program, pid, _ = header.groups()
    draft.node = host if host != "-" else draft.node
    draft.container = program if program != "-" else draft.container
    if pid.isdecimal() and len(pid) < 11:
        draft.pid = int(pid)
    draft.envelopes = (*draft.envelopes, "syslog")
    return _unescape(text[data.end() if data else header.end() :].removeprefix("\ufeff"))


def _old(text: str, draft: Draft) -> str | None:
    inner = journald.short(text, draft)
    if inner is None:
        inner = journald.iso(text, draft)
    if inner is not None:
        draft.envelopes = (*draft.envelopes[:-1], "syslog")
        return _unescape(inner)
    # Docker writes to /dev/log without a host; some devices without a time.
    ns, start = journald.short_time(text)
    tag = _TAG_3164.match(text, start)
    if tag is None:
        return None
    if ns is not None and (draft.ns is None or not draft.year_known):
        draft.ns, draft.year_known = ns, False
    draft.container = tag[1]
    draft.pid = int(tag[2]) if tag[2] else draft.pid
    draft.envelopes = (*draft.envelopes, "syslog")
    return _unescape(text[tag.end() :])


def _unescape(text: str) -> str:
    """Undo rsyslog's octal spelling of control characters, where a line holds one of the tell-tale kinds."""
    if "#033" not in text and "#011" not in text and "#012" not in text:
        return text
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def talos(text: str, draft: Draft) -> str | None:
    """Take `10.0.0.2: kern: warning: [2026-01-02T03:04:05.6Z]: ` off, as `talosctl dmesg` prints it."""
    match = _TALOS.match(text)
    if match is None:
        return None
    found = stamp(text, match.end())
    if found is None or text[found[1] : found[1] + 2] != "]:":
        return None
    draft.ns, draft.year_known = found[0], True
    draft.node = match[1] or draft.node
    draft.container = "kernel"
    draft.envelopes = (*draft.envelopes, "talos")
    return text[found[1] + 3 :]

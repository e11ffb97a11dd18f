"""journalctl: the short forms (short, short-precise, short-iso, short-unix) and JSON; the export form line by line."""

from typing import Any

from k3triage.ingest.draft import Draft, Entry
from k3triage.ingest.times import MONTHS, number, stamp, yearless
from k3triage.model.lazy import lazy

_SHORT = lazy(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ")
_UNIX = lazy(r"(\d{10}\.\d{6}) ")
_WHO = lazy(r"([\w.:-]{1,255}) ([^\s\[\]:]{1,128})(?:\[(\d{1,10})\])?: ?")
_LEVELS = frozenset(("DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"))
_REPEATED = lazy(r"message repeated (\d{1,9}) times: \[ ?(.*?) ?\]$")


def short(text: str, draft: Draft) -> str | None:
    """Take `Aug 19 18:30:11 host ident[pid]: ` off, as journalctl and syslog files (without PRI) have it."""
    ns, start = short_time(text)
    return None if ns is None else _behind(text, start, ns, False, draft)


def short_time(text: str) -> tuple[int | None, int]:
    """The time of `Aug 19 18:30:11.5 ` at the start, and the index behind it; (None, 0) where there is none."""
    if text[:3] not in MONTHS:
        return None, 0
    match = _SHORT.match(text)
    if match is None:
        return None, 0
    ns = yearless(match[1], match[2], match[3], match[4] or "")
    return (None, 0) if ns is None else (ns, match.end())


def iso(text: str, draft: Draft) -> str | None:
    """Take `2024-06-17T09:01:22+0000 host ident[pid]: ` or `1718614882.114930 host ident[pid]: ` off."""
    if text[4:5] == "-" and text[10:11] == "T":
        # Host and ident are looked for first: that is cheaper than reading the time.
        start = text.find(" ", 19, 42) + 1
        if not start or _WHO.match(text, start) is None:
            return None
        found = stamp(text)
        return None if found is None or found[1] + 1 != start else _behind(text, start, found[0], True, draft)
    match = _UNIX.match(text)
    if match is None:
        return None
    ns = number(match[1])
    return None if ns is None else _behind(text, match.end(), ns, True, draft)


def _behind(text: str, start: int, ns: int, year_known: bool, draft: Draft) -> str | None:
    who = _WHO.match(text, start)
    if who is None or who[1] in _LEVELS:
        return None
    # A program's own stamped line ("... INFO router: text") reads like host and ident; only a pid, or a unit that
    # journald names so, is beyond doubt.
    if year_known and who[3] is None and who[2] not in ("kernel", "systemd", "dockerd", "containerd", "kubelet"):
        return None
    # A collector around it knows the year too.
    if year_known or draft.ns is None:
        draft.ns, draft.year_known = ns, year_known
    draft.node = who[1]
    draft.envelopes = (*draft.envelopes, "journald")
    draft.container = who[2]
    if who[3]:
        draft.pid = int(who[3])
    inner = text[who.end() :]
    if inner.startswith("message repeated ") and (again := _REPEATED.match(inner)):
        draft.count = max(1, int(again[1]))
        return again[2]
    return inner


def entry(item: dict[str, Any]) -> list[Entry] | None:
    """One object of `journalctl -o json`. MESSAGE is an array of bytes if it holds ESC, null if it is too long."""
    if "MESSAGE" not in item or not ("__REALTIME_TIMESTAMP" in item or "_HOSTNAME" in item or "__CURSOR" in item):
        return None
    when = item.get("_SOURCE_REALTIME_TIMESTAMP") or item.get("__REALTIME_TIMESTAMP")
    pid = item.get("_PID") or item.get("SYSLOG_PID")
    container = item.get("CONTAINER_NAME") or item.get("SYSLOG_IDENTIFIER")
    return [
        Entry(
            "journald",
            message(item["MESSAGE"]),
            "MESSAGE",
            number(when) if isinstance(when, str) else None,
            None,
            item["_HOSTNAME"] if isinstance(item.get("_HOSTNAME"), str) else None,
            container if isinstance(container, str) else None,
            int(pid) if isinstance(pid, str) and pid.isdecimal() and len(pid) < 11 else None,
            partial=item.get("CONTAINER_PARTIAL_MESSAGE") == "true",
        )
    ]


def message(value: Any) -> str:
    """MESSAGE as text: a string, an array of bytes, an array of several messages, or null (left out by journald)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        if all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
            return bytes(value).decode("utf-8", "replace")
        return "\n".join(message(part) for part in value[:100] if not isinstance(part, dict))
    return ""

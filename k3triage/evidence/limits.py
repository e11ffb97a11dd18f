"""`ulimit -a`, `df` and `free`."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Disk
from k3triage.model.lazy import lazy

KIND = "limits"
_LIMIT = lazy(
    r"(max locked memory|open files|max user processes|stack size)\s+\(([^)]{1,30})\)\s+(unlimited|\d{1,20})$"
)
_NAMES = {
    "max locked memory": "limit.memlock",
    "open files": "limit.nofile",
    "max user processes": "limit.nproc",
    "stack size": "limit.stack",
}
_MOUNTS = lazy(r"Filesystem\s+(?:Type\s+)?(\S+)(?:-blocks)?\s+Used\s+Avail\w*\s+(?:Use%|Capacity)\s+Mounted on")
_MOUNT = lazy(
    r"(\S{1,200})\s+(?:[a-z]\w{1,15}\s+)?(\d[\d.]{0,15}[KMGTPi]{0,2}B?|0)\s+(\d[\d.]{0,15}[KMGTPi]{0,2}B?|0)\s+(\d[\d.]{0,15}[KMGTPi]{0,2}B?|0)\s+\d{1,3}%\s+(/\S{0,300})$"
)
_FREE = lazy(r"\s+total\s+used\s+free\s")
_MEM = lazy(
    r"(Mem|Swap):\s+(\d[\d.]{0,15}[KMGTPi]{0,2}B?)\s+(\d[\d.]{0,15}[KMGTPi]{0,2}B?)\s+(\d[\d.]{0,15}[KMGTPi]{0,2}B?)(.{0,100})$"
)
_UNITS = {"": 0, "B": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """limit.memlock ("unlimited" or bytes), limit.nofile ...; disk; dev_shm, host_memory, host_available in bytes."""
    unit = 1024
    table = memory = False
    for number, row in section.rows:
        if (limit := _LIMIT.match(row)) is not None:
            name = _NAMES.get(limit.group(1))
            if name is not None:
                yield number, name, _limited(limit.group(2), limit.group(3))
        elif (header := _MOUNTS.match(row)) is not None:
            table, unit = (
                True,
                1 if header.group(1).startswith("1B") else 1 << 20 if header.group(1).startswith("1M") else 1024,
            )
        elif table and (mount := _MOUNT.match(row)) is not None:
            size, free = _size(mount.group(2), unit), _size(mount.group(4), unit)
            yield number, "disk", Disk(mount.group(5), size, free)
            if mount.group(5) == "/dev/shm":
                yield number, "dev_shm", size
        elif _FREE.match(row):
            memory = True
            unit = {"-b": 1, "-m": 1 << 20, "-g": 1 << 30}.get(_option(section.command), 1024)
        elif memory and (found := _MEM.match(row)) is not None and found.group(1) == "Mem":
            yield number, "host_memory", _size(found.group(2), unit)
            rest = found.group(5).split()
            if rest and re.fullmatch(r"\d[\d.]*[KMGTPi]{0,2}B?", rest[-1]):
                yield number, "host_available", _size(rest[-1], unit)


def _option(command: str | None) -> str:
    found = re.search(r"\bfree\s+(-[bkmg])\b", command or "")
    return found.group(1) if found else ""


def _limited(unit: str, value: str) -> str | int:
    if value == "unlimited":
        return value
    return int(value) * (1024 if "kbytes" in unit else 1)


def _size(text: str, unit: int) -> int:
    amount = re.match(r"\d+(?:\.\d+)?", text)
    if amount is None:
        return 0
    letters = text[amount.end() :]
    power = _UNITS.get(letters[:1], 0)
    return int(float(amount.group()) * (1024**power if letters else unit))

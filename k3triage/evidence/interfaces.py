"""`ip link` and `ip addr`."""

from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Interface
from k3triage.model.lazy import lazy

KIND = "ip link"
_LINK = lazy(r"\s*\d{1,6}: ([\w.:-]{1,40})(?:@\S{1,40})?: <([A-Z0-9_,-]{0,200})> mtu (\d{1,6})(.{0,300})$")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """interface: each one, up only where both sides are (LOWER_UP without NO-CARRIER)."""
    rows = section.rows
    for position, (number, row) in enumerate(rows):
        found = _LINK.match(row)
        if found is None:
            continue
        flags = found.group(2).split(",")
        up = "UP" in flags and "NO-CARRIER" not in flags and ("LOWER_UP" in flags or " state UP" in found.group(4))
        following = rows[position + 1][1] if position + 1 < len(rows) else ""
        yield number, "interface", Interface(found.group(1), up, int(found.group(3)), "link/infiniband" in following)

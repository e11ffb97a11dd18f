"""`lsmod`, whole or through grep. Inside a container it shows the host's modules."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section, covers
from k3triage.model.lazy import lazy

KIND = "lsmod"
_HEADER = lazy(r"Module\s+Size\s+Used by")
_ROW = lazy(r"([a-z][a-z0-9_]{1,60})\s+(\d{3,12})\s+(-?\d{1,6})(?:\s+([\w,\[\]]{1,2000}))?$")
_TELLING = lazy(r"(?:nvidia|mlx5|ib_|nv_peer|nouveau|rdma|gdrdrv)")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """module: each one's name; modules_listed: what the list covers ("all", "nvidia", "mlx5", ...)."""
    header = next((number for number, row in section.rows if _HEADER.match(row)), None)
    rows = [(number, found) for number, row in section.rows if (found := _ROW.match(row))]
    asked = section.command if section.ran("lsmod") else None
    if header is None and asked is None and not any(_TELLING.match(found.group(1)) for _, found in rows):
        return
    if asked is None and header is None and len(rows) * 2 < sum(1 for _, row in section.rows if row):
        return
    for number, found in rows:
        yield number, "module", found.group(1)
        # The users of a module are loaded as well, although a grep may have left out their own lines.
        for user in (found.group(4) or "").split(","):
            if re.fullmatch(r"[a-z]\w{1,60}", user):
                yield number, "module", user
    first = header if header is not None else rows[0][0] if rows else section.rows[0][0] if section.rows else 0
    if first:
        # A filter that lets "nvidia" pass lets its other modules pass as well.
        filtered = asked is None and header is None and any(found.group(1) == "nvidia" for _, found in rows)
        yield first, "modules_listed", "nvidia" if filtered else covers(asked, header is not None)

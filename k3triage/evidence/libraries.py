"""`ldconfig -p`, whole or through grep."""

from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Library
from k3triage.model.lazy import lazy

KIND = "ldconfig -p"
_ENTRY = lazy(r"\s*(lib[\w.+-]{1,80}) \((?:libc6|ELF)[^)]{0,80}\) => (/\S{1,300})$")
_COUNT = lazy(r"(\d{1,6}) libs found in cache")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """library: CUDA and NCCL entries in their order; libraries_listed where the list can show that one is absent."""
    entries = [(number, found) for number, row in section.rows if (found := _ENTRY.match(row))]
    for number, found in entries:
        if found.group(1).startswith(("libcuda", "libnccl", "libnvidia-ml")):
            yield number, "library", Library(found.group(1), found.group(2))
    count = next((number for number, row in section.rows if _COUNT.match(row)), None)
    asked = (
        section.ran("ldconfig")
        and section.command is not None
        and ("grep" not in section.command or "cuda" in section.command)
    )
    if count is not None or (asked and entries):
        yield count or entries[0][0], "libraries_listed", True

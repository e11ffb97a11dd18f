"""`nvidia-smi --query-gpu=... --format=csv`, with and without header and units."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Gpu
from k3triage.model.lazy import lazy

KIND = "nvidia-smi --query-gpu"
_FIELD = lazy(r"[a-z][a-z0-9_.]{1,60}(?: \[[^\]]{1,10}\])?$")
_KNOWN = frozenset(
    {
        "name",
        "driver_version",
        "memory.total",
        "memory.used",
        "memory.free",
        "uuid",
        "index",
        "gpu_uuid",
        "gpu_name",
        "count",
    }
)
_QUERY = lazy(r"--query-gpu[= ]([a-z0-9_.,]{1,500})")
_TROUBLE = lazy(
    r"\[(?:Unknown Error|GPU requires reset|GPU is lost|Reset Required|Insufficient Permissions)\]", re.IGNORECASE
)
_DRIVER = lazy(r"\d{3}\.\d{1,4}(?:\.\d{1,4})?$")
_GPU_NAME = lazy(r"(?:NVIDIA|Tesla|Quadro|GeForce)\s.{1,60}$")
_CELLS = (
    ("name", _GPU_NAME),
    ("driver_version", _DRIVER),
    ("memory.total", lazy(r"\d{1,9} MiB$")),
    ("uuid", lazy(r"GPU-[0-9a-f]{8}-")),
)
_AMOUNT = lazy(r"(\d{1,9})(?: MiB)?$")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """driver and gpu of each row, gpu_fault where a row says that the GPU is in trouble."""
    columns: list[str] | None = None
    asked = _QUERY.search(section.command) if section.command else None
    if asked is not None:
        columns = asked.group(1).split(",")
    for number, row in section.rows:
        cells = [cell.strip() for cell in row.split(",")]
        header = _header(cells)
        if header is not None:
            columns = header
        elif not row or (len(cells) < 2 and columns is None):
            if not row and asked is None:
                columns = None
        elif columns is not None and len(cells) == len(columns):
            yield from _row(number, dict(zip(columns, cells, strict=True)))
        elif columns is None:
            yield from _row(number, _guess(cells))


def _header(cells: list[str]) -> list[str] | None:
    if not all(_FIELD.match(cell) for cell in cells):
        return None
    names = [cell.partition(" ")[0] for cell in cells]
    return (
        names
        if _KNOWN & set(names) and (len(names) > 1 or names[0] not in ("name", "index", "count", "uuid"))
        else None
    )


def _guess(cells: list[str]) -> dict[str, str]:
    """Columns of a row without header (`noheader`): only where a GPU's name and another known cell stand in it."""
    if len(cells) > 40:
        return {}
    found: dict[str, str] = {}
    for cell in cells:
        for name, pattern in _CELLS:
            if pattern.match(cell):
                found.setdefault(name, cell)
    return found if "name" in found and len(found) > 1 else {}


def _row(number: int, cells: dict[str, str]) -> Iterator[tuple[int, str, object]]:
    if not cells:
        return
    trouble = next((found.group() for cell in cells.values() if (found := _TROUBLE.match(cell))), None)
    if trouble is not None:
        yield number, "gpu_fault", f"nvidia-smi answers {trouble}"
    driver = cells.get("driver_version", "")
    if _DRIVER.match(driver):
        yield number, "driver", driver
    name = cells.get("name") or cells.get("gpu_name") or ""
    memory = _amount(cells.get("memory.total"))
    uuid = cells.get("uuid") or cells.get("gpu_uuid")
    if trouble is None and (_GPU_NAME.match(name) or memory is not None or (uuid or "").startswith("GPU-")):
        index = _amount(cells.get("index"))
        ecc = _amount(cells.get("ecc.errors.uncorrected.volatile.total"))
        mig = {"enabled": True, "disabled": False}.get(cells.get("mig.mode.current", "").lower())
        yield (
            number,
            "gpu",
            Gpu(
                index,
                name if not name.startswith("[") else "",
                uuid,
                memory,
                _amount(cells.get("memory.used")),
                ecc,
                mig,
            ),
        )


def _amount(cell: str | None) -> int | None:
    found = _AMOUNT.match(cell) if cell else None
    return int(found.group(1)) if found else None

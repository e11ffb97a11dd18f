"""`nvidia-smi -L` and `nvidia-smi topo -m`."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Gpu
from k3triage.model.lazy import lazy

KIND = "nvidia-smi -L"
_LISTED = lazy(r"GPU (\d{1,3}): (\S.{0,80}?) \(UUID: (GPU-[0-9A-Za-z-]{8,64}|MIG-\S{1,90})\)$")
_PARTITION = lazy(r"\s+MIG \S+\s+Device\s+\d+: \(UUID: MIG-")
_CONTROL = lazy(r"\x1b\[[0-9;]{0,10}m")
_COLUMN = lazy(r"(?:GPU|NIC)\d{1,3}$|mlx5_\w{1,12}$")
_NIC_NAME = lazy(r"\s+NIC\d{1,3}: (\w{1,40})$")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """gpu of -L (mig where partitions are listed), topology_gpus, nvlink and nic of the matrix of `topo -m`."""
    last: tuple[int, Gpu] | None = None
    for number, row in section.rows:
        listed = _LISTED.match(row)
        if listed is not None:
            if last is not None:
                yield last[0], "gpu", last[1]
            last = number, Gpu(int(listed.group(1)), listed.group(2), listed.group(3))
        elif last is not None and _PARTITION.match(row):
            last = last[0], Gpu(last[1].index, last[1].name, last[1].uuid, mig=True)
    if last is not None:
        yield last[0], "gpu", last[1]
    yield from _matrix(section)


def _matrix(section: Section) -> Iterator[tuple[int, str, object]]:
    columns: list[str] = []
    for number, row in section.rows:
        plain = _CONTROL.sub("", row)
        if "CPU Affinity" in plain and "GPU0" in plain:
            cells = plain.replace("\t", " ").split()
            columns = [cell for cell in cells if _COLUMN.match(cell)]
            yield number, "topology_gpus", sum(cell.startswith("GPU") for cell in columns)
            continue
        if not columns:
            continue
        cells = plain.split()
        if len(cells) > len(columns) and cells[0] in columns and cells[0].startswith("GPU"):
            peers = [
                cell
                for column, cell in zip(columns, cells[1:], strict=False)
                if column.startswith("GPU") and column != cells[0]
            ]
            if peers:
                yield number, "nvlink", all(re.match(r"NV\d", cell) for cell in peers)
        elif (nic := _NIC_NAME.match(plain)) is not None:
            yield number, "nic", nic.group(1)

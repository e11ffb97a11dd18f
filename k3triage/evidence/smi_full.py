"""`nvidia-smi -q`: the long listing, one indented block a GPU."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import Gpu
from k3triage.model.lazy import lazy

KIND = "nvidia-smi -q"
_FIELD = lazy(r"(\s*)(\S[^:]{0,60}?)\s*(?: : (.{0,300}))?$")
_GPU = lazy(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)$")
_AMOUNT = lazy(r"(\d{1,9})(?: MiB)?$")


class _Block:
    """One GPU's fields: "FB Memory Usage/Total" -> value."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.fields: dict[str, tuple[int, str]] = {}
        self._path: list[tuple[int, str]] = []

    def add(self, number: int, indent: int, name: str, value: str | None) -> None:
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        if value is None:
            self._path = [*self._path[-4:], (indent, name)]
            return
        group = self._path[-1][1] + "/" if self._path else ""
        outer = self._path[-2][1] + "/" if len(self._path) > 1 else ""
        self.fields.setdefault(outer + group + name, (number, value))

    def text(self, name: str) -> str | None:
        """Value of a field, None for N/A and fields that are not there."""
        value = self.fields.get(name, (0, "N/A"))[1]
        return None if value in ("N/A", "") else value

    def amount(self, *names: str) -> int | None:
        for name in names:
            found = _AMOUNT.match(self.text(name) or "")
            if found is not None:
                return int(found.group(1))
        return None


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """driver, cuda_ceiling, attached_gpus, gpu, fabric ("Completed" is healthy), gpu_fault for a recovery action."""
    inside = False
    block: _Block | None = None
    index = 0
    for number, row in section.rows:
        if "NVSMI LOG" in row:
            inside = True
            continue
        if not inside or not row:
            continue
        started = _GPU.match(row)
        if started is not None:
            if block is not None:
                yield from _gpu(block, index)
                index += 1
            block = _Block(number)
            continue
        found = _FIELD.match(row)
        if found is None:
            continue
        indent, name, value = len(found.group(1)), found.group(2), found.group(3)
        if indent == 0 and value is None and not name.startswith("GPU"):
            break  # another output follows
        if block is not None and indent > 0:
            block.add(number, indent, name, value)
        elif name == "Driver Version" and value and re.fullmatch(r"\d+(?:\.\d+){1,3}", value):
            yield number, "driver", value
        elif name == "CUDA Version" and value and re.fullmatch(r"\d+\.\d+", value):
            yield number, "cuda_ceiling", value
        elif name == "Attached GPUs" and value and value.isdecimal() and len(value) < 5:
            yield number, "attached_gpus", int(value)
    if block is not None:
        yield from _gpu(block, index)


def _gpu(block: _Block, index: int) -> Iterator[tuple[int, str, object]]:
    mig = {"enabled": True, "disabled": False}.get((block.text("MIG Mode/Current") or "").lower())
    ecc = block.amount("ECC Errors/Volatile/DRAM Uncorrectable", "ECC Errors/Volatile/Uncorrectable")
    yield (
        block.line,
        "gpu",
        Gpu(
            index,
            block.text("Product Name") or "",
            block.text("GPU UUID"),
            block.amount("FB Memory Usage/Total"),
            block.amount("FB Memory Usage/Used"),
            ecc,
            mig,
        ),
    )
    fabric = block.text("Fabric/State")
    if fabric is not None:
        yield block.fields["Fabric/State"][0], "fabric", fabric
    action = block.text("GPU Recovery Action")
    if action not in (None, "None"):
        yield block.fields["GPU Recovery Action"][0], "gpu_fault", f"GPU {index} asks for recovery: {action}"

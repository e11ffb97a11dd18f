"""Code tables: what a number or name of the driver, CUDA, NCCL, NVML, the kernel or Kubernetes means.

The tables are data (`tables/*.csv`), read when first asked for, so that a triage that needs none pays nothing.
"""

import csv
import io
from functools import cache

from k3triage.model.shapes import dataclass

KINDS = ("xid", "cuda", "nccl", "nvml", "errno", "exit", "signal", "reason")


@dataclass(frozen=True)
class CodeEntry:
    """One row of a table.

    kind: table ("xid", "cuda", "nccl", "nvml", "errno", "exit", "signal", "reason").
    code: number as text; for reasons the word itself.
    name: official name, as "cudaErrorNoDevice".
    layer: layer that the code speaks for on its own, "none" where it is no fault.
    role: "root", "suspect", "cascade" or "info": how far the code alone may be taken for the cause.
    checked: day (YYYY-MM-DD) on which the source was last compared.
    """

    kind: str
    code: str
    name: str
    meaning: str
    layer: str
    action: str
    source: str
    checked: str
    role: str = "root"


@cache
def _table(kind: str) -> dict[str, CodeEntry]:
    """Every key (code, name and aliases, in lower case) of one table; a code wins over another row's name."""
    from importlib.resources import files

    text = (files("k3triage.rules") / "tables" / f"{kind}.csv").read_text(encoding="utf-8")
    codes: dict[str, CodeEntry] = {}
    names: dict[str, CodeEntry] = {}
    for row in csv.DictReader(io.StringIO(text)):
        entry = CodeEntry(
            kind=kind,
            code=row["code"],
            name=row["name"],
            meaning=row["meaning"],
            layer=row["layer"],
            action=row["action"],
            source=row["source"],
            checked=row["checked"],
            role=row["role"],
        )
        codes[entry.code.lower()] = entry
        for name in (entry.name, *row["aliases"].split("|")):
            if name:
                names.setdefault(name.lower(), entry)
    return names | codes


def _normal(kind: str, code: str) -> str:
    """The key that a user's spelling stands for: "+079", "errno -110", "Xid 79" and "0x22" are numbers."""
    key = code.strip().strip("'\"").lower()
    key = key.removeprefix(kind).lstrip(" :=#")
    digits = key.removeprefix("sig") if kind == "signal" else key
    try:
        number = int(digits, 16) if digits.startswith("0x") else int(digits)
    except ValueError:
        return key
    if kind == "errno":
        number = abs(number)  # the kernel returns errors as negative numbers
    if kind == "exit" and number < 0:
        number = 128 - number  # Python and torchrun print death by a signal as its negative number
    return str(number)


def explain(kind: str, code: str) -> CodeEntry | None:
    """The row for a code or name, or None where the table does not know it.

    Names are compared without regard to case: `explain("cuda", "cudaErrorNoDevice")`, `explain("cuda", "100")`
    and `explain("cuda", "no CUDA-capable device is detected")` give the same row.

    Raises ValueError for an unknown kind.
    """
    kind = kind.lower()
    if kind not in KINDS:
        raise ValueError(f"unknown kind of code {kind!r}; known: {', '.join(KINDS)}")
    if not code.strip():
        return None
    table = _table(kind)
    return table.get(_normal(kind, code)) or table.get(code.strip().lower())


def entries(kind: str) -> list[CodeEntry]:
    """All rows of one table in its order. Raises ValueError for an unknown kind."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of code {kind!r}; known: {', '.join(KINDS)}")
    return list({entry.code: entry for entry in _table(kind).values()}.values())

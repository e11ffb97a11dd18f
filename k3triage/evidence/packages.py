"""`pip list`, `pip freeze` and `conda list`."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.lazy import lazy

KIND = "pip list"
_FROZEN = lazy(r"(?:\[pip3\] |\[conda\] )?([A-Za-z0-9][\w.-]{0,80})==(\d[\w.+!-]{0,80})$")
_DIRECT = lazy(r"(vllm|torch|flashinfer[\w-]*) @ \S+?[-/](?:vllm|torch|flashinfer\w*)-(\d[\w.+%]{0,60}?)-\S*$")
_ROW = lazy(r"([A-Za-z0-9][\w.-]{0,80})\s{1,80}(\d[\w.+!-]{0,80})(?:\s+(?:/\S+|\S+))?$")
_RULE = lazy(r"-{3,}\s+-{3,}")
_FACTS = {
    "vllm": "vllm",
    "torch": "torch",
    "transformers": "transformers",
    "flashinfer-python": "flashinfer",
    "triton": "triton",
    "nvidia-nccl-cu12": "nccl",
    "nvidia-nccl-cu13": "nccl",
}


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """package: (name, version) of each; vllm, torch, torch_cuda, nccl, transformers, flashinfer, triton."""
    table = False
    for number, row in section.rows:
        if _RULE.match(row) or row.startswith("# packages in environment"):
            table = True
            continue
        found = _FROZEN.match(row) or _DIRECT.match(row) or (_ROW.match(row) if table else None)
        if found is None:
            table = table and bool(row)
            if found is None and section.ran("pip list", "pip3 list") and (found := _ROW.match(row)) is None:
                continue
        if found is None:
            continue
        name, version = found.group(1).lower().replace("_", "-"), found.group(2).replace("%2B", "+")
        yield number, "package", (name, version)
        fact = _FACTS.get(name)
        if fact is not None:
            yield number, fact, version
        if name == "torch" and (build := re.search(r"\+cu(\d{2})(\d{1,2})$", version)) is not None:
            yield number, "torch_cuda", f"{build.group(1)}.{build.group(2)}"

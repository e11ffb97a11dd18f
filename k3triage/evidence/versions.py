"""`vllm --version`, `nvcc --version`, and versions printed by `python -c`."""

import re
from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.lazy import lazy

KIND = "version"
_VERSION = lazy(r"v?(\d+\.\d+(?:\.\d+)?[\w.+]{0,80})$")
_BARE = lazy(r"(?:vllm )?v?(\d+\.\d+\.(?:\d+|dev)[\w.+]{0,80})$")
_NVCC = lazy(r"Cuda compilation tools, release (\d+\.\d+)")
_MISSING = lazy(r"(?:\S+: )?(?:line \d+: )?vllm: (?:command )?not found|ModuleNotFoundError: No module named '(\w+)'")
_TUPLE = lazy(r"\((\d{1,3}), (\d{1,3})(?:, (\d{1,3}))?\)$")
_PRINTED = (
    ("vllm", lazy(r"vllm\.__version__|\bvllm (?:\S{1,300} )?--version")),
    ("torch", lazy(r"torch\.__version__")),
    ("torch_cuda", lazy(r"torch\.version\.cuda")),
    ("nccl", lazy(r"torch\.cuda\.nccl\.version\(\)")),
    ("transformers", lazy(r"transformers\.__version__")),
    ("flashinfer", lazy(r"flashinfer\.__version__")),
    ("triton", lazy(r"triton\.__version__")),
)
_TORCH = lazy(r"\d+\.\d+\.\d+(?:\w*)?\+(?:cu\d{2,4}|cpu|rocm[\d.]+)$")


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """vllm, torch, torch_cuda ("none" for a build without CUDA), nccl, transformers, nvcc, missing_module."""
    for number, row in section.rows:
        if found := _NVCC.match(row):
            yield number, "nvcc", found.group(1)
    if section.command is not None:
        yield from _printed(section, section.command)
    elif len([row for _, row in section.rows if row]) <= 60:
        yield from _alone(section)


def _printed(section: Section, command: str) -> Iterator[tuple[int, str, object]]:
    """Versions in the order in which the command names them; the log lines of an import may stand before them."""
    asked = sorted((found.start(), name) for name, pattern in _PRINTED if (found := pattern.search(command)))
    if not asked:
        return
    values = []
    for number, row in section.rows:
        if missing := _MISSING.match(row):
            yield number, "missing_module", missing.group(1) or "vllm"
        for text in row.split() if len(asked) > 1 and len(row.split()) == len(asked) else [row]:
            if (found := _VERSION.match(text)) is not None:
                values.append((number, found.group(1)))
        if row == "None":
            values.append((number, "none"))
        elif numbers := _TUPLE.match(row):
            values.append((number, ".".join(part for part in numbers.groups() if part)))
    if "--version" in command:  # the last line is the version; a command gives one
        values = values[-1:]
    yield from ((number, name, value) for (_, name), (number, value) in zip(asked, values, strict=False))


def _alone(section: Section) -> Iterator[tuple[int, str, object]]:
    """A whole input that ends in a version: what `vllm --version > file` or a print of torch's versions leaves."""
    rows = [(number, row) for number, row in section.rows if row]
    if not rows:
        return
    number, last = rows[-1]
    before = rows[-2][1] if len(rows) > 1 else ""
    if _TORCH.match(last):
        yield number, "torch", last
    elif _TORCH.match(before) and re.fullmatch(r"\d{1,2}\.\d{1,2}|None", last):
        yield rows[-2][0], "torch", before
        yield number, "torch_cuda", last.lower()
    elif (found := _BARE.match(last)) is not None and all(_import_line(row) for _, row in rows[:-1]):
        yield number, "vllm", found.group(1)


def _import_line(row: str) -> bool:
    """Lines that importing vLLM prints before its version."""
    return re.match(r"(?:INFO|WARNING|DEBUG) \d\d-\d\d |\S{0,200}: \w*Warning: |\s|(?:W|I)\d{4} ", row) is not None

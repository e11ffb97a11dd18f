"""MkDocs hook: makes the pages of causes, codes and overlaps from the rule files while the site is built."""

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from k3triage.overlaps import overlaps
from k3triage.rules import load_pack
from k3triage.rules.codes import KINDS, entries
from k3triage.rules.pack import Pack
from k3triage.rules.schema import Cause

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "container": "Container: image, runtime, mounts, devices, Kubernetes",
    "cuda": "CUDA: driver, runtime, visible GPUs",
    "gpu_kernel": "GPU kernels: missing, not buildable, crashing",
    "hardware": "Hardware: ECC, NVLink, bus, Xid",
    "dependency": "Dependencies: libraries, versions, architectures",
    "config": "Configuration: launch arguments, environment, ports",
    "model": "Model: weights, configuration and tokenizer files",
    "startup_oom": "GPU memory before the server is ready",
    "inference_oom": "GPU memory while requests run",
    "host_oom": "Memory of the host",
    "nccl": "NCCL, RDMA, gloo, stores, all-to-all",
    "prefix_cache": "Prefix cache: off or never hit",
    "unknown": "Failures whose cause the line does not tell",
    "none": "Harmless lines and echoes",
}
# Conditions of a signature that a page shows.
_LISTS = ("levels", "phases", "needs", "unless")
_SINGLE = ("since", "until", "frames", "raised_in", "raised", "header")
KIND_TITLES = {
    "xid": "Xid codes of the NVIDIA driver",
    "cuda": "CUDA errors (cudaError, CUresult)",
    "nccl": "Results of NCCL",
    "nvml": "NVML return codes",
    "errno": "errno",
    "exit": "Exit codes",
    "signal": "Signals",
    "reason": "Reasons of Docker and Kubernetes",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    pack = load_pack()
    causes = pack.causes()
    for name, text in (*_cause_pages(causes), *_code_pages(), *_other_pages(pack, causes)):
        files.append(File.generated(config, name, content=text))
    return files


def escape(text: str) -> str:
    """Plain text as Markdown: only what stands in backticks is set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text.replace("`", "'")]
    plain = [re.sub(r"([\\*_\[\]#|~$])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2]]
    code = [f"`{part}`".replace("|", "\\|") for part in parts[1::2]]
    return "".join(a + b for a, b in zip(plain, [*code, ""], strict=True))


def fenced(text: str, language: str, indent: str = "") -> str:
    """A code block that no content can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    lines = [fence + language, *text.strip("\n").split("\n"), fence]
    return "\n".join(indent + line for line in lines)


def page_name(cause: Cause) -> str:
    """A cause's page, from the root of the site."""
    return f"causes/{cause.layer}/{cause.id}.md"


def cause_page(cause: Cause) -> str:
    """The page of one cause."""
    tags = [f"layer {cause.layer}", f"phase {cause.phase.value}" if cause.phase else "", cause.status, cause.confidence]
    # A page of 600 has no place in the navigation.
    out = [
        "---",
        "hide: [navigation]",
        "---",
        "",
        f"# {escape(cause.title)}",
        "",
        f"`{cause.id}` · " + escape(" · ".join(tag for tag in tags if tag)),
        "",
    ]
    out += [escape(cause.means), "", f'!!! warning "Does not mean"\n    {escape(cause.not_means)}', ""]
    if cause.example:
        out += ["## Looks like", ""]
        out += [part for example in cause.example for part in (fenced(example.text, "text"), "")]
    if cause.step:
        out += ["## Do", ""]
        for number, step in enumerate(cause.step, 1):
            notes = [escape(step.because)] if step.because else []
            notes += [f"only if `{' and '.join(step.when)}`"] if step.when else []
            said = f" ({'; '.join(notes)})" if notes else ""
            out.append(f"{number}. {escape(step.action)}{said} [source]({step.source}), read {step.checked}")
            out += ["", fenced(step.command, "sh", "    "), ""] if step.command else [""]
    if cause.check:
        out += ["## Make sure", ""]
        for check in cause.check:
            out += [f"- {escape(check.what)}", ""]
            out += [fenced(check.command, "sh", "    "), ""] if check.command else []
    if cause.avoid:
        out += ["## Do not", "", *(f"- {escape(item.action)}: {escape(item.because)}" for item in cause.avoid), ""]
    if cause.missing:
        out += ["## Bring along", ""]
        for item in cause.missing:
            out += [f"- {escape(item.what)}: {escape(item.because)}", ""]
            out += [fenced(item.command, "sh", "    "), ""] if item.command else []
    if cause.lookalike:
        out += ["## Not to be confused with", ""]
        for other in cause.lookalike:
            out += [f"{other.because[:1].upper()}{escape(other.because[1:])}:", "", fenced(other.text, "text"), ""]
    out += ["## Found by", "", "| role | words | pattern | only if |", "| --- | --- | --- | --- |"]
    for row in cause.signature:
        words = row.anchor or f"{row.fact} = {row.equals}"
        terms = [f"{name}: {', '.join(getattr(row, name))}" for name in _LISTS if getattr(row, name)]
        terms += [f"{name} {getattr(row, name)}" for name in _SINGLE if getattr(row, name)]
        out.append(f"| {row.role} | {cell(words)} | {cell(row.pattern)} | {cell('; '.join(terms))} |")
    sources = dict.fromkeys([*cause.sources, *(step.source for step in cause.step)])
    out += ["", "## Sources", "", *(f"- <{source}>" for source in sources), ""]
    return "\n".join(out)


def cell(text: str | None) -> str:
    """Literal text in a cell of a table."""
    if not text:
        return ""
    shown = re.sub(r"[*_`~|\[\]\\]", lambda found: f"&#{ord(found.group())};", html.escape(text, quote=False))
    return f"<code>{shown}</code>"


def _cause_pages(causes: list[Cause]) -> Iterator[tuple[str, str]]:
    by_layer: dict[str, list[Cause]] = defaultdict(list)
    for cause in causes:
        by_layer[str(cause.layer)].append(cause)
        yield page_name(cause), cause_page(cause)
    total = sum(len(group) for group in by_layer.values())
    index = ["# Causes", "", f"{total} causes, by layer.", "", "| layer | causes |", "| --- | --- |"]
    for layer, title in LAYERS.items():
        group = by_layer.get(layer, [])
        index.append(f"| [{title}]({layer}/index.md) | {len(group)} |")
        rows = [f"| [{escape(cause.title)}]({cause.id}.md) | `{cause.id}` |" for cause in group]
        yield f"causes/{layer}/index.md", "\n".join([f"# {title}", "", "| cause | id |", "| --- | --- |", *rows, ""])
    yield "causes/index.md", "\n".join([*index, ""])


def _code_pages() -> Iterator[tuple[str, str]]:
    index = ["# Codes", "", "`k3triage explain KIND CODE` prints one of them.", ""]
    for kind in KINDS:
        rows = entries(kind)
        title = KIND_TITLES[kind]
        index.append(f"- [{title}]({kind}.md): {len(rows)}")
        out = [f"# {title}", "", "| code | name | meaning | layer | do |", "| --- | --- | --- | --- | --- |"]
        for row in rows:
            name = "" if row.name == row.code else cell(row.name)
            out.append(
                f"| {escape(row.code)} | {name} | {escape(row.meaning)} | {escape(row.layer)} | {escape(row.action)} |"
            )
        dates = {row.source: row.checked for row in rows}
        out += ["", "Sources:", "", *(f"- <{source}>, compared on {day}" for source, day in dates.items()), ""]
        yield f"codes/{kind}.md", "\n".join(out)
    yield "codes/index.md", "\n".join([*index, ""])


def _other_pages(pack: Pack, causes: list[Cause]) -> Iterator[tuple[str, str]]:
    pages = {cause.id: page_name(cause) for cause in causes}
    out = [
        "# Overlaps",
        "",
        "Pairs of causes that match one line of the rule files' own examples, and what decides between them "
        '([how causes are chosen](choosing.md)). "condition" stands for phase, stack, facts and the like.',
        "",
        "| wins | over | by |",
        "| --- | --- | --- |",
    ]
    for found in overlaps(pack):
        winner, loser = (
            f"[{escape(found.winner)}]({pages[found.winner]})",
            f"[{escape(found.loser)}]({pages[found.loser]})",
        )
        out.append(f"| {winner} | {loser} | {found.decided_by or 'nothing'} |")
    yield "overlaps.md", "\n".join([*out, ""])
    yield "contributing.md", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Cause.model_json_schema()}
    yield "assets/rule.schema.json", json.dumps(schema, indent=2)
    yield "assets/causes.js", search_data(causes)


def search_data(causes: list[Cause]) -> str:
    """Signatures for the search by a line, as a script: a page opened from a disk may not fetch JSON."""
    rows = []
    for cause in causes:
        if cause.status == "retired":
            continue
        for row in cause.signature:
            if not row.anchor or row.role == "context":
                continue
            pattern, flags = javascript(row.pattern)
            rows.append(
                {
                    "cause": cause.id,
                    "title": cause.title,
                    "page": page_name(cause).removesuffix(".md") + ".html",
                    "role": row.role,
                    "anchor": row.anchor,
                    "pattern": pattern,
                    "flags": flags,
                    "precedence": row.precedence,
                }
            )
    return "const K3_CAUSES = " + json.dumps(rows, separators=(",", ":")).replace("</", "<\\/") + ";\n"


def javascript(pattern: str | None) -> tuple[str | None, str]:
    """A pattern and its flags in JavaScript's dialect."""
    if pattern is None:
        return None, ""
    flags = ""
    if found := re.match(r"\(\?([a-z]+)\)", pattern):
        flags, pattern = "".join(flag for flag in found.group(1) if flag in "ims"), pattern[found.end() :]
    return pattern.replace("(?P<", "(?<").replace(r"\Z", "$"), flags

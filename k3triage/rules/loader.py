"""Finds, reads and compiles rule files.

Reading several hundred TOML files takes half a second, so the compiled form is kept in the user's cache folder under a
key of the files' names, sizes and times. Texts stay in their files.
"""

import functools
import os
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from k3triage.cache import load_or_make
from k3triage.errors import RulePackError
from k3triage.model.anchors import Anchor
from k3triage.rules.links import thaw_links
from k3triage.rules.pack import RULES_VERSION, CauseInfo, FrameRule, Marker, Pack, Signature

if TYPE_CHECKING:
    from k3triage.rules.schema import Cause

ROOT = Path(__file__).parent
_FORMAT = "4"
_FIELDS = (
    "role",
    "anchor",
    "pattern",
    "levels",
    "phases",
    "frames",
    "header",
    "needs",
    "unless",
    "since",
    "until",
    "fact",
    "equals",
    "at",
    "precedence",
)


def rule_files(folder: Path) -> list[Path]:
    """Every .toml file below a folder, in a stable order. RulePackError where there is none."""
    if not folder.is_dir():
        raise RulePackError(f"{folder}: no such folder of rules")
    files = sorted(path for path in folder.rglob("*.toml") if path.is_file())
    if not files:
        raise RulePackError(f"{folder}: holds no rule file (*.toml)")
    return files


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. RulePackError with file, line and column where it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulePackError(f"{path}: {error}") from None


def read_cause(path: Path) -> "Cause":
    """A rule file, checked against the schema. RulePackError names the file and the first field that is wrong."""
    from pydantic import ValidationError

    from k3triage.rules.schema import Cause

    try:
        return Cause.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RulePackError(f"{path}: {where}: {first['msg']}") from None


def _read_page(path: str) -> "Cause":
    return read_cause(Path(path))


def load_pack(extra: Sequence[Path] = ()) -> Pack:
    """The shipped pack, with the rule folders of a user added.

    Raises RulePackError for a file that is not valid, and where two files have one id.
    """
    return _load(tuple(str(Path(folder).resolve()) for folder in extra))


@functools.lru_cache(maxsize=4)
def _load(extra: tuple[str, ...]) -> Pack:
    causes = rule_files(ROOT / "causes")
    for folder in extra:
        causes += rule_files(Path(folder))
    markers = rule_files(ROOT / "markers")
    key = "\n".join([_FORMAT, RULES_VERSION, *_stamps([*causes, *markers, ROOT / "links.toml"])])
    compiled = load_or_make("pack", key, lambda: orjson.dumps(_compile(causes, markers)))
    return _thaw(orjson.loads(compiled))


def _stamps(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        status = os.stat(path)  # noqa: PTH116 - Path.stat() costs twice as much and this runs at every start
        yield f"{path}:{status.st_size}:{status.st_mtime_ns}"


def _compile(causes: Sequence[Path], markers: Sequence[Path]) -> dict[str, Any]:
    infos: dict[str, dict[str, Any]] = {}
    signatures: list[dict[str, Any]] = []
    for path in causes:
        cause = read_cause(path)
        if cause.id in infos:
            raise RulePackError(f"cause {cause.id} stands in two files: {infos[cause.id]['file']} and {path}")
        infos[cause.id] = {
            "id": cause.id,
            "title": cause.title,
            "layer": str(cause.layer),
            "phase": cause.phase,
            "phase_is_fixed": cause.phase_is_fixed,
            "confidence": cause.confidence,
            "decision": cause.decision,
            "file": str(path),
        }
        if cause.status == "retired":
            continue
        for index, signature in enumerate(cause.signature):
            entry = {name: getattr(signature, name) for name in _FIELDS}
            signatures.append({"cause": cause.id, "layer": str(cause.layer), "index": index, **entry})
    tables: dict[str, list[dict[str, Any]]] = {"marker": [], "frame": [], "anchor": [], "common": []}
    for path in markers:
        content = read_toml(path)
        for name, table in tables.items():
            table.extend({key: value for key, value in row.items() if key != "note"} for row in content.get(name, []))
    links = read_links(ROOT / "links.toml", infos)
    return {"infos": list(infos.values()), "signatures": signatures, "links": links, **tables}


def read_links(path: Path, causes: Collection[str]) -> dict[str, Any]:
    """The causal model, checked. RulePackError where it is not valid or names a cause that is not among `causes`."""
    from pydantic import ValidationError

    from k3triage.rules.links_schema import LinksFile

    content = read_toml(path)
    try:
        unknown = sorted(LinksFile.model_validate(content).causes().difference(causes))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RulePackError(f"{path}: {where}: {first['msg']}") from None
    if unknown:
        raise RulePackError(f"{path}: names causes that no file defines: {', '.join(unknown)}")
    return content


def _thaw(data: dict[str, Any]) -> Pack:
    signatures = []
    for row in data["signatures"]:
        for name in ("levels", "phases", "needs", "unless"):
            row[name] = tuple(row[name])
        row["anchor"] = row["anchor"] or ""
        signatures.append(Signature(**row))
    return Pack(
        version=RULES_VERSION,
        signatures=signatures,
        infos={row["id"]: CauseInfo(**row) for row in data["infos"]},
        markers=[Marker(**row) for row in data["marker"]],
        frames=sorted((FrameRule(**row) for row in data["frame"]), key=lambda frame: -frame.priority),
        generic_anchors=[Anchor(row["literal"].encode("ascii"), row["kind"], False) for row in data["anchor"]],
        common=frozenset(row["literal"] for row in data["common"]),
        pages=functools.lru_cache(maxsize=512)(_read_page),
        links=thaw_links(data["links"]),
    )

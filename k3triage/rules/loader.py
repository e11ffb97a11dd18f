"""Finds, reads and compiles rule files.

Reading several hundred TOML files takes half a second, so the compiled form is kept in the user's cache folder under a
key of the files' names, sizes and times: one part for the shipped pack, one for each folder added, so that a change of
a user's rule compiles that folder alone. Texts stay in their files.
"""

import functools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from k3triage.cache import load_or_make
from k3triage.errors import RulePackError
from k3triage.model.anchors import Anchor
from k3triage.rules.installed import installed_packs
from k3triage.rules.links import thaw_links
from k3triage.rules.pack import RULES_VERSION, CauseInfo, FrameRule, Marker, Pack, Signature
from k3triage.rules.source import Problem, read_source, read_toml, schema_problems

if TYPE_CHECKING:
    from k3triage.rules.schema import Cause

ROOT = Path(__file__).resolve().parent
_FORMAT = "5"
_FIELDS = (
    "role",
    "anchor",
    "pattern",
    "levels",
    "phases",
    "frames",
    "raised_in",
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


def rule_files(place: Path) -> list[Path]:
    """Every .toml file below a folder in a stable order, or the one file named. RulePackError where there is none."""
    if place.is_file() and place.suffix == ".toml":
        return [place]
    if not place.is_dir():
        raise RulePackError(f"{place}: no such folder of rules, and no .toml file")
    files = sorted(path for path in place.rglob("*.toml") if path.is_file())
    if not files:
        raise RulePackError(f"{place}: holds no rule file (*.toml)")
    return files


def read_cause(path: Path) -> "Cause":
    """A rule file, checked against the schema. RulePackError names the first thing that is wrong, and where."""
    from pydantic import ValidationError

    from k3triage.rules.schema import FIELDS

    try:
        return _checked(path)
    except ValidationError as error:
        raise RulePackError(str(next(schema_problems(read_source(path), error, FIELDS)))) from None


def cause_problems(path: Path) -> Iterator[Problem]:
    """All that the schema says against a rule file. RulePackError where it is not even TOML."""
    from pydantic import ValidationError

    from k3triage.rules.schema import FIELDS

    try:
        _checked(path)
    except ValidationError as error:
        yield from schema_problems(read_source(path), error, FIELDS)


def _checked(path: Path) -> "Cause":
    from k3triage.rules.schema import Cause

    return Cause.model_validate(read_toml(path))


def _read_page(path: str) -> "Cause":
    return read_cause(Path(path))


def load_pack(extra: Sequence[Path] = ()) -> Pack:
    """The shipped pack with those of installed distributions, and a user's rule folders or files added.

    Raises RulePackError for a file that is not valid, and where two files have one id.
    """
    places = [*installed_packs(), *(Path(place).resolve() for place in extra)]
    return _load(tuple(str(place) for place in places))


@functools.lru_cache(maxsize=4)
def _load(extra: tuple[str, ...]) -> Pack:
    shipped = rule_files(ROOT / "causes")
    markers = rule_files(ROOT / "markers")
    data = _kept("pack", [*shipped, *markers, ROOT / "links.toml"], lambda: _compile_shipped(shipped, markers))
    known = set(shipped)
    infos = {row["id"]: row for row in data["infos"]}
    for place in extra:
        # A part of the shipped pack may be named too, to check it alone.
        own = [path for path in rule_files(Path(place)) if path not in known]
        if not own:
            continue
        known.update(own)
        more = _kept("rules", own, lambda own=own: _compile(own))  # type: ignore[misc]
        for row in more["infos"]:
            _refuse_twice(infos, row)
        data["infos"] += more["infos"]
        data["signatures"] += more["signatures"]
    return _thaw(data)


def _kept(name: str, files: Sequence[Path], make: Callable[[], dict[str, Any]]) -> Any:
    key = "\n".join([_FORMAT, RULES_VERSION, *_stamps(files)])
    return orjson.loads(load_or_make(name, key, lambda: orjson.dumps(make())))


def _stamps(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        status = os.stat(path)  # noqa: PTH116 - Path.stat() costs twice as much and this runs at every start
        yield f"{path}:{status.st_size}:{status.st_mtime_ns}"


def _refuse_twice(infos: dict[str, dict[str, Any]], row: dict[str, Any]) -> None:
    other = infos.setdefault(row["id"], row)
    if other is not row:
        raise RulePackError(f"cause {row['id']} stands in two files: {other['file']} and {row['file']}")


def _compile(causes: Sequence[Path]) -> dict[str, Any]:
    infos: dict[str, dict[str, Any]] = {}
    signatures: list[dict[str, Any]] = []
    for path in causes:
        cause = read_cause(path)
        row = {
            "id": cause.id,
            "title": cause.title,
            "layer": str(cause.layer),
            "phase": cause.phase,
            "phase_is_fixed": cause.phase_is_fixed,
            "confidence": cause.confidence,
            "decision": cause.decision,
            "file": str(path),
            "crash": cause.crash,
        }
        _refuse_twice(infos, row)
        if cause.status == "retired":
            continue
        for index, signature in enumerate(cause.signature):
            entry = {name: getattr(signature, name) for name in _FIELDS}
            signatures.append({"cause": cause.id, "layer": str(cause.layer), "index": index, **entry})
    return {"infos": list(infos.values()), "signatures": signatures}


def _compile_shipped(causes: Sequence[Path], markers: Sequence[Path]) -> dict[str, Any]:
    tables: dict[str, list[dict[str, Any]]] = {"marker": [], "frame": [], "anchor": [], "common": []}
    for path in markers:
        content = read_toml(path)
        for name, table in tables.items():
            table.extend({key: value for key, value in row.items() if key != "note"} for row in content.get(name, []))
    compiled = _compile(causes)
    links = read_links(ROOT / "links.toml", {row["id"] for row in compiled["infos"]})
    return {**compiled, "links": links, **tables}


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
        pages=functools.lru_cache(maxsize=1024)(_read_page),
        links=thaw_links(data["links"]),
    )

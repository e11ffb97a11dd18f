"""Finds, reads and compiles rule files.

Reading several hundred TOML files takes half a second, so the compiled form is kept in the user's cache folder under a
key of the files' names, sizes and times: one part for the shipped pack, one for each folder added, so that a change of
a user's rule compiles that folder alone. A wheel brings the compiled form of its own pack along (see `compiled`).
"""

import functools
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3triage.cache import load_or_make
from k3triage.errors import RulePackError
from k3triage.model.anchors import Anchor
from k3triage.rules.compiled import (
    ROOT,
    RULES_VERSION,
    Pages,
    kept_pack,
    key,
    pack_up,
    packaged,
    shipped_files,
    shipped_key,
    unpack,
)
from k3triage.rules.cover import HEALTHY, choose
from k3triage.rules.installed import installed_packs
from k3triage.rules.links import thaw_links
from k3triage.rules.pack import CauseInfo, FrameRule, Marker, Pack, Signatures
from k3triage.rules.source import Problem, read_source, read_toml, schema_problems

if TYPE_CHECKING:
    from k3triage.rules.schema import Cause


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
    from k3triage.model.base import ValidationError
    from k3triage.rules.schema import FIELDS

    try:
        return _checked(path)
    except ValidationError as error:
        raise RulePackError(str(next(schema_problems(read_source(path), error, FIELDS)))) from None


def cause_problems(path: Path) -> Iterator[Problem]:
    """All that the schema says against a rule file. RulePackError where it is not even TOML."""
    from k3triage.model.base import ValidationError
    from k3triage.rules.schema import FIELDS

    try:
        _checked(path)
    except ValidationError as error:
        yield from schema_problems(read_source(path), error, FIELDS)


def _checked(path: Path) -> "Cause":
    from k3triage.rules.schema import Cause

    return Cause.model_validate(read_toml(path))


def load_pack(extra: Sequence[Path] = ()) -> Pack:
    """The shipped pack with those of installed distributions, and a user's rule folders or files added.

    Raises RulePackError for a file that is not valid, and where two files have one id.
    """
    places = [*installed_packs(), *(Path(place).resolve() for place in extra)]
    return _load(tuple(str(place) for place in places))


@functools.lru_cache(maxsize=4)
def _load(extra: tuple[str, ...]) -> Pack:
    data, texts = shipped_pack()
    pages = Pages(texts)
    data = {**data, "infos": [{**row, "file": f"{ROOT}/{row['file']}"} for row in data["infos"]]}
    known = {row["file"] for row in data["infos"]}
    infos = {row["id"]: row for row in data["infos"]}
    for place in extra:
        # A part of the shipped pack may be named too, to check it alone.
        own = [path for path in rule_files(Path(place)) if str(path) not in known]
        if not own:
            continue
        known.update(map(str, own))
        more, texts = _kept("rules", own, lambda own=own: _compile(own))  # type: ignore[misc]
        pages.update(texts)
        for row in more["infos"]:
            _refuse_twice(infos, row)
        data["infos"] += more["infos"]
        data["signatures"] = data["signatures"] + [{**row, "foreign": True} for row in more["signatures"]]
        # A user's rules are few, and their examples were not asked.
        own_anchors = {row["anchor"] for row in more["signatures"] if row.get("anchor")}
        data["cover"] = data["cover"] + sorted(a for a in own_anchors if not any(short in a for short in data["cover"]))
    return _thaw(data, pages)


# What is wrong there keeps a server from starting, or is an echo.
_EARLY = frozenset(("config", "dependency", "model", "container", "startup_oom", "unknown"))


@functools.cache
def shipped_pack() -> tuple[dict[str, Any], Pages]:
    """The shipped pack in its compiled form, and its pages; files are named relative to the folder of this module."""
    return packaged() or unpack(kept_pack() or load_or_make("pack", shipped_key(), compile_pack))


def compile_pack() -> bytes:
    """The shipped pack compiled anew, as a wheel brings it along (behind `compiled.stamp`)."""
    paths = [ROOT / name for name, _ in shipped_files()]
    causes = [path for path in paths if path.is_relative_to(ROOT / "causes")]
    return pack_up(*_compile_shipped(causes, [path for path in paths if path.is_relative_to(ROOT / "markers")]))


def _kept(
    name: str, files: Sequence[Path], make: Callable[[], tuple[dict[str, Any], dict[str, bytes]]]
) -> tuple[dict[str, Any], Pages]:
    return unpack(load_or_make(name, key([str(path) for path in files]), lambda: pack_up(*make())))


def _refuse_twice(infos: dict[str, dict[str, Any]], row: dict[str, Any]) -> None:
    other = infos.setdefault(row["id"], row)
    if other is not row:
        raise RulePackError(f"cause {row['id']} stands in two files: {other['file']} and {row['file']}")


def _compile(causes: Sequence[Path], root: Path | None = None) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The compiled form of rule files and their pages as JSON by id; files are named relative to `root`."""
    infos: dict[str, dict[str, Any]] = {}
    pages: dict[str, bytes] = {}
    examples: list[str] = []
    prose: list[str] = []
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
            "file": str(path.relative_to(root) if root else path),
            "crash": cause.crash,
        }
        _refuse_twice(infos, row)
        pages[cause.id] = cause.model_dump_json(exclude_defaults=True, exclude={"example", "lookalike"}).encode()
        if cause.status == "retired":
            continue
        prose += [cause.means, cause.not_means, *(step.action for step in cause.step)]
        if any(signature.role not in ("benign", "context") for signature in cause.signature):
            examples += [example.text for example in cause.example]
        for index, signature in enumerate(cause.signature):
            # What is left at its default is left out: every start reads all of them.
            entry = {
                name: value for name, value in signature.model_dump(exclude_defaults=True).items() if name != "note"
            }
            signatures.append(
                {"cause": cause.id, "layer": str(cause.layer), "role": signature.role, "index": index, **entry}
            )
    return {"infos": list(infos.values()), "signatures": signatures, "texts": [examples, prose]}, pages


def _compile_shipped(causes: Sequence[Path], markers: Sequence[Path]) -> tuple[dict[str, Any], dict[str, bytes]]:
    tables: dict[str, list[dict[str, Any]]] = {"marker": [], "frame": [], "anchor": [], "common": []}
    for path in markers:
        content = read_toml(path)
        for name, table in tables.items():
            table.extend({key: value for key, value in row.items() if key != "note"} for row in content.get(name, []))
    compiled, pages = _compile(causes, ROOT)
    links = read_links(ROOT / "links.toml", {row["id"] for row in compiled["infos"]})
    examples, prose = compiled.pop("texts")
    compiled["cover"] = _cover({**compiled, **tables, "cover": [], "links": links}, examples, "\n".join(prose))
    policies = {path.stem: read_toml(path) for path in sorted((ROOT / "policies").glob("*.toml"))}
    return {**compiled, "links": links, "policies": policies, **tables}, pages


def _cover(data: dict[str, Any], examples: Sequence[str], prose: str) -> list[str]:
    """The hitting set of the shipped pack (see `cover`)."""
    pack = _thaw(data, Pages())
    required = [row["literal"] for row in data["anchor"] if row["kind"] == "fault"]
    required += [row["anchor"] for row in data["marker"] if row["event"] in ("start", "stop", "end")]
    faults = [anchor.literal.decode() for anchor in pack.anchors if anchor.kind == "fault"]
    needs = [
        [literal for literal in faults if literal in text]
        for text in examples
        if not any(literal in text for literal in required)
    ]
    everywhere = [row["literal"] for row in data["anchor"] if row.get("everywhere")]
    return choose(required, sorted(_late(data)), needs, faults, HEALTHY.read_text(encoding="utf-8"), prose) + everywhere


def _late(data: dict[str, Any]) -> set[str]:
    """Anchors of what may break a server that has been up for long: beyond the start of a long log they must count."""
    late = {row["id"] for row in data["infos"] if row["phase"] in (None, "serving") and row["layer"] not in _EARLY}
    return {
        row["anchor"]
        for row in data["signatures"]
        if row["cause"] in late and row["role"] == "root" and row.get("anchor")
    }


def read_links(path: Path, causes: Collection[str]) -> dict[str, Any]:
    """The causal model, checked. RulePackError where it is not valid or names a cause that is not among `causes`."""
    from k3triage.model.base import ValidationError
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


def _thaw(data: dict[str, Any], pages: Pages) -> Pack:
    def page(cause: str) -> "Cause":
        from k3triage.rules.schema import Cause

        return Cause.model_validate(json.loads(bytes(pages[cause])))

    return Pack(
        version=RULES_VERSION,
        signatures=Signatures(data["signatures"]),
        infos={row["id"]: CauseInfo(**row) for row in data["infos"]},
        markers=[Marker(**row) for row in data["marker"]],
        frames=sorted((FrameRule(**row) for row in data["frame"]), key=lambda frame: -frame.priority),
        generic_anchors=[Anchor(row["literal"].encode("ascii"), row["kind"], False) for row in data["anchor"]],
        common=frozenset(row["literal"] for row in data["common"]),
        pages=functools.lru_cache(maxsize=1024)(page),
        links=thaw_links(data["links"]),
        cover=tuple(literal.encode("ascii") for literal in data["cover"]),
    )

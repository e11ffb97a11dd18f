"""`k3triage rules list|test|overlaps|schema|new`: the rule pack."""

import argparse
import json
from pathlib import Path

from k3triage.cli.terminal import message, write
from k3triage.errors import RulePackError, UsageError
from k3triage.report.clean import clean, clean_lines

INVALID = RulePackError.exit_code


def _list(options: argparse.Namespace) -> int:
    from k3triage.model.enums import Layer
    from k3triage.rules import load_pack

    layers = [layer.value for layer in Layer] + ["none"]
    if options.layer is not None and options.layer not in layers:
        raise UsageError(f"no layer is called {options.layer}; there are {', '.join(layers)}")
    pack = load_pack([Path(folder) for folder in options.rules])
    infos = [info for _, info in sorted(pack.infos.items()) if options.layer in (None, info.layer)]
    if options.format == "json":
        rows = [
            {
                "id": i.id,
                "title": i.title,
                "layer": i.layer,
                "phase": i.phase,
                "confidence": i.confidence,
                "file": str(i.file),
            }
            for i in infos
        ]
        write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return 0
    wide = max((len(info.id) for info in infos), default=0)
    write("".join(f"{info.id:{wide}}  {clean(info.title)}\n" for info in infos))
    message(f"{len(infos)} causes, rules {pack.version}")
    return 0


def _test(options: argparse.Namespace) -> int:
    from k3triage.rulecheck import check_pack, check_places
    from k3triage.rules import load_pack

    places = [Path(place) for place in options.places]
    for place in places:
        if not place.exists():
            raise UsageError(f"{place} is neither a folder nor a file")
    problems = list(check_places(places) if places else check_pack(load_pack(())))
    write("".join(f"{line}\n" for problem in problems for line in clean_lines(str(problem))))
    many = "problem" if len(problems) == 1 else "problems"
    message(f"{len(problems)} {many}" if problems else "all rules are valid and win their own examples")
    return INVALID if problems else 0


def _overlaps(options: argparse.Namespace) -> int:
    from k3triage.overlaps import overlaps
    from k3triage.report.clean import cut_middle
    from k3triage.rules import load_pack

    found = overlaps(load_pack([Path(folder) for folder in options.rules]))
    for overlap in found:
        write(f"{overlap.winner} over {overlap.loser}: {overlap.decided_by or 'nothing decides'}\n")
        write(f"    {cut_middle(clean(overlap.text.strip()), 110)}\n")
    undecided = sum(overlap.decided_by is None for overlap in found)
    message(f"{len(found)} overlaps, {undecided} undecided")
    return INVALID if undecided else 0


def _schema(options: argparse.Namespace) -> int:
    from k3triage.rules.schema import Cause

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Cause.model_json_schema()}
    write(json.dumps(schema, indent=2) + "\n")
    return 0


def _new(options: argparse.Namespace) -> int:
    from k3triage.cli.draft import draft
    from k3triage.rulecheck import taken_by
    from k3triage.rules import load_pack

    rule = draft(options.from_line, options.id)
    target = Path(options.output or f"{rule.id.split('.', 1)[1]}.toml")
    if target.exists():
        raise UsageError(f"{target} exists; choose another file with -o, or another --id")
    known = taken_by(options.from_line, load_pack(()))
    write(rule.text, str(target))
    message(f"wrote {target}; fill in what `k3triage rules test {target}` names")
    if known is not None:
        message(f"note: {known} takes this line now: a new rule needs a higher precedence")
    return 0


def command(options: argparse.Namespace) -> int:
    """Run the chosen action; 4 where the checked rules are invalid."""
    actions = {"list": _list, "test": _test, "overlaps": _overlaps, "schema": _schema, "new": _new}
    return actions[options.action](options)

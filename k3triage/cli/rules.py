"""`k3triage rules list|test|schema|new`: the rule pack."""

import argparse
import json
from pathlib import Path

from k3triage.cli.terminal import message, write
from k3triage.errors import RulePackError, UsageError
from k3triage.report.clean import clean

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
    from k3triage.rulecheck import check_folder, check_pack
    from k3triage.rules import load_pack

    if options.folder is not None and not Path(options.folder).is_dir():
        raise UsageError(f"{options.folder} is no folder")
    problems = list(check_pack(load_pack(())) if options.folder is None else check_folder(Path(options.folder)))
    write("".join(f"{clean(str(problem))}\n" for problem in problems))
    message(f"{len(problems)} problems" if problems else "all rules are valid and win their own examples")
    return INVALID if problems else 0


def _schema(options: argparse.Namespace) -> int:
    from k3triage.rules.schema import Cause

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Cause.model_json_schema()}
    write(json.dumps(schema, indent=2) + "\n")
    return 0


def _new(options: argparse.Namespace) -> int:
    from k3triage.cli.draft import draft

    rule = draft(options.from_line, options.id)
    target = Path(options.output or f"{rule.id.split('.', 1)[1]}.toml")
    if target.exists():
        raise UsageError(f"{target} exists; choose another file with -o, or another --id")
    write(rule.text, str(target))
    message(
        f"wrote {target}; fill in every TODO, put it under causes/{rule.id.split('.', 1)[0]}/, "
        "then run: k3triage rules test"
    )
    return 0


def command(options: argparse.Namespace) -> int:
    """Run the chosen action; 4 where the checked rules are invalid."""
    return {"list": _list, "test": _test, "schema": _schema, "new": _new}[options.action](options)

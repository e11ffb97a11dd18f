"""The shape of the source: imports go one way, modules stay small, packages say what they are for."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "k3triage"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
LONGEST = 420

BASE = {"model", "errors", "version", "cache"}
# What each part may import beside itself and BASE (see ARCHITECTURE.md).
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "cache": set(),
    "model": set(),
    "ingest": set(),
    "scan": set(),
    "grammar": set(),
    "rules": set(),
    "evidence": set(),
    "profiles": set(),
    "checks": {"profiles"},
    "report": set(),
    "collect": {"report"},
    "diagnose": {"grammar", "rules", "evidence", "profiles", "checks"},
    "pipeline": {"ingest", "scan", "grammar", "rules", "diagnose", "evidence"},
    "stream": {"pipeline", "ingest", "scan", "rules", "evidence"},
    "slices": {"pipeline", "ingest", "scan", "rules", "evidence"},
    "wire": {"pipeline", "scan", "rules"},
    "laneopen": {"ingest"},
    "lanehead": {"laneopen", "ingest", "grammar"},
    "lanemarks": {"scan"},
    "lanemessage": {"lanehead", "lanemarks", "grammar"},
    "lane": {"laneopen", "lanehead", "lanemarks", "lanemessage", "ingest", "grammar"},
    "rows": {"lane", "ingest", "grammar", "report"},
    "partials": {"pipeline", "slices", "wire", "rules", "diagnose", "scan", "report"},
    "rulecheck": {"pipeline", "diagnose", "rules"},
    "overlaps": {"pipeline", "rules"},
    "pytest_plugin": {"rulecheck", "rules"},
    "api": {
        "ingest",
        "scan",
        "grammar",
        "rules",
        "diagnose",
        "profiles",
        "pipeline",
        "stream",
        "partials",
        "rows",
        "report",
    },
    "integrations": {"api", "partials", "ingest", "profiles", "rules", "report"},
    "cli": {"api", "rows", "collect", "report", "rules", "rulecheck", "overlaps"},
    "__main__": {"cli"},
    "__init__": {"api", "partials"},
}
# Report.to_text and to_markdown are there for a caller's comfort; they load the renderer when they are called.
ALLOWED_LATE = {("model/report.py", "report"), ("model/checks.py", "report")}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """Parts of k3triage that a module imports anywhere, also inside functions and for typing."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module or ""]
            if node.module == "k3triage":
                names = [f"k3triage.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("k3triage.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    own = part(path)
    assert own in MAY_IMPORT, f"say in MAY_IMPORT and ARCHITECTURE.md what {own} may import"
    late = {target for module, target in ALLOWED_LATE if module == path.relative_to(PACKAGE).as_posix()}
    # `__version__` and the like come from the package itself.
    excess = {n for n in imported(path) if n in MAY_IMPORT} - MAY_IMPORT[own] - BASE - {own} - late
    assert not excess, f"{own} must not import {sorted(excess)}"


def test_base_modules_import_nothing_but_the_model() -> None:
    for path in MODULES:
        if part(path) in BASE - {"model"}:
            assert imported(path) == set(), path


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_stay_small_and_say_their_job(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST, f"{text.count(chr(10))} lines: split it by job"
    assert (ast.get_docstring(ast.parse(text)) or "").strip(), "no docstring"


def test_every_folder_with_modules_is_a_package() -> None:
    assert [p for p in {path.parent for path in MODULES} if not (p / "__init__.py").is_file()] == []


def test_no_leftovers() -> None:
    marks = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                assert not marks.search(token.string), f"{path}:{token.start[0]}: {token.string}"
            if token.type == tokenize.NAME:
                assert token.string not in {"breakpoint", "pdb", "NotImplementedError"}, f"{path}:{token.start[0]}"


def test_help_does_not_load_what_it_does_not_need() -> None:
    code = (
        "import sys; from k3triage.cli.main import main; code = main(['--help']);"
        "heavy = {'pydantic', 'lark', 'hyperscan', 'orjson', 'regex'} & set(sys.modules);"
        "print(code, sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stderr.strip() == "0 []"
    assert "exit codes: 0 nothing wrong found" in done.stdout

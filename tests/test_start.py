"""The quick start of the command: the same text without pydantic and dataclasses, and nothing heavy imported."""

import dataclasses
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from k3triage import triage
from k3triage.cli.arguments import parse
from k3triage.cli.main import main
from k3triage.cli.plainwords import COMMANDS, plain_words
from k3triage.model.globs import fits
from k3triage.model.lazy import lazy, made
from k3triage.rules import compiled, load_pack
from k3triage.rules.loader import compile_pack

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "kv-cache-too-small.log"
CASES = sorted(path for path in (ROOT / "fixtures").rglob("*.log") if path.stat().st_size < 200_000)
HEAVY = ("pydantic", "dataclasses", "argparse", "orjson", "lark", "hyperscan", "numpy", "tomllib", "lzma", "bz2")
HEAVY += (
    "email",
    "importlib.metadata",
    "importlib.resources",
    "ipaddress" if sys.version_info >= (3, 13) else "calendar",
)

# One process renders many logs with the plain models; it must be one of its own, since the models stay chosen.
RENDER = """
import sys
from k3triage.model import plain
assert plain.choose()
from k3triage.api import triage
from k3triage.report.text import render_text
for name in sys.argv[1:]:
    sys.stdout.write(render_text(triage(name, jobs=1), color=False, width=100) + chr(0))
assert "pydantic" not in sys.modules
"""


def test_plain_models_print_the_same_report(capsys: pytest.CaptureFixture[str]) -> None:
    load_pack()
    names = [str(path) for path in CASES[:: max(1, len(CASES) // 40)]]
    assert len(names) > 20
    done = subprocess.run([sys.executable, "-c", RENDER, *names], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for name, text in zip(names, done.stdout.split("\0"), strict=False):
        main([name, "--color", "never", "--jobs", "1"])
        assert capsys.readouterr().out == text, name


SMALL = """\
(APIServer pid=1) INFO 07-14 09:00:00 [api_server.py:1912] vLLM API server version 0.27.1
(Worker_TP0 pid=700) INFO 07-14 09:00:01 [gpu_model_runner.py:3021] Starting to load model acme/reasoner-70b
(APIServer pid=1) INFO:     Application startup complete.
(Worker_TP3 pid=703) ERROR 07-14 09:00:00 [multiproc_executor.py:671] Traceback (most recent call last):
(Worker_TP3 pid=703) ERROR 07-14 09:00:00 [multiproc_executor.py:671]   File "/opt/vllm/worker/apply.py", line 7, in f
(Worker_TP3 pid=703) ERROR 07-14 09:00:00 [multiproc_executor.py:671]     return self.apply(*args, **kwargs)
(Worker_TP3 pid=703) ERROR 07-14 09:00:00 [multiproc_executor.py:671] torch.OutOfMemoryError: CUDA out of memory.
"""


def test_a_small_log_imports_nothing_heavy(tmp_path: Path) -> None:
    log = tmp_path / "small.log"
    log.write_text(SMALL)
    code = (
        "import sys; from k3triage.cli.main import main; main([sys.argv[1]], alone=True); "
        "import json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(log)]
    # The first run may have to fill the cache.
    subprocess.run(command, capture_output=True, cwd=ROOT)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    modules = json.loads(done.stderr)
    assert "k3triage.report.text" in modules
    assert not [name for name in HEAVY if name in modules]


def test_other_formats_keep_the_checked_models() -> None:
    command = [sys.executable, "-m", "k3triage", "--format", "sarif", "--exit-zero", str(DEMO)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert json.loads(done.stdout)["version"] == "2.1.0" and "startup_oom.kv_cache_too_small" in done.stdout


@pytest.mark.parametrize("first", [[], ["--format", "json"], ["--format", "text"]])
@pytest.mark.parametrize("inputs", [["a.log"], ["a.log", "b.log"], ["a.log", "events"]])
def test_plain_words_mean_what_the_parser_says(first: list[str], inputs: list[str]) -> None:
    options = plain_words([*first, *inputs])
    assert options is not None
    assert vars(options) == vars(parse([*first, *inputs]))


LEFT = [
    [],
    ["--stats", "a.log"],
    ["a.log", "-"],
    ["--format"],
    ["--format", "json"],
    ["--format", "html", "a.log"],
    ["--format", "json", "--", "a.log"],
    ["a.log", "--format", "json"],
    *([name, "a.log"] for name in COMMANDS),
]


@pytest.mark.parametrize("words", LEFT)
def test_other_command_lines_are_left_to_the_parser(words: list[str]) -> None:
    assert plain_words(words) is None


def test_plain_records_behave_as_dataclasses() -> None:
    from k3triage.model import plainshapes

    for kind in (plainshapes, dataclasses):
        point = _point(kind)
        assert point(1) == point(1, 2) and point(1) != point(2) and hash(point(1)) == hash(point(x=1))
        assert repr(point(3)).endswith("Point(x=3, y=2)")
        with pytest.raises(TypeError):
            point()

    @plainshapes.dataclass
    class Bag(_point(plainshapes)):  # type: ignore[misc]
        items: list[int] = plainshapes.field(default_factory=list)
        note: str = plainshapes.field(default="", compare=False)

    one, two = Bag(1), Bag(1, note="other")
    assert one == two and one.items == [] and one.items is not two.items
    assert plainshapes.replace(one, x=5, items=[1]).items == [1]


def _point(kind: Any) -> Any:
    @kind.dataclass(slots=True, frozen=True)
    class Point:
        x: int
        y: int = 2

    return Point


def test_every_lazy_pattern_compiles() -> None:
    import importlib
    import pkgutil

    import k3triage

    for module in pkgutil.walk_packages(k3triage.__path__, "k3triage."):
        if not module.name.startswith("k3triage.integrations") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert len(made) > 100
    for pattern in made:
        assert pattern.pattern  # type: ignore[attr-defined]


def test_lazy_patterns_work_as_patterns() -> None:
    pattern = lazy(r"(\d+)-(?P<b>x)")
    found = pattern.search("a 12-x")
    assert found is not None and found["b"] == "x"
    assert pattern.sub("_", "1-x 2-x") == "_ _"
    assert pattern.fullmatch("1-x") and not pattern.fullmatch("1-y")
    assert lazy(rb"a", 0).findall(b"aa") == [b"a", b"a"]


@pytest.mark.parametrize(
    ("name", "pattern", "wanted"),
    [
        ("nccl.a", "nccl.*", True),
        ("nccl.a", "nccl.a", True),
        ("nccl.ab", "nccl.a", False),
        ("nccl", "nccl.*", False),
        ("a.b", "*", True),
        ("nccl.ab", "*.ab", True),
        ("nccl.ab", "nccl.?b", True),
        ("x", "[xy]", True),
    ],
)
def test_shell_patterns(name: str, pattern: str, wanted: bool) -> None:
    assert fits(name, pattern) is wanted


def test_the_packaged_pack_counts_only_for_its_own_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packed = compile_pack()
    data, pages = compiled.unpack(packed)
    assert json.loads(bytes(pages["startup_oom.kv_cache_too_small"]))["id"] == "startup_oom.kv_cache_too_small"
    assert len(pages) == len(data["infos"])
    for name in ("causes", "markers", "policies", "tables"):
        (tmp_path / name).symlink_to(compiled.ROOT / name)
    (tmp_path / "links.toml").write_bytes((compiled.ROOT / "links.toml").read_bytes())
    monkeypatch.setattr(compiled, "ROOT", tmp_path)
    for cached in (compiled.shipped_files, compiled.packaged):
        cached.cache_clear()
    try:
        assert compiled.packaged() is None
        (tmp_path / compiled.FILE).write_bytes(compiled.stamp() + packed)
        compiled.packaged.cache_clear()
        found = compiled.packaged()
        assert found is not None and found[0] == data
        (tmp_path / "links.toml").write_text("# changed\n")
        for cached in (compiled.shipped_files, compiled.packaged):
            cached.cache_clear()
        assert compiled.packaged() is None
    finally:
        monkeypatch.undo()
        for cached in (compiled.shipped_files, compiled.packaged, compiled.shipped_key):
            cached.cache_clear()


@pytest.mark.parametrize(
    "name", ["ic-mf-glibc-one-host", "real-gloo-order", "tl-prefix-sglang-radix-off", "real-gen-ok"]
)
def test_json_is_the_same_with_and_without_checked_models(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "fixtures" / "cases" / name)
    inputs = tomllib.loads(Path("expect.toml").read_text())["inputs"]
    load_pack()  # compiled and kept, so that the command may start without the checked models
    command = [sys.executable, "-m", "k3triage", "--format", "json", *inputs]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    wanted = json.loads(triage(*inputs).model_dump_json())
    assert json.loads(printed) == wanted and list(json.loads(printed)) == list(wanted)

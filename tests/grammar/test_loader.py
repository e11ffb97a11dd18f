"""The grammars are found in a wheel's layout, also inside a zip file."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import k3triage
from k3triage.grammar.loader import build, fingerprint, source

PACKAGE = Path(k3triage.__file__).parent
GRAMMARS = PACKAGE.parent / "grammars"


def test_read_out_of_a_zip(tmp_path: Path) -> None:
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in PACKAGE.rglob("*.py"):
            bundle.write(path, Path("k3triage") / path.relative_to(PACKAGE))
        for path in GRAMMARS.glob("*.lark"):
            bundle.write(path, f"k3triage/grammar/grammars/{path.name}")
    code = (
        "from k3triage.grammar import loader, patterns; import k3triage.grammar.patterns as p; "
        "assert '.zip' in p.__file__; print(p.matcher('vllm')('INFO 12-01 00:00:07 [a.py:1] x')['location'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(archive), "K3TRIAGE_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "a.py:1", done.stderr
    assert list((tmp_path / "cache").glob("headers*"))


def test_unknown_grammar() -> None:
    with pytest.raises(FileNotFoundError):
        source("nowhere")


def test_fingerprint_depends_on_the_grammars() -> None:
    assert fingerprint("vllm") != fingerprint("nccl")
    assert fingerprint("vllm", "nccl") == fingerprint("nccl", "vllm", "vllm")


def test_parsers_are_built_once() -> None:
    assert build("vllm", "vllm") is build("vllm", "vllm")

"""What README and CONTRIBUTING show must work as it stands there."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from k3triage.cli.arguments import parse
from k3triage.rules.schema import Cause
from tests.cli.test_command import CAUSE, DEMO, ROOT


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    for name in ("node0.log", "node1.log"):
        (tmp_path / name).write_bytes(DEMO.read_bytes())
    (code,) = blocks("README.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""
    assert "startup_oom node0.log:70" in done.stdout and CAUSE in done.stdout


def test_the_commands_of_the_readme_are_understood() -> None:
    lines = [
        line for block in blocks("README.md", "sh") for line in block.splitlines() if "k3triage" in line.split("#")[0]
    ]
    assert len(lines) >= 8
    for line in lines:
        command = line.split("#")[0].rsplit("|", 1)[-1]
        words = shlex.split(command)
        assert words[0] == "k3triage" and parse(
            [*words[1:], *(["-"] if len(words) == 1 or words[-1] == "--follow" else [])]
        )


def test_the_example_rule_of_contributing_is_valid() -> None:
    text = blocks("CONTRIBUTING.md", "toml")[0]
    rule = Cause.model_validate(tomllib.loads(text))
    signature = rule.signature[0]
    assert signature.pattern is not None
    example = rule.example[0].text.strip().splitlines()
    assert re.search(signature.pattern, example[(rule.example[0].line or 1) - 1])
    assert signature.anchor and signature.anchor not in rule.lookalike[0].text


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for path in set(
        re.findall(r"`((?:k3triage|grammars|fixtures|tests|docs|\.ci)/[\w./-]+|[A-Z]+\.md|LICENSE)`", text)
    ):
        assert (ROOT / path).exists(), path

"""Profiles: shipped ones are valid and dated, a user's own file works the same, mistakes are named."""

import re
from pathlib import Path

import pytest

from k3triage import check, triage
from k3triage.errors import UsageError
from k3triage.model.conditions import FACTS, check_condition
from k3triage.profiles import choose_profile, load_profile, shipped
from tests.checks.samples import log, smi

ROOT = Path(__file__).resolve().parents[2]
OWN = """
name = "small"
title = "A small model"
models = ['small-\\d+b']

[driver]
minimum = "550"
fix = "Upgrade it"
source = "https://example.org/driver"
as_of = "2026-11-01"

[memory]
gb = 100
format = "BF16"
source = "https://example.org/memory"
as_of = "2026-11-01"
"""


def test_shipped_profiles_load() -> None:
    assert shipped() == ["generic", "kimi-k3"]
    for name in shipped():
        assert load_profile(name).name == name


def test_known_issues_and_settings_of_kimi_k3_are_told_apart() -> None:
    profile = load_profile("kimi-k3")
    ids = [issue.id for issue in profile.issue]
    assert len(ids) == len(set(ids))
    assert profile.driver is not None and profile.driver.minimum == "580"
    assert profile.vllm is not None and profile.vllm.minimum == "0.27.1"


@pytest.mark.parametrize("name", ["kimi", "../kimi-k3", "kimi-k3.yaml", "nowhere.toml", "/nowhere/x.toml", ""])
def test_unknown_profiles_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        load_profile(name)
    with pytest.raises(UsageError):
        triage(["x"], profile=name)
    with pytest.raises(UsageError):
        check(["x"], profile=name)


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(OWN)
    report = check(smi("560.35.03", "NVIDIA H200", 1), profile=str(path))
    found = {item.id: (item.state.value, item.source) for item in report.checks}
    assert report.profile == "small"
    assert found["driver.branch"] == ("ok", "https://example.org/driver")
    assert found["gpu.memory"] == ("ok", "https://example.org/memory")
    assert "image.tag" not in found and "prefix.enabled" not in found
    assert check(smi("535.1.1", "NVIDIA L40S", 1), profile=str(path)).violated[0].fix == "Upgrade it"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('as_of = "2026-11-01"', "", "as_of"),
        ('minimum = "550"', 'minimum = "new"', "minimum"),
        ("https://example.org/memory", "a page", "source"),
        ("'small-\\d+b'", "'('", "models"),
        ('format = "BF16"', 'format = "BF16"\nspeed = 3', "speed"),
        ('name = "small"', "name = ", "line 2"),
        ("[memory]", '[[issue]]\nid = "x"\ntitle = "x"\nwhen = ["nonsense = 1"]\ngroup = "gpu_memory"\nfix = "x"\nsource = "https://e.org"\nas_of = "2026-11-01"\n[memory]', "nonsense"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, word: str) -> None:
    path = tmp_path / "own.toml"
    text = OWN.replace(old, new, 1)
    assert text != OWN
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(word)):
        load_profile(str(path))


def test_models_are_known_by_their_names() -> None:
    for name in (
        "moonshotai/Kimi-K3",
        "/data/kimi_k3",
        "RedHatAI/Kimi-K3-NVFP4",
        "KimiK3ForConditionalGeneration",
        "vllm/vllm-openai:kimi-k3",
    ):
        assert choose_profile([name]) == "kimi-k3", name
    for name in ("moonshotai/Kimi-K2-Instruct", "Qwen/Qwen3-Next", "kimi-k30", ""):
        assert choose_profile([name]) is None, name


def test_triage_of_the_model_carries_the_checks() -> None:
    report = triage(log("0.26.0", "moonshotai/Kimi-K3"), smi("570.1.1", "NVIDIA B200", 8))
    states = {item.id: item.state.value for item in report.checks}
    assert report.profile == "kimi-k3" and report.status == "healthy"
    assert states["vllm.version"] == states["driver.branch"] == "violated"
    assert "Prerequisites of kimi-k3 not met: driver.branch" in report.to_text()


def test_triage_of_another_model_has_none() -> None:
    report = triage(log("0.26.0", "Qwen/Qwen3-8B"), smi("570.1.1", "NVIDIA B200", 8))
    assert report.profile is None and report.checks == []
    assert triage(log("0.26.0", "Qwen/Qwen3-8B"), profile="generic").profile == "generic"


def test_violated_prerequisites_stand_beside_the_verdict() -> None:
    broken = [*log("0.26.0", "moonshotai/Kimi-K3"), "ModuleNotFoundError: No module named 'flashinfer'"]
    report = triage(broken)
    assert report.verdict is not None
    assert any("vLLM is 0.27.1 or newer" in reason and "vLLM 0.26.0" in reason for reason in report.verdict.why)


def test_conditions_are_checked() -> None:
    for text in ("vllm < 0.28", "flags.x = 1", "env.NCCL_DEBUG = INFO", "kv_cache_dtype ~ fp8", "multi_node = true"):
        assert check_condition(text) == text
    for text in ("vllm", "frobnicate = 1", "model ~ (", ""):
        with pytest.raises(ValueError):
            check_condition(text)


def test_contributing_lists_every_fact() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert {name: rows.get(name) for name in FACTS} == dict(FACTS)

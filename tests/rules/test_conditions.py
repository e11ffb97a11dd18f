"""Signatures and steps that depend on versions and other facts."""

from pathlib import Path

import pytest

from k3triage.model.report import Report
from k3triage.rulecheck import check_places, triage_text
from k3triage.rules import load_pack
from tests.rules.helpers import STEP, write_rule

LINE = "(EngineCore_DP0 pid=512) ERROR 11-02 08:15:41 [core.py:7] ValueError: the flux capacitor is empty\n"


def start(version: str, **arguments: object) -> str:
    return (
        f"(APIServer pid=211) INFO 11-02 08:15:01 [api_server.py:77] vLLM API server version {version}\n"
        f"(APIServer pid=211) INFO 11-02 08:15:01 [utils.py:233] non-default args: {arguments!r}\n"
    )


def found(text: str, folder: Path) -> str | None:
    report: Report = triage_text(text, load_pack([folder]))
    return report.verdict.cause if report.verdict else None


@pytest.mark.parametrize(
    ("version", "cause"),
    [
        ("0.9.2", "config.flux_old"),
        ("0.10.4", "config.flux_old"),
        ("0.11.0", "config.flux_new"),
        ("0.33.0", "config.flux_new"),
    ],
)
def test_one_wording_with_two_causes_is_told_apart_by_version(tmp_path: Path, version: str, cause: str) -> None:
    write_rule(tmp_path, "config.flux_old", signature='until = "0.10"')
    write_rule(tmp_path, "config.flux_new", signature='since = "0.11"')
    assert found(start(version) + LINE, tmp_path) == cause


@pytest.mark.parametrize("head", ["", start("0.1.dev14+g1a2b3c4d5")], ids=["no version", "built without tags"])
def test_a_log_that_does_not_tell_its_release_passes(tmp_path: Path, head: str) -> None:
    write_rule(tmp_path, signature='since = "0.30"')
    assert found(head + LINE, tmp_path) == "config.flux_capacitor_empty"


def test_shipped_wordings_hold_only_in_their_releases() -> None:
    line = (
        "(EngineCore pid=7) ERROR 11-02 08:15:41 [core.py:7] ValueError: The model's max seq len (9000) is larger than the "
        "maximum number of tokens that can be stored in KV cache (8000). Try increasing `gpu_memory_utilization`.\n"
    )
    pack = load_pack()
    old, new = (triage_text(start(version) + line, pack).verdict for version in ("0.8.5", "0.33.0"))
    assert old is not None and old.cause == "startup_oom.kv_cache_too_small"
    assert new is None or new.cause != "startup_oom.kv_cache_too_small"


@pytest.mark.parametrize(
    ("condition", "arguments", "won"),
    [
        ('needs = ["flags.quantization"]', {"quantization": "fp8"}, True),
        ('needs = ["flags.quantization"]', {"model": "m"}, False),
        ('needs = ["flags.quantization = fp8"]', {"quantization": "fp8"}, True),
        ('needs = ["flags.quantization = awq"]', {"quantization": "fp8"}, False),
        ('needs = ["vllm >= 0.28"]', {}, True),
        ('needs = ["vllm < 0.28"]', {}, False),
        ('unless = ["flags.quantization"]', {"quantization": "fp8"}, False),
        ('unless = ["flags.quantization"]', {"model": "m"}, True),
        ('unless = ["flags.enforce_eager"]', {"enforce_eager": False}, True),
        ('unless = ["vllm < 0.28"]', {}, True),
    ],
)
def test_needs_and_unless_take_facts(tmp_path: Path, condition: str, arguments: dict[str, object], won: bool) -> None:
    write_rule(tmp_path, signature=condition)
    assert (found(start("0.29.0", **arguments) + LINE, tmp_path) == "config.flux_capacitor_empty") is won


def test_who_named_the_quantization_decides_the_layer() -> None:
    error = "(APIServer pid=211) ValueError: Unknown quantization method: int5. Must be one of ['awq'].\n"
    pack = load_pack()
    by_flag, by_file = (
        triage_text(start("0.27.1", **arguments) + error, pack).verdict
        for arguments in ({"model_tag": "m", "quantization": "int5"}, {"model_tag": "m"})
    )
    assert by_flag is not None and by_flag.cause == "config.unknown_quantization"
    assert by_file is not None and by_file.cause == "dependency.unknown_quantization_in_config"


def step(action: str, when: str) -> str:
    return STEP.replace('action = "Do it"', f'action = "{action}"\nwhen = [{when}]')


def advice(text: str, folder: Path) -> tuple[list[str], list[str], list[str]]:
    verdict = triage_text(text, load_pack([folder])).verdict
    assert verdict is not None
    return [s.action for s in verdict.remediation], [s.because or "" for s in verdict.remediation], verdict.why


def test_advice_that_does_not_apply_is_not_shown_and_the_fact_is_named(tmp_path: Path) -> None:
    steps = step("Old way", '"vllm < 0.28"') + step("New way", '"vllm >= 0.28"') + STEP
    write_rule(tmp_path, steps=steps)
    actions, _, why = advice(start("0.27.1") + LINE, tmp_path)
    assert actions == ["Old way", "Do it"]
    assert "Fact: vllm is 0.27.1." in why
    actions, _, why = advice(start("0.33.0") + LINE, tmp_path)
    assert actions == ["New way", "Do it"]
    assert "Fact: vllm is 0.33.0." in why


def test_advice_whose_fact_is_unknown_says_what_it_depends_on(tmp_path: Path) -> None:
    write_rule(tmp_path, steps=step("Hopper only", '"gpu_arch = hopper", "vllm>=0.20"') + STEP)
    actions, because, why = advice(LINE, tmp_path)
    assert actions == ["Hopper only", "Do it"]
    assert because[0] == "only if gpu_arch is hopper and vllm is at least 0.20"
    assert not [text for text in why if text.startswith("Fact:")]
    actions, because, why = advice(start("0.33.0") + LINE, tmp_path)
    assert because[0] == "only if gpu_arch is hopper" and "Fact: vllm is 0.33.0." in why


def test_launch_arguments_are_facts_of_advice(tmp_path: Path) -> None:
    write_rule(tmp_path, steps=step("Eager", '"flags.enforce_eager != true"') + STEP)
    assert advice(start("0.33.0", enforce_eager=True) + LINE, tmp_path)[0] == ["Do it"]


@pytest.mark.parametrize("wrong", ['needs = ["config.no_such_cause"]', 'unless = ["moon = full"]'])
def test_the_checker_refuses_conditions_on_nothing(tmp_path: Path, wrong: str) -> None:
    path = write_rule(tmp_path, signature=wrong)
    problems = list(check_places([tmp_path]))
    assert [(problem.file, problem.line) for problem in problems][:1] == [(str(path), 11)]
    assert "neither a cause" in problems[0].message


def test_the_checker_refuses_advice_on_unknown_facts(tmp_path: Path) -> None:
    write_rule(tmp_path, steps=step("Moon", '"moon = full"') + STEP)
    assert any("moon" in problem.message for problem in check_places([tmp_path]))

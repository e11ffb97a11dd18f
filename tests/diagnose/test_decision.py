"""The road back, its reason, and the warnings that the evidence calls for."""

import re

import pytest

from k3triage.diagnose.conditions import holds
from k3triage.diagnose.decision import decide
from k3triage.diagnose.facts import Facts
from k3triage.diagnose.parsed import ParsedInput
from k3triage.model.enums import Confidence, Decision, Layer, Phase, Role, Status
from k3triage.model.evidence import EvidenceFact
from k3triage.model.report import Anomaly, Avoid, BlockRef, FindingRef, Report, Tool, Verdict
from k3triage.rules import load_pack
from k3triage.rules.policy import decision_policy

REPAIR, REBUILD, VERIFIED = (
    Decision.REPAIR_IN_PLACE,
    Decision.REBUILD_ON_OFFICIAL_IMAGE,
    Decision.USE_VERIFIED_ENVIRONMENT,
)
LINE = Anomaly(source="a.log", line=3, byte_offset=9, block=BlockRef(start_line=3, end_line=3), text="x")


def decided(
    cause: str,
    *others: str,
    packages: tuple[str, ...] = (),
    avoid: str = "",
    decision: Decision = REPAIR,
    **facts: object,
) -> Verdict:
    verdict = Verdict(
        layer=Layer(cause.split(".")[0]),
        cause=cause,
        title="t",
        phase=Phase.UNKNOWN,
        confidence=Confidence.CONFIRMED,
        first_anomaly=LINE,
        why=["means"],
        remediation=[],
        avoid=[Avoid(action=avoid, because="b")] if avoid else [],
        missing=[],
        decision=decision,
    )
    findings = [
        FindingRef(cause=name, layer=Layer(name.split(".")[0]), role=role, count=1, first=LINE, last_line=3)
        for name, role in [(cause, Role.ROOT), *((other, Role.CASCADE) for other in others)]
    ]
    report = Report(tool=Tool(version="0", rules="0"), status=Status.DIAGNOSED, verdict=verdict, findings=findings)
    known = Facts()
    for name, value in facts.items():
        name = name.replace("__", ".")
        known.stated[name] = EvidenceFact(name, value, "e.txt", 1, "test")
    evidence = [EvidenceFact("package", (name, "1.0"), "pip.txt", n, "pip list") for n, name in enumerate(packages, 1)]
    decide(report, known, [ParsedInput("pip.txt", [], [], evidence=evidence)])
    return verdict


K3 = "moonshotai/Kimi-K3"


@pytest.mark.parametrize(
    ("verdict", "decision", "reason"),
    [
        (decided("config.port_in_use"), REPAIR, "one layer"),
        (decided("hardware.gpu_off_bus"), VERIFIED, "another node"),
        (decided("cuda.driver_too_old"), REPAIR, "one layer"),
        (decided("cuda.driver_too_old", model=K3), VERIFIED, "r580"),
        (decided("cuda.driver_too_old", driver="570.124.06", image="vllm/vllm-openai:kimi-k3"), VERIFIED, "r580"),
        (decided("cuda.driver_too_old", driver="580.82.07", image="vllm/vllm-openai:kimi-k3"), REPAIR, "one layer"),
        (decided("container.driver_too_old_for_image", decision=VERIFIED), VERIFIED, "newer CUDA"),
        (decided("gpu_kernel.no_kernel_image", model=K3), VERIFIED, "verified for Kimi K3"),
        (decided("gpu_kernel.no_kernel_image", model="org/other"), REPAIR, "one layer"),
        (decided("startup_oom.weights_do_not_fit", model=K3), VERIFIED, "layouts"),
        (decided("nccl.unhandled_error", gpu_mixed=True), VERIFIED, "different types"),
        (decided("nccl.unhandled_error", gpu_mixed=False), REPAIR, "one layer"),
        (decided("dependency.numpy_mismatch"), REPAIR, "one layer"),
        (decided("dependency.numpy_mismatch", "dependency.torchvision_mismatch"), REBUILD, "several packages"),
        (decided("dependency.numpy_mismatch", image="registry.local/team/vllm:7"), REBUILD, "not the official one"),
        (decided("dependency.numpy_mismatch", image="vllm/vllm-openai:v0.29.0"), REPAIR, "one layer"),
        (decided("dependency.numpy_mismatch", image="docker.io/vllm/vllm-openai:v0.29.0"), REPAIR, "one layer"),
        (decided("dependency.torch_too_old", torch_cuda="12.9", model=K3), REBUILD, "CUDA 13 alone"),
        (decided("dependency.torch_too_old", torch_cuda="13.0", model=K3), REPAIR, "one layer"),
        (decided("dependency.constructor_mismatch", vllm="0.26.0", model=K3), REBUILD, "0.27.1"),
        (decided("dependency.constructor_mismatch", vllm="0.1.dev19262+gb6bbf29dd", model=K3), REPAIR, "one layer"),
        (decided("dependency.model_type_unknown", decision=REBUILD), REBUILD, "newer official image"),
        (
            decided("dependency.flash_attn_missing", packages=("nvidia-cudnn-cu12", "nvidia-nccl-cu13")),
            REBUILD,
            "mixed",
        ),
        (decided("dependency.flash_attn_missing", packages=("nvidia-cudnn-cu13", "nvidia-nccl-cu13")), REPAIR, "one"),
    ],
    ids=lambda value: value.cause if isinstance(value, Verdict) else str(value),
)
def test_the_road_and_its_reason(verdict: Verdict, decision: Decision, reason: str) -> None:
    assert verdict.decision is decision
    (said,) = [why for why in verdict.why if why.startswith("Decision: ")]
    assert reason in said and decision.value.replace("_", " ") in said


@pytest.mark.parametrize(
    ("verdict", "pattern", "there"),
    [
        (decided("cuda.driver_too_old"), "toolkit", True),
        (decided("cuda.driver_too_old"), "NVIDIA_DISABLE_REQUIRE", True),
        (decided("config.port_in_use"), ".", False),
        (decided("nccl.rdma_retry_exceeded"), "more GPU memory", True),
        (decided("inference_oom.activation_peak"), "more GPU memory", False),
        (decided("dependency.undefined_symbol"), "CUDA 12 wheels", True),
        (decided("dependency.ray_missing"), "CUDA 12 wheels", False),
        (decided("dependency.ray_missing", model=K3), "cu129", True),
        (decided("gpu_kernel.illegal_memory_access"), "general advice", True),
        (decided("gpu_kernel.illegal_memory_access", flags__enforce_eager=True), "enforce-eager", True),
        (decided("gpu_kernel.illegal_memory_access"), "enforce-eager", False),
        (decided("gpu_kernel.ninja_missing", env__NVIDIA_DISABLE_REQUIRE="true"), "Keeping NVIDIA_DISABLE", True),
        (decided("inference_oom.activation_peak"), "Reinstalling", True),
        (decided("startup_oom.weights_do_not_fit"), "concurrency", True),
    ],
    ids=lambda value: value.cause if isinstance(value, Verdict) else str(value),
)
def test_what_the_evidence_tempts_to(verdict: Verdict, pattern: str, there: bool) -> None:
    assert any(re.search(pattern, item.action) for item in verdict.avoid) is there


def test_what_the_page_says_is_not_said_twice() -> None:
    verdict = decided("cuda.driver_too_old", avoid="Do not install another driver or toolkit in the container.")
    assert sum("toolkit" in item.action for item in verdict.avoid) == 1


def test_entries_name_causes_that_exist() -> None:
    from fnmatch import fnmatchcase

    ids = load_pack().infos
    policy = decision_policy()
    for entry in [*policy.road, *policy.avoid]:
        for pattern in [*entry.causes, *entry.seen]:
            assert any(fnmatchcase(cause, pattern) for cause in ids), pattern
        for text in entry.when:
            assert holds(text, Facts()) is None
        assert entry.causes or entry.layers or entry.seen, "an entry for everything says nothing"


def test_an_unknown_failure_gets_no_reason() -> None:
    report = Report(tool=Tool(version="0", rules="0"), status=Status.HEALTHY)
    decide(report, Facts(), [])
    assert report.verdict is None

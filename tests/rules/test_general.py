"""What rules that know only a kind of fault rest on: the frame that raised, their rank in a chain, crashes."""

import pytest

from k3triage.model.enums import Status
from k3triage.rulecheck import triage_text
from k3triage.rules.loader import load_pack

PACK = load_pack()
SITE = "/opt/venv/lib/python3.12/site-packages/"


def traceback(message: str, *frames: str) -> str:
    """A printed traceback; frames are "file:function", outermost first."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        file, _, function = frame.rpartition(":")
        lines.append(f'  File "{SITE}{file}", line 7, in {function}')
    return "\n".join([*lines, message, ""])


def test_the_innermost_frame_decides() -> None:
    loader, layer = "vllm/model_executor/models/acme.py:load_weights", "acme/plugin.py:tune"
    inside = triage_text(traceback("ValueError: odd shape", layer, loader), PACK)
    outside = triage_text(traceback("ValueError: odd shape", loader, layer), PACK)
    assert inside.verdict is not None and inside.verdict.cause == "model.load_failed"
    assert outside.verdict is not None and outside.verdict.cause == "unknown.unhandled_exception"


def test_a_rule_that_knows_the_fault_outranks_a_general_one() -> None:
    text = traceback("KeyError: 'acme9'", "transformers/models/auto/configuration_auto.py:from_pretrained")
    text += "\nDuring handling of the above exception, another exception occurred:\n\n"
    message = (
        "ValueError: The checkpoint you are trying to load has model type `acme9` but Transformers does not recognize"
    )
    text += traceback(message + " this architecture.", "transformers/models/auto/configuration_auto.py:from_pretrained")
    verdict = triage_text(text, PACK).verdict
    assert verdict is not None and str(verdict.layer) == "dependency"


def test_a_hint_below_the_message_does_not_make_it_harmless() -> None:
    text = traceback("torch.AcceleratorError: CUDA error: a kind that has no name yet", "acme/run.py:step")
    report = triage_text(text + "CUDA kernel errors might be asynchronously reported at some other API call.\n", PACK)
    assert report.verdict is not None and str(report.verdict.layer) == "gpu_kernel"


@pytest.mark.parametrize(
    "line",
    [
        "thread 'acme-worker' panicked at src/pick.rs:31:14:",
        "Fatal Python error: Segmentation fault",
        "Fatal Python error: Aborted",
        "double free or corruption (!prev)",
    ],
)
def test_a_crash_is_a_failure_of_unknown_cause(line: str) -> None:
    report = triage_text(f"INFO:     Application startup complete.\n{line}\n", PACK)
    assert report.status is Status.UNKNOWN_FAILURE


def test_a_death_notice_stays_inconclusive() -> None:
    text = "ERROR 12-01 10:01:44 [core_client.py:600] Engine core proc EngineCore_0 died unexpectedly, shutting down client.\n"
    assert triage_text(text, PACK).status is Status.INCONCLUSIVE

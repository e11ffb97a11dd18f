"""Numbers of the log in the commands of the steps."""

import pytest

from k3triage.diagnose.verdict import _filled
from k3triage.rulecheck import triage_text
from k3triage.rules import load_pack

LINE = (
    "ValueError: To serve at least one request with the models's max seq len (65536), (9.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.00 GiB). {} Try increasing `gpu_memory_utilization`."
)


def test_the_length_that_fits_stands_in_the_command() -> None:
    told = LINE.format("Based on the available memory, the estimated maximum model length is 29120.")
    report = triage_text(told, load_pack())
    assert report.verdict is not None
    assert report.verdict.remediation[0].command == "vllm serve <model> --max-model-len 29120"


def test_without_a_number_the_place_stays_open() -> None:
    report = triage_text(LINE.format(""), load_pack())
    assert report.verdict is not None
    assert report.verdict.remediation[0].command == "vllm serve <model> --max-model-len <n>"


@pytest.mark.parametrize("value", ["1; rm -rf /", "$(id)", "9" * 40, "", "-1", "12\n34"])
def test_nothing_but_a_number_gets_into_a_command(value: str) -> None:
    assert _filled("serve <n>", {"n": value}) == "serve <n>"

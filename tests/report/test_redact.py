import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.report.redact import HIDDEN, redact_report, redact_text
from tests.report.conftest import anomaly, build, verdict

SECRETS = [
    ("HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123", "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"),
    ("using hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123 now", "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"),
    ("Authorization: Bearer abc.def-ghi_jkl", "abc.def-ghi_jkl"),
    ("'api_key': ['s3cr3t-value-1']", None),
    ("api_key='s3cr3t value'", "s3cr3t value"),
    ("--api-key s3cr3tvalue --port 1", "s3cr3tvalue"),
    ("password: hunter22", "hunter22"),
    ('"secret_key": "abcd1234efgh"', "abcd1234efgh"),
    ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
    ("OPENAI sk-proj-abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789"),
    ("pull from https://bob:pa55w0rd@registry.example/v2", "pa55w0rd"),
    ("https://s3.example/x?X-Amz-Signature=0a1b2c3d&n=1", "0a1b2c3d"),
    ("mail ops.team+x@corp.example.com please", "ops.team+x@corp.example.com"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0xxx.sig", "eyJzdWIiOiIxIn0xxx"),
    ("NGC nvapi-abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
    ("-----BEGIN RSA PRIVATE KEY-----MIIEabc", "MIIEabc"),
    ("Received request chatcmpl-1: prompt: 'my \\'dear\\' diary', params: SamplingParams(n=1)", "diary"),
    ("Received request cmpl-2: prompt: 'cut off in the midd", "midd"),
    ('{"messages": [{"role": "user", "content": "my diary"}]}', "diary"),
    ("prompt_token_ids: [11, 22, 33], lora_request: None", "22"),
]
HARMLESS = [
    "max_tokens=4096, prompt_tokens: 12, max_num_batched_tokens=8192",
    "eos_token='<|im_end|>', pad_token: <pad>",
    "non-default args: {'model': '/models/m', 'tokenizer': '/models/m', 'hf_token': None}",
    "ValueError: To serve at least one request with the model's max seq len (90000), (11.25 GiB KV cache is needed",
    "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "export HF_TOKEN=$HF_TOKEN",
    "export HF_TOKEN=<token>",
    "docker pull nvcr.io/nvidia/vllm@sha256:0123456789abcdef",
    "tcp://127.0.0.1:47113 rank 0 at 10.0.0.4:29500",
    "KeyError: 'model.layers.0.mlp.key'",
]


@pytest.mark.parametrize(("text", "secret"), [pair for pair in SECRETS if pair[1]])
def test_secrets_and_prompts_go(text: str, secret: str) -> None:
    hidden = redact_text(text)
    assert secret not in hidden and "redacted" in hidden


@pytest.mark.parametrize("text", HARMLESS)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert redact_text(text) == text


def test_what_surrounds_a_prompt_stays() -> None:
    text = redact_text("Received request chatcmpl-1: prompt: 'diary', params: SamplingParams(n=1)")
    assert text == "Received request chatcmpl-1: prompt: '[redacted 7 characters]', params: SamplingParams(n=1)"


def test_addresses_go_only_on_request() -> None:
    text = "peer 10.1.2.3:29500 and fe80::1ff:fe23:4567:890a, bound to 127.0.0.1, vLLM 0.11.2"
    assert redact_text(text) == text
    hidden = redact_text(text, addresses=True)
    assert "10.1.2.3" not in hidden and "4567" not in hidden and "127.0.0.1" in hidden and "0.11.2" in hidden


@given(st.text(max_size=300))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@pytest.mark.parametrize(
    "unit", ["a", "token", "token=", "a.", "x@", "prompt: '", "\\'", "--api-key ", "://", "eyJ", "a-b_", "1:"]
)
def test_long_lines_take_linear_time(unit: str) -> None:
    start = time.perf_counter()
    redact_text(unit * (200_000 // len(unit)))
    assert time.perf_counter() - start < 5


def test_every_text_of_a_report_is_redacted_and_the_rest_stays() -> None:
    secret = "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"
    report = build(
        verdict=verdict(
            first_anomaly=anomaly(text=f"bad token {secret}"),
            why=[f"{secret} was refused"],
            remediation=[{"action": f"renew {secret}", "command": f"hf auth login --token {secret}"}],
        ),
        environment={
            "model": "m",
            "flags": {"api_key": ["my-own-key-1"], "max_model_len": 4096, "nested": {"u": secret}},
        },
        inputs=[{"source": f"/tmp/{secret}.log", "bytes": 1, "error": f"no {secret}"}],
    )
    hidden = redact_report(report)
    dumped = hidden.model_dump_json()
    assert secret[3:] not in dumped and "my-own-key-1" not in dumped
    assert hidden.environment.flags["api_key"] == [HIDDEN]
    assert hidden.environment.flags["max_model_len"] == 4096
    assert hidden.verdict is not None and hidden.verdict.first_anomaly.line == 412
    assert secret in report.model_dump_json()
    assert redact_report(build()) == build()

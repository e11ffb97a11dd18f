import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.report import redact
from k3triage.report.redact import HIDDEN, LineRedactor, redact_report, redact_text
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
    ("output_token_ids: (44, 55), finish_reason: stop", "55"),
    ("SequenceData(prompt_token_ids=array('l', [66, 77]))", "77"),
    ("non-default args: {'api_key': ['first-key-1', 'second-key-2'], 'port': 1}", "second-key-2"),
    ("Namespace(api_key=['first-key-1', 'second-key-2'], port=1)", "second-key-2"),
    ("vllm serve m --api-key first-key-1 second-key-2 --port 1", "second-key-2"),
    ('"cmd": ["serve", "--api-key", "first-key-1", "second-key-2", "--port"]', "second-key-2"),
    ("['--hf-token', 'plain-token-9']", "plain-token-9"),
    (r'{"log": "body {\"api_key\": \"first-key-1\"}"}', "first-key-1"),
    (r'{"log": "body {\"content\": \"my \\\"dear\\\" diary\"}"}', "diary"),
    ("Generated response chatcmpl-1: output: 'dear diary', output_token_ids: [1]", "diary"),
    ("{'type': 'text', 'text': 'my diary'}", "diary"),
    ("prompt: ['one diary', 'two diary'], params: SamplingParams(n=1)", "two diary"),
    ('{"tool_calls": [{"function": {"arguments": "{\\"where\\": \\"diary\\"}"}}]}', "diary"),
    ("image_url: data:image/png;base64,iVBORw0KGgoAAAA done", "iVBORw0KGgo"),
    ("curl -u bob:hunter22 https://x.example", "hunter22"),
    ("git clone https://abcdefghij0123456789@git.example/x", "abcdefghij0123456789"),
    ('{"auths": {"r.example": {"auth": "Ym9iOmh1bnRlcjIy"}}}', "Ym9iOmh1bnRlcjIy"),
    ("Set-Cookie: session=abc123def; Path=/", "abc123def"),
    ("DB_PASS=hunter22", "hunter22"),
    ("posting to https://hooks.slack.com/services/T0AB/B0CD/e5f6g7h8", "e5f6g7h8"),
    ("docker login with dckr_pat_abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
    ("groq gsk_abcdefghijklmnopqrstuvwx0123", "abcdefghijklmnopqrstuvwx0123"),
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
    'File "/opt/venv/lib/python3.12/site-packages/huggingface_hub/utils/_http.py", line 4, in hf_raise_for_status',
    "vllm: error: argument --api-key: expected at least one argument",
    "usage: vllm serve [--api-key API_KEY] [--hf-token [HF_TOKEN]]",
    "sudo: user : PWD=/home/user/run ; COMMAND=/usr/bin/dmesg",
    "HF_TOKEN:    <set to the key 'token' in secret 'hf'>  Optional: false",
    "docker run -u 1000:1000 --shm-size 8g image",
    "Avg prompt throughput: 1203.4 tokens/s, Prefix cache hit rate: 0.0%",
    '{"prompt": "", "messages": []}',
]


@pytest.mark.parametrize(("text", "secret"), [pair for pair in SECRETS if pair[1]])
def test_secrets_and_prompts_go(text: str, secret: str) -> None:
    hidden = redact_text(text)
    assert secret not in hidden and "redacted" in hidden


@pytest.mark.parametrize("text", HARMLESS)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize("text", [text for text, _ in SECRETS] + HARMLESS)
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@given(st.lists(st.sampled_from([*(text for text, _ in SECRETS), *HARMLESS, "\n", " ", "x"]), max_size=3))
def test_hints_hide_no_pattern(parts: list[str]) -> None:
    text = "".join(parts)
    hints = [*redact._PROMPT_HINTS, *redact._PAIR_HINTS, "_ids", *(hint for row in redact._SHAPES for hint in row[0])]
    assert redact_text(text) == redact._redact(text, " ".join(hints))


def test_keys_over_several_lines_and_known_values_go() -> None:
    body = "MIIEowIBAAKCAQEA7bq9Zr3kVtG5xYpLwS0nQeUcJhRmTfDa8b+K2sNvXy1oEgHi"
    text = f"start\n-----BEGIN PRIVATE KEY-----\n{body}\n(pid=1) {body}\nshort==\n-----END PRIVATE KEY-----\nsession of Zebra-41-night\n"
    redactor = LineRedactor(["Zebra-41-night", "vllm", "server-name", "8000"])
    hidden = redactor.text(text + "vllm server-name 8000 stays")
    assert body not in hidden and "short==" not in hidden and "Zebra" not in hidden
    assert hidden.endswith("\nvllm server-name 8000 stays") and hidden.startswith("start\n") and "(pid=1)" in hidden
    assert hidden.count("\n") == text.count("\n")
    assert redactor.text("-----BEGIN PRIVATE KEY-----\n") and redactor.text(f"{body} ends") == f"{body} ends"


def test_known_values_go_in_their_quoted_form_too() -> None:
    assert "p%40ss" not in LineRedactor(["p@ss-word/1"]).text("https://x/?q=p%40ss-word%2F1")


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
    "unit",
    [
        "a",
        "token",
        "token=",
        "a.",
        "x@",
        "prompt: '",
        "\\'",
        '\\\\"',
        "prompt: ['a', ",
        "'--token', ",
        "--api-key ",
        "--api-key k ",
        "://",
        "eyJ",
        "a-b_",
        "1:",
    ],
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

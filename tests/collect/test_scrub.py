"""Each kind of output loses its secrets and keeps what a diagnosis needs."""

import json

import pytest

from k3triage.collect import environ
from k3triage.collect.scrub import Scrubber, argument_secrets
from tests.collect.helpers import API_KEY, HF, ODD, PASSWORD, SECOND_KEY, UNKNOWN


def test_environment_shows_names_and_settings_alone() -> None:
    data = (
        f"NCCL_DEBUG=INFO\0HF_TOKEN={HF}\0HF_HOME=/data\0MINE={UNKNOWN}\0PATH=/bin\0TWO=a\nb=c\0EMPTY=\0junk\0".encode()
    )
    assert Scrubber().scrub(data, "environ").decode().splitlines() == [
        "EMPTY=",
        "HF_HOME=/data",
        "HF_TOKEN=[redacted]",
        "MINE=[redacted]",
        "NCCL_DEBUG=INFO",
        "PATH=/bin",
        "TWO=[redacted]",
    ]
    assert "TWO=a\\nb=c" in Scrubber(redact=False).scrub(data, "environ").decode().splitlines()


@pytest.mark.parametrize("name", ["VLLM_API_KEY", "HF_TOKEN", "NCCL_SECRET", "RAY_AUTH_TOKEN", "CUDA_PASS", "UCX_KEYS"])
def test_settings_with_secret_names_are_not_shown(name: str) -> None:
    assert not environ.may_show(name) and environ.is_secret(name)


@pytest.mark.parametrize("name", ["NCCL_IB_HCA", "VLLM_PORT", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES", "RANK"])
def test_settings_are_shown(name: str) -> None:
    assert environ.may_show(name)


def test_arguments_lose_the_values_of_secret_options() -> None:
    words = [
        "vllm",
        "serve",
        "m",
        "--api-key",
        API_KEY,
        SECOND_KEY,
        "--port",
        "80",
        "--hf-token",
        HF,
        "x",
        f"--pwd={ODD}",
    ]
    hidden = "[redacted]"
    expected = [
        "vllm",
        "serve",
        "m",
        "--api-key",
        hidden,
        hidden,
        "--port",
        "80",
        "--hf-token",
        hidden,
        "x",
        f"--pwd={hidden}",
    ]
    assert Scrubber().words(words) == expected
    assert argument_secrets(words) == {API_KEY, SECOND_KEY, HF, ODD}
    shell = [
        "sh",
        "-c",
        f"export MY_PASSWORD={PASSWORD}; exec vllm serve m --api-key '{API_KEY}' {SECOND_KEY} --port 80",
    ]
    assert {API_KEY, SECOND_KEY} <= argument_secrets(shell)
    text = " ".join(Scrubber(frozenset(argument_secrets(shell))).words(shell))
    assert not any(secret in text for secret in (API_KEY, SECOND_KEY, PASSWORD)) and "--port 80" in text
    assert argument_secrets(["sh", "-c", f"vllm 'unclosed --api-key {API_KEY}"]) == {API_KEY}


def test_json_keeps_its_form() -> None:
    value = [
        {
            "Config": {"Env": [f"HF_TOKEN={HF}", f"MINE={UNKNOWN}", "NCCL_DEBUG=WARN"], "Cmd": ["--api-key", API_KEY]},
            "Auth": {"password": PASSWORD, "nested": [{"token": ODD}]},
            "env": [
                {"name": "X", "value": UNKNOWN},
                {"name": "NCCL_DEBUG", "value": "WARN"},
                {"name": "Y", "valueFrom": {}},
            ],
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": f'{{"x": "{UNKNOWN}"}}'}},
            "n": 5,
            "ok": [True, None, 1.5],
        }
    ]
    hidden = json.loads(Scrubber().scrub(json.dumps(value).encode(), "json"))[0]
    assert hidden["Config"] == {
        "Env": ["HF_TOKEN=[redacted]", "MINE=[redacted]", "NCCL_DEBUG=WARN"],
        "Cmd": ["--api-key", "[redacted]"],
    }
    assert [item.get("value") for item in hidden["env"]] == ["[redacted]", "WARN", None]
    assert (hidden["n"], hidden["ok"]) == (5, [True, None, 1.5])
    text = json.dumps(hidden)
    assert not any(secret in text for secret in (HF, UNKNOWN, API_KEY, PASSWORD, ODD))
    assert HF not in Scrubber().scrub(b"not json: token=" + HF.encode(), "json").decode()


def test_described_pods_lose_values_of_variables_and_options() -> None:
    text = (
        "Name:  vllm-0\nContainers:\n  server:\n    Args:\n      --api-key\n"
        f"      {API_KEY}\n      {SECOND_KEY}\n      --port\n      8000\n    Limits:\n      nvidia.com/gpu:  8\n    Environment:\n"
        f"      MINE:        {UNKNOWN}\n      NCCL_DEBUG:  WARN\n"
        "      HF_TOKEN:    <set to the key 'token' in secret 'hf'>  Optional: false\n    Mounts:\n      /dev/shm from shm (rw)\n"
        "Events:\n  Warning  BackOff  5s (x3 over 1m)  kubelet  Back-off restarting failed container\n"
    )
    hidden = Scrubber().scrub(text.encode(), "describe").decode()
    assert not any(secret in hidden for secret in (UNKNOWN, API_KEY, SECOND_KEY))
    for kept in (
        "NCCL_DEBUG:  WARN",
        "<set to the key 'token' in secret 'hf'>",
        "8000",
        "nvidia.com/gpu:  8",
        "(x3 over 1m)",
    ):
        assert kept in hidden
    assert len(hidden.splitlines()) == len(text.splitlines())


def test_a_version_is_the_last_line() -> None:
    data = b"INFO 12-02 11:00:00 [__init__.py:216] Automatically detected platform cuda.\n0.11.2\n\n"
    assert Scrubber().scrub(data, "version") == b"0.11.2\n"


def test_bytes_that_are_no_text_stay() -> None:
    assert Scrubber().scrub(b"\xff\xfe ok \x80\n") == b"\xff\xfe ok \x80\n"

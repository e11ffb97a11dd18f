"""A machine of recorded output, secrets to plant, and what is needed to look into a bundle."""

import io
import json
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from k3triage.collect.bundle import ROOT
from k3triage.collect.gather import Summary, Wanted, collect
from k3triage.collect.machine import Output

NOW = 1_796_000_000.0
DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo" / "kv-cache-too-small.log"
CAUSE = "startup_oom.kv_cache_too_small"

HF = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm123456"
API_KEY = "harbor-frontdoor-7781"
SECOND_KEY = "harbor-backdoor-7782"
AWS = "AKIAZ7Q4EXAMPLEK3Y00"
AWS_SECRET = "wJalrXUtnFEMIxK7MDENGxbPxRfiCYzEXAMPLEKEY"
PASSWORD = "c0rrect-h0rse"
ODD = "zebra-crossing-41"  # known only from the environment, under a name that speaks
UNKNOWN = "quagga-stable-17"  # value of a variable of which nothing is known
PROMPT = "my grandmother's secret recipe for plum cake"
MAIL = "night.shift@harbor.example.com"
PEM = "MIIEowIBAAKCAQEA7bq9Zr3kVtG5xYpLwS0nQeUcJhRmTfDa8b+K2sNvXy1oEgHi"
ANSWER = "Beat six eggs with the sugar"
PLANTED = (HF, API_KEY, SECOND_KEY, AWS, AWS_SECRET, PASSWORD, ODD, UNKNOWN, PROMPT, "plum cake", MAIL, PEM, ANSWER)

SECRET_LINES = (
    f"(APIServer pid=1) INFO 12-02 11:57:48 [utils.py:253] non-default args: {{'model': '/models/harbor-32b', "
    f"'api_key': ['{API_KEY}', '{SECOND_KEY}'], 'hf_token': '{HF}'}}\n"
    f"(APIServer pid=1) INFO 12-02 11:57:49 [logger.py:39] Received request chatcmpl-1: prompt: {PROMPT!r}, "
    "params: SamplingParams(n=1, max_tokens=64), prompt_token_ids: [101, 2023, 2003], lora_request: None.\n"
    f"(APIServer pid=1) INFO 12-02 11:57:50 [logger.py:61] Generated response chatcmpl-1: output: '{ANSWER}', "
    "output_token_ids: [7, 8], finish_reason: stop\n"
    f'(APIServer pid=1) DEBUG 12-02 11:57:50 [api.py:7] body: {{"messages": [{{"role": "user", "content": "{PROMPT}"}}]}}\n'
    f"(APIServer pid=1) DEBUG 12-02 11:57:50 [api.py:8] authorization: Bearer {API_KEY} from {MAIL}\n"
    f"(APIServer pid=1) DEBUG 12-02 11:57:50 [s3.py:9] key id {AWS}, aws_secret_access_key={AWS_SECRET}\n"
    f"(APIServer pid=1) DEBUG 12-02 11:57:50 [s3.py:10] fetching s3 from https://ops:{PASSWORD}@store.example/models\n"
    f"(APIServer pid=1) DEBUG 12-02 11:57:50 [plugin.py:3] session opened by {ODD}\n"
    "-----BEGIN RSA PRIVATE KEY-----\n"
    f"{PEM}\n{PEM}\nq8Zs4w==\n"
    "-----END RSA PRIVATE KEY-----\n"
)
WORDS = ["serve", "/models/harbor-32b", "--tensor-parallel-size", "4", "--api-key", API_KEY, SECOND_KEY]
VARIABLES = {
    "HF_TOKEN": HF,
    "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
    "PLUGIN_CREDENTIALS": ODD,
    "FAVOURITE": UNKNOWN,
    "NCCL_SOCKET_IFNAME": "eth0",
    "VLLM_USE_V1": "1",
    "VLLM_API_KEY": API_KEY,
    "CUDA_VISIBLE_DEVICES": "0,1,2,3",
}


def failing_log() -> bytes:
    """A log that fails, with secrets in it."""
    lines = DEMO.read_text(encoding="utf-8").splitlines(keepends=True)
    return ("".join(lines[:3]) + SECRET_LINES + "".join(lines[3:])).encode()


class FakeMachine:
    """Answers with recorded output. commands: by the beginning of the command line, the longest that fits wins."""

    def __init__(
        self,
        commands: Mapping[str, bytes | Output] | None = None,
        files: Mapping[str, bytes] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.commands = dict(commands or {})
        self.files = {"/proc/sys/kernel/hostname": b"node7\n", **(files or {})}
        self.links = dict(links or {})
        self.ran: list[str] = []

    def run(self, command: Sequence[str], *, timeout: float, limit: int, merge: bool = False) -> Output:
        line = shlex.join(command)
        self.ran.append(line)
        fitting = [start for start in self.commands if line == start or line.startswith(f"{start} ")]
        if not fitting:
            return Output(code=None, problem=f"{command[0]} is not installed")
        answer = self.commands[max(fitting, key=len)]
        return Output(answer) if isinstance(answer, bytes) else answer

    def read(self, path: str, limit: int) -> Output:
        if path not in self.files:
            return Output(code=None, problem="there is no such file")
        return Output(self.files[path])

    def names(self, path: str) -> list[str]:
        below = [name.removeprefix(f"{path}/") for name in [*self.files, *self.links] if name.startswith(f"{path}/")]
        return sorted({name.partition("/")[0] for name in below})

    def link(self, path: str) -> str | None:
        return self.links.get(path)

    def stop(self) -> None:
        raise AssertionError("nothing is to be stopped here")


class Bundle:
    """A written bundle, in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.members: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for info in archive:
                file = archive.extractfile(info)
                assert file is not None and info.name.startswith(f"{ROOT}/")
                self.members[info.name.removeprefix(f"{ROOT}/")] = file.read()
        self.manifest: dict[str, Any] = json.loads(self.members["manifest.json"])

    def text(self, name: str) -> str:
        return self.members[name].decode()

    def entry(self, what: str) -> dict[str, Any]:
        (found,) = [entry for entry in self.manifest["entries"] if entry["what"] == what]
        return found

    def leaks(self) -> list[tuple[str, str]]:
        """Members with something that was planted."""
        return [
            (name, secret)
            for name, data in self.members.items()
            for secret in PLANTED
            if secret.encode() in data or secret.encode() in name.encode()
        ]


def gathered(machine: FakeMachine, wanted: Wanted | None = None, *, redact: bool = True) -> tuple[Bundle, Summary]:
    """The bundle of a recorded machine."""
    stream = io.BytesIO()
    summary = collect(machine, wanted or Wanted(), stream, timeout=5, redact=redact, clock=lambda: NOW)
    return Bundle(stream.getvalue()), summary

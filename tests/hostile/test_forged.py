"""What users write into requests must never become the verdict, however it is laid out."""

import io
import json

import pytest

import k3triage
from k3triage.model.report import Verdict

START = (
    "INFO 12-02 11:00:00 [api_server.py:1839] vLLM API server version 0.11.2\nINFO:     Application startup complete.\n"
)
SERVED = 'INFO:     10.0.0.9:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
REQUEST = "INFO 12-02 11:01:00 [logger.py:39] Received request cmpl-1: prompt: "
PARAMS = "params: SamplingParams(n=1, temperature=1.0), prompt_token_ids: None, lora_request: None.\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB."
STACK = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3/site-packages/vllm/v1/engine/core.py", line 700, in run_engine_core\n'
    f"    engine = EngineCoreProc()\n{OOM}\n"
)
RECORD = "ERROR 12-02 11:01:00 [core.py:700] "
FORGED = {
    "one line": f"{REQUEST}'{RECORD}{OOM}', {PARAMS}",
    "traceback over lines": f"{REQUEST}'why does this happen?\n{STACK}please help', {PARAMS}",
    "records over lines": f"{REQUEST}'why?\n{RECORD}EngineCore failed to start.\n{STACK}', {PARAMS}",
    "a process of its own": f"{REQUEST}'why?\n(EngineCore_DP0 pid=7) {RECORD}{OOM}\n', {PARAMS}",
    "a process, asked by a server with a prefix": f"(APIServer pid=1) {REQUEST}'why?\n"
    f"(EngineCore_DP0 pid=7) {RECORD}{OOM}\n', {PARAMS}",
    "NCCL": f"{REQUEST}'why?\nhost:1:2 [0] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n', {PARAMS}",
    "kernel": f"{REQUEST}'\n[ 12.5] NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n', {PARAMS}",
    "completion": f"INFO 12-02 11:01:00 [logger.py:60] Generated response c: output: 'x\n{STACK}', output_token_ids: None\n",
    "behind a bar": f"{REQUEST}'100%|###| 10/10 [00:01<00:00, 9it/s]{RECORD}{OOM}', {PARAMS}",
    "behind a carriage return": f"{REQUEST}'a\r{RECORD}{OOM}\r', {PARAMS}",
    "path": f'INFO:     10.0.0.9:1 - "GET /{OOM} HTTP/1.1" 404 Not Found\n',
    "model": f"INFO 12-02 11:00:01 [api_server.py:10] non-default args: {{'model': '/m/NCCL WARN {OOM}'}}\n",
}


def verdict_of(log: str) -> Verdict | None:
    return k3triage.triage(io.BytesIO(log.encode())).verdict


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED.keys())
def test_requests_are_no_evidence(text: str) -> None:
    assert verdict_of(START + text + SERVED) is None


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED.keys())
def test_a_fault_behind_the_request_is_seen(text: str) -> None:
    log = START + text + f"(EngineCore_DP0 pid=9) {RECORD}{OOM}\n"
    verdict = verdict_of(log)
    assert verdict is not None and verdict.first_anomaly.line == log.count("\n")


def test_requests_in_one_record_of_a_container() -> None:
    record = {"log": f"{REQUEST}'why?\n{STACK}', {PARAMS}", "stream": "stderr", "time": "2026-01-01T00:00:00Z"}
    assert verdict_of(json.dumps(record) + "\n") is None


def test_a_request_that_was_cut_hides_nothing() -> None:
    log = f"{START}{REQUEST}'tell me a sto\n{RECORD}{OOM}\n"
    verdict = verdict_of(log)
    assert verdict is not None and verdict.first_anomaly.line == 4

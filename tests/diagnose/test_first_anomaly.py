"""What begins an attempt, what speaks of whom, and what may call a failure harmless."""

import pytest

from k3triage import triage
from k3triage.model.report import Report
from k3triage.rules import load_pack

START = [
    "(APIServer pid=7) INFO 05-06 07:00:01 [api_server.py:1351] vLLM API server version 0.14.0",
    "(APIServer pid=7) INFO 05-06 07:00:01 [utils.py:253] non-default args: {'model': '/srv/llama'}",
]
READY = ["(APIServer pid=7) INFO:     Application startup complete."]
ANSWER = '(APIServer pid=7) INFO:     10.0.0.9:5100 - "POST /v1/completions HTTP/1.1" 200 OK'
TRACE = [
    "(APIServer pid=7) Traceback (most recent call last):",
    '(APIServer pid=7)   File "/opt/app/acme_tool.py", line 77, in acme_step',
]


def told(*lines: str) -> Report:
    return triage([f"{line}\n" for line in lines])


def notices() -> list[str]:
    """Anchors of harmless notices that say nothing of exceptions."""
    pack = load_pack()
    telling = {s.anchor for s in pack.signatures if s.role != "benign"} | {marker.anchor for marker in pack.markers}
    return sorted(
        {
            s.anchor
            for s in pack.signatures
            if s.role == "benign" and not (s.raised or s.frames or s.raised_in) and s.anchor and s.anchor not in telling
        }
    )


def test_there_are_notices() -> None:
    assert len(notices()) > 100


@pytest.mark.parametrize("notice", notices())
def test_a_notices_words_make_no_exception_harmless(notice: str) -> None:
    report = told(*START, *TRACE, f"(APIServer pid=7) ValueError: the option zork: {notice} 7")
    assert report.status != "healthy"


def test_what_a_request_was_refused_for_stays_harmless() -> None:
    refused = "ValueError: This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    assert told(*START, *READY, *TRACE, f"(APIServer pid=7) {refused}", *[ANSWER] * 20).status == "healthy"


def test_a_quoted_traceback_is_information() -> None:
    quoted = [
        "Traceback (most recent call last):",
        '  File "/srv/user.py", line 4, in run',
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    ]
    log = [f"(APIServer pid=7) INFO 05-06 07:09:01 [middleware.py:31] {line}" for line in quoted]
    answers = [f"(APIServer pid=7) INFO 05-06 07:{minute}:01 [x.py:1] ok" for minute in range(10, 40)]
    assert told(*START, *READY, *log, ANSWER, *answers, ANSWER).status == "healthy"
    crash = [line.replace(" INFO ", " ERROR ") for line in log]
    report = told(*START, *READY, *crash)
    assert report.verdict is not None
    assert report.verdict.cause == "gpu_kernel.illegal_memory_access"


SHELL = ["+ nvidia-smi", "Failed to initialize NVML: Unknown Error", "+ exec vllm serve /srv/llama"]
NO_DEVICE = [*TRACE, "(APIServer pid=7) RuntimeError: Failed to infer device type"]


def test_what_the_entrypoint_met_belongs_to_the_start_it_made() -> None:
    report = told("[INFO] <llama> Executing start command: /opt/run.sh && vllm serve /srv/llama", *SHELL, *START)
    assert len(report.attempts) == 1
    report = told("+ exec vllm serve /srv/llama", *START, *NO_DEVICE, *SHELL[2:], *START, *NO_DEVICE)
    assert len(report.attempts) == 2


def test_the_entrypoints_fault_comes_first() -> None:
    start = "[INFO] <llama> Executing start command: /opt/run.sh && vllm serve /srv/llama"
    report = told(start, *SHELL, *START, *NO_DEVICE)
    assert report.verdict is not None
    assert report.verdict.first_anomaly.line == 3


JOURNAL = "Sep 16 14:02:{:02d} rhel-1 {}"
DENIED = (
    'audit[412]: AVC avc:  denied  { read write } for  pid=412 comm="vllm" name="nvidiactl" dev="devtmpfs" '
    "scontext=system_u:system_r:container_t:s0:c1,c9 tcontext=system_u:object_r:device_t:s0 tclass=chr_file permissive=0"
)


def test_a_journal_tells_in_its_own_order() -> None:
    lines = [JOURNAL.format(1, "systemd[1]: Started vllm.service."), JOURNAL.format(2, DENIED)]
    lines += [JOURNAL.format(5, f"vllm[410]: {line}") for line in (*START, *NO_DEVICE)]
    report = told(*lines)
    assert report.verdict is not None
    assert report.verdict.cause == "container.selinux_denied"
    assert report.verdict.first_anomaly.line == 2
    assert len(report.attempts) == 1


def test_a_day_without_its_year_is_no_point_in_time() -> None:
    report = told(*[JOURNAL.format(5, f"vllm[410]: {line}") for line in (*START, *NO_DEVICE)])
    assert report.verdict is not None
    assert report.verdict.first_anomaly.timestamp is None
    dated = [f"2026-09-16T14:02:05+00:00 rhel-1 vllm[410]: {line}" for line in (*START, *NO_DEVICE)]
    report = told(*dated)
    assert report.verdict is not None
    assert report.verdict.first_anomaly.timestamp == "2026-09-16T14:02:05Z"


def test_a_strangers_reaper_is_no_echo_of_ours() -> None:
    kernel = [
        "[ 100.000001] node_exporter invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=990",
        "[ 100.000002] Memory cgroup out of memory: Killed process 881 (node_exporter) total-vm:900kB, anon-rss:80kB",
        "[ 100.000003] oom_reaper: reaped process 881 (node_exporter), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    ]
    report = triage([f"{line}\n" for line in (*START, *READY, *[ANSWER] * 3)], [f"{line}\n" for line in kernel])
    assert report.status == "healthy"


def test_the_phase_of_a_witness_is_the_one_that_it_ended() -> None:
    kernel = ["[ 500.000001] NVRM: Xid (PCI:0000:a1:00): 79, pid=90, name=VLLM::Worker, GPU has fallen off the bus."]
    end = ["(APIServer pid=7) INFO:     Shutting down"]
    report = triage([f"{line}\n" for line in (*START, *READY, ANSWER, *end)], [f"{line}\n" for line in kernel])
    assert report.verdict is not None
    assert report.verdict.phase == "serving"


def test_one_servers_readiness_does_not_speak_for_another() -> None:
    refused = [*TRACE, "(APIServer pid=7) OSError: [Errno 98] Address already in use"]
    pods = {"[pod/llm-a/vllm] ": [*START, *READY, ANSWER], "[pod/llm-b/vllm] ": [*START, *refused]}
    first, second = ([name + line for line in lines] for name, lines in pods.items())
    for log in ([*first[:2], *second, *first[2:]], [*second, *first], [*first, *second]):
        report = told(*log)
        assert report.verdict is not None
        assert report.verdict.cause == "config.port_in_use"
    name = "[pod/llm-a/vllm] "
    tried = [name + line for line in (*START, *refused, *READY, *[ANSWER] * 3)]
    assert told(*tried).status == "healthy"

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.helpers import INNER, VLLM, texts, unwrap


@pytest.mark.parametrize(
    ("prefix", "envelope", "stream", "node", "container", "timed"),
    [
        ("2026-03-11T17:57:58.953878239Z ", "timestamps", None, None, None, True),
        ("2026-03-11T17:57:58+09:00 ", "timestamps", None, None, None, True),
        ("vllm\tRun tests\t2026-03-11T17:57:58.9538782Z ", "github", None, None, None, True),
        ("0s0n9esxgd0u45[error]", "runpod", None, None, None, False),
        ("2026-03-11T17:57:58.953878239Z stderr F ", "cri", "stderr", None, None, True),
        ("2026-03-11T17:57:58.953878239Z stdout F:x:y ", "cri", "stdout", None, None, True),
        ("2026-03-11T17:57:58.953878239+09:00 stdout ", "cri", "stdout", None, None, True),
        ("vllm-1  | ", "compose", None, None, "vllm-1", False),
        ("vllm_1       | ", "compose", None, None, "vllm_1", False),
        ("[pod/vllm-7c9d-bbbbb/server] ", "kubectl", None, "vllm-7c9d-bbbbb", "server", False),
        ("[pod/vllm-0/server] 2026-03-11T17:57:58.953Z ", "kubectl", None, "vllm-0", "server", True),
        ("Aug 19 18:30:11 node-a vllm[8707]: ", "journald", None, "node-a", "vllm", True),
        ("Aug  9 18:30:11.123456 node-a vllm[8707]: ", "journald", None, "node-a", "vllm", True),
        ("2026-06-17T09:01:22+0000 node-a vllm[8707]: ", "journald", None, "node-a", "vllm", True),
        ("1718614882.114930 node-a vllm[8707]: ", "journald", None, "node-a", "vllm", True),
        ("<30>Dec  1 02:00:00 node-a 9751845b0000[1189]: ", "syslog", None, "node-a", "9751845b0000", True),
        ("<30>Dec  1 02:00:00 vllm[1189]: ", "syslog", None, None, "vllm", True),
        ("<27>1 2026-10-18T08:00:00.000001Z node-a docker 912 docker - ", "syslog", None, "node-a", "docker", True),
        (
            '<27>1 2026-10-18T08:00:00Z node-a docker - - [a@1 k="v"][b@1 n="x y"] ',
            "syslog",
            None,
            "node-a",
            "docker",
            True,
        ),
        ("12: ", "slurm", None, None, None, False),
        ("10.0.0.9: kern: warning: [2026-04-22T21:26:20.599Z]: ", "talos", None, "10.0.0.9", "kernel", True),
    ],
)
def test_prefix_goes_and_its_fields_stay(
    prefix: str, envelope: str, stream: str | None, node: str | None, container: str | None, timed: bool
) -> None:
    (record,) = unwrap(prefix + VLLM)
    assert record.text == INNER
    assert record.envelopes[0] == envelope
    assert record.stream == stream
    assert (record.process.node, record.process.container) == (node, container)
    assert (record.process.name, record.process.pid) == ("EngineCore_DP0", 68)
    assert (record.time is not None) is timed
    assert record.raw == prefix + VLLM


def test_a_time_without_year_says_so() -> None:
    assert not unwrap("Aug 19 18:30:11 node-a vllm[8707]: x")[0].year_known
    assert unwrap("2026-06-17T09:01:22+0000 node-a vllm[8707]: x")[0].year_known


def test_indentation_survives() -> None:
    for prefix in ("2026-03-11T17:57:58Z ", "2026-03-11T17:57:58Z stderr F ", "vllm-1  | ", "[pod/a-0/b] "):
        assert texts(prefix + '  File "x.py", line 1') == ['  File "x.py", line 1']


def test_empty_text_behind_a_prefix() -> None:
    for prefix in ("2026-03-11T17:57:58Z ", "2026-03-11T17:57:58Z stderr F ", "vllm-1  | ", "2026-03-11T17:57:58Z"):
        assert texts(prefix) == [""]


def test_cri_parts_are_joined_by_stream() -> None:
    stamp = "2026-03-11T17:57:58.1Z"
    records = unwrap(
        f"{stamp} stdout P (EngineCore pid=3) INFO one \n{stamp} stderr F between\n{stamp} stdout P two \n{stamp} stdout F three"
    )
    assert [(record.line, record.text) for record in records] == [(2, "between"), (1, "INFO one two three")]
    assert records[1].process.pid == 3
    assert records[1].offset == 0


def test_compose_among_unprefixed_lines() -> None:
    log = "[+] Running 1/1\nAttaching to db, web\nweb   | a | b\ndb    | c\nweb   |\nweb exited with code 137\ndb    |   d"
    records = unwrap(log)
    assert [record.text for record in records] == [
        "[+] Running 1/1",
        "Attaching to db, web",
        "a | b",
        "c",
        "",
        "web exited with code 137",
        "  d",
    ]


@pytest.mark.parametrize(
    "log",
    [
        "| N/A   41C    P0 |  0MiB / 81559MiB |\n| N/A   42C    P0 |  0MiB / 81559MiB |",
        "INFO | service | up\nINFO | service | up",
        "2026-07-14 12:16:22 | INFO | bench | start\n2026-07-14 12:16:22 | INFO | bench | end",
        "1: first step\n2: second step\n3: third step",
        "RuntimeError: a\nRuntimeError: a\nRuntimeError: a",
        "NVRM: loaded\nNVRM: loaded\nNVRM: loaded",
        "docker: Error response from daemon: x\ndocker: y\ndocker: z",
        "a plain text line\na plain text line\na plain text line",
        "2025-06-19T11:30:10+08:00 - app.worker - INFO - Preparing",
        "2025-06-19 11:30:10,123 ERR cli.py:71 -- x\n2025-06-19 11:30:10,123 ERR cli.py:71 -- y",
    ],
)
def test_text_that_only_looks_wrapped_stays(log: str) -> None:
    assert texts(log) == log.split("\n")


def test_stern_with_and_without_markers() -> None:
    marked = "+ web-5d7c-aaaaa › vllm\nweb-5d7c-aaaaa vllm one\nns web-5d7c-aaaaa vllm two\nother line here"
    assert texts(marked)[1:] == ["one", "two", "other line here"]
    bare = "\n".join(f"web-5d7c-aaaaa vllm line {n}" for n in range(5))
    records = unwrap(bare)
    assert [record.text for record in records] == [f"line {n}" for n in range(5)]
    assert records[0].process.node == "web-5d7c-aaaaa"


def test_slurm_labels_also_on_empty_and_padded_lines() -> None:
    assert texts("0: a\n1: b\n0:\n 1: d\n0:   e\nslurmstepd: error: x") == [
        "a",
        "b",
        "",
        "d",
        "  e",
        "slurmstepd: error: x",
    ]


def test_pdsh_hosts_are_elected() -> None:
    records = unwrap("node-a: one\nnode-b: two\nnode-a:   three\nnode-b: four")
    assert [record.text for record in records] == ["one", "two", "  three", "four"]
    assert records[0].process.node == "node-a"
    assert texts("node-a: one\nhello") == ["node-a: one", "hello"]


def test_docker_desktop_only_where_all_lines_have_it() -> None:
    assert texts("2026-03-02 23:30:43 ====\n2026-03-02 23:30:43   *** SIGBUS") == ["====", "  *** SIGBUS"]
    mixed = ["2026-03-02 23:30:43 ====", "Traceback (most recent call last):"]
    assert texts("\n".join(mixed)) == mixed


def test_kubetail_names() -> None:
    log = "\n".join(f"server INFO 05-10 07:34:4{n} [a.py:{n}] x" for n in range(5))
    assert unwrap(log)[0].text == "INFO 05-10 07:34:40 [a.py:0] x"


def test_syslog_octal_and_repeats() -> None:
    assert texts("<30>Dec  1 02:00:00 h vllm[1]: #033[36m(raylet)#033[0m a#011b") == ["a\tb"]
    (record,) = unwrap("Dec  1 02:00:00 h kernel: message repeated 7 times: [ oops]")
    assert (record.text, record.count) == ("oops", 7)


def test_docker_raw_frames() -> None:
    def frame(stream: int, text: bytes) -> bytes:
        return bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text

    # A text of 10 bytes puts an LF into the header itself.
    records = unwrap(frame(1, b"hello\n") + frame(2, b"123456789\n") + frame(2, b"x" * 300 + b"\n"))
    kept = [(record.text, record.stream) for record in records if record.text]
    assert [text for text, _ in kept] == ["hello", "123456789", "x" * 300]
    assert kept[0][1] == "stdout"
    assert kept[2][1] == "stderr"


def test_nuls_and_marks_go() -> None:
    assert texts(b"\0\0\0(A pid=1) hi\n\xef\xbb\xbf(A pid=1) ho") == ["hi", "ho"]


def test_fluent_bit_stdout_and_fluentd_files() -> None:
    (record,) = unwrap('[0] kube.x.log: [[1718600000.123456789, {}], {"log"=>"a \\"b\\"\\n", "stream"=>"stderr"}]')
    assert (record.text, record.stream) == ('a "b"', "stderr")
    assert texts('2026-07-23T22:46:17+00:00\tkube.x\t{"log":"hi\\n","stream":"stdout","kubernetes":{}}') == ["hi"]


def test_logcli() -> None:
    (record,) = unwrap('2026-01-01T00:00:00Z {app="vllm", pod="a{b"} hi')
    assert (record.text, record.envelopes) == ("hi", ("loki",))


TIME = "2026-03-11T17:57:58.953878239Z"


def as_row(columns: list[str], quoting: int = csv.QUOTE_MINIMAL) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=quoting, lineterminator="").writerow(columns)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_the_line_of_a_csv_row(quoting: int) -> None:
    for columns in ([TIME, VLLM], [TIME, "pod-1", "vllm", "stderr", VLLM], [TIME, VLLM, "stderr"]):
        (record,) = unwrap(as_row(columns, quoting))
        assert (record.text, record.envelopes[0], record.time is not None) == (INNER, "csv", True)
        assert record.stream == ("stderr" if "stderr" in columns else None)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=9), st.sampled_from(["", "a-0"]))
def test_a_quoted_frame_comes_back(text: str, pod: str) -> None:
    line = f'  File "{text}", line 1, in <module>'
    assert texts(as_row([TIME, pod, line])) == [line]


def test_a_row_that_its_message_breaks() -> None:
    assert texts(f'"{TIME}","Traceback (most recent call last):') == ["Traceback (most recent call last):"]


@pytest.mark.parametrize(
    "line", ["2026-03-11 17:57:58,953 [trainer:0] step=1, loss=2", f'"{TIME}" is a time', f'"{TIME}","a"b', f"{TIME};x"]
)
def test_what_is_no_csv_row(line: str) -> None:
    assert "csv" not in unwrap(line)[0].envelopes

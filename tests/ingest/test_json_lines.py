import json
from typing import Any

import pytest

from tests.ingest.helpers import INNER, VLLM, texts, unwrap

KUBERNETES = {"pod_name": "vllm-0", "container_name": "server", "namespace_name": "x", "host": "node-a"}
TIME = "2026-03-01T10:20:30.5Z"


def line(item: object) -> str:
    return json.dumps(item)


def otlp(*records: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": "vllm-0"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": list(records)}]}]}


SHAPES: list[tuple[str, dict[str, Any], str | None, str | None, str | None]] = [
    ("docker-json", {"log": VLLM + "\n", "stream": "stderr", "time": TIME}, "stderr", None, None),
    (
        "docker-json",
        {"log": VLLM + "\r\n", "stream": "stderr", "attrs": {"tag": "c"}, "time": TIME},
        "stderr",
        None,
        "c",
    ),
    (
        "docker-fluentd",
        {"container_id": "f00", "container_name": "/vllm", "source": "stderr", "log": VLLM, "time": TIME},
        "stderr",
        None,
        "vllm",
    ),
    (
        "docker-splunk",
        {"event": {"line": VLLM, "source": "stdout", "tag": "t"}, "time": "1772360430.5"},
        "stdout",
        None,
        "t",
    ),
    (
        "gelf",
        {"version": "1.1", "host": "node-a", "short_message": VLLM, "timestamp": 1772360430.5, "_container_name": "c"},
        None,
        "node-a",
        "c",
    ),
    (
        "fluent-bit",
        {"@timestamp": TIME, "stream": "stdout", "_p": "F", "log": VLLM, "kubernetes": KUBERNETES},
        "stdout",
        "vllm-0",
        "server",
    ),
    ("fluent-bit", {"date": 1772360430.5, "message": VLLM, "stream": "stdout"}, "stdout", None, None),
    (
        "vector",
        {"message": VLLM, "stream": "stdout", "container_name": "c", "timestamp": TIME, "host": "node-a"},
        "stdout",
        "node-a",
        "c",
    ),
    (
        "stern",
        {"message": VLLM, "podName": "vllm-0", "containerName": "server", "namespace": "x"},
        None,
        "vllm-0",
        "server",
    ),
    ("elastic", {"@timestamp": TIME, "message": VLLM, "host": {"name": "node-a"}}, None, "node-a", None),
    ("elastic", {"@timestamp": TIME, "event": {"original": VLLM}, "container": {"name": "c"}}, None, None, "c"),
    ("cloudwatch", {"timestamp": 1772360430500, "message": VLLM, "ingestionTime": 1772360431000}, None, None, None),
    (
        "gcp",
        {
            "textPayload": VLLM,
            "severity": "ERROR",
            "timestamp": TIME,
            "logName": "projects/p/logs/stderr",
            "resource": {"labels": {"pod_name": "vllm-0", "container_name": "server"}},
        },
        "stderr",
        "vllm-0",
        "server",
    ),
    ("gcp", {"jsonPayload": {"message": VLLM}, "timestamp": TIME}, None, None, None),
    (
        "datadog",
        {
            "type": "log",
            "attributes": {"message": VLLM, "timestamp": TIME, "host": "node-a", "service": "s", "tags": []},
        },
        None,
        "node-a",
        "s",
    ),
    (
        "loki",
        {"labels": {"pod": "vllm-0", "container": "server"}, "line": VLLM, "timestamp": TIME},
        None,
        "vllm-0",
        "server",
    ),
    ("azure", {"TimeGenerated": TIME, "LogMessage": VLLM, "LogSource": "stderr", "PodName": "p"}, "stderr", "p", None),
    (
        "otlp",
        otlp({"timeUnixNano": "1772360430500000000", "body": {"stringValue": VLLM}}),
        None,
        "vllm-0",
        None,
    ),
    (
        "journald",
        {"__REALTIME_TIMESTAMP": "1772360430500000", "_HOSTNAME": "node-a", "SYSLOG_IDENTIFIER": "c", "MESSAGE": VLLM},
        None,
        "node-a",
        "c",
    ),
]


@pytest.mark.parametrize(("kind", "item", "stream", "node", "container"), SHAPES)
def test_shape(kind: str, item: dict[str, Any], stream: str | None, node: str | None, container: str | None) -> None:
    (record,) = unwrap(line(item))
    assert (record.text, record.envelopes, record.stream) == (INNER, (kind,), stream)
    assert (record.process.node, record.process.container) == (node, container)
    assert (record.process.name, record.process.pid) == ("EngineCore_DP0", 68)
    if kind != "stern":
        assert record.time == 1772360430.5


def test_docker_parts_are_joined_per_stream() -> None:
    def part(text: str, stream: str) -> str:
        return line({"log": text, "stream": stream, "time": TIME})

    records = unwrap(
        "\n".join(
            [part("(A pid=1) one ", "stdout"), part("other ", "stderr"), part("two\n", "stdout"), part("x\n", "stderr")]
        )
    )
    assert [(record.line, record.text) for record in records] == [(1, "one two"), (2, "other x")]


def test_parts_that_never_end_come_out_at_the_end() -> None:
    log = "\n".join(
        [line({"log": "a\n", "stream": "stdout", "time": TIME}), line({"log": "b", "stream": "stdout", "time": TIME})]
    )
    assert texts(log) == ["a", "b"]


def test_a_gap_ends_waiting_parts() -> None:
    from k3triage.ingest import Unwrapper
    from k3triage.model.records import RawLine

    unwrapper = Unwrapper("x", b'{"log":"a\\n","stream":"stdout","time":""}\n')
    first = line({"log": "a", "stream": "stdout", "time": TIME}).encode()
    second = line({"log": "b\n", "stream": "stdout", "time": TIME}).encode()
    assert unwrapper.feed(RawLine(0, 1, first)) == []
    records = unwrapper.feed(RawLine(900, 9, second, gap=True))
    assert [(record.line, record.text) for record in records] == [(1, "a"), (9, "b")]


def test_without_newlines_in_the_file_each_record_is_whole() -> None:
    log = "\n".join(line({"log": text, "stream": "stdout", "time": TIME}) for text in ("a", "b"))
    assert texts(log) == ["a", "b"]


def test_several_lines_in_one_payload() -> None:
    records = unwrap(line({"log": "(A pid=1) x\n(B pid=2)   y\r\n\nz\n", "stream": "stdout", "time": TIME}))
    assert [record.text for record in records] == ["x", "  y", "", "z"]
    assert [record.process.name for record in records] == ["A", "B", None, None]
    assert {record.line for record in records} == {1}


@pytest.mark.parametrize(
    ("value", "text"),
    [(list(b"\x1b[31m(A pid=1) x\x1b[0m"), "x"), (None, ""), (list("é".encode()), "é"), (["x", "y"], "x")],
)
def test_journald_messages_that_are_no_strings(value: object, text: str) -> None:
    item = {"__REALTIME_TIMESTAMP": "1772360430500000", "_HOSTNAME": "h", "_PID": "7", "MESSAGE": value}
    assert texts(line(item))[0] == text


def test_own_json_log() -> None:
    item = {"asctime": "2026-03-01 10:20:30,500", "levelname": "ERROR", "name": "vllm", "message": "boom", "process": 7}
    (record,) = unwrap(line(item))
    assert (record.text, record.level, record.process.pid, record.time) == ("boom", "ERROR", 7, 1772360430.5)
    trace = 'Traceback (most recent call last):\n  File "a.py"\nValueError: x'
    assert texts(line(item | {"exc_info": trace})) == ["boom", *trace.split("\n")]


def test_objects_of_other_kinds_stay_as_they_are() -> None:
    for text in (
        '{"Status":"exited","OOMKilled":true}',
        "{'model': 'x', 'dtype': 'auto'}",
        "{",
        "{}",
        '{"message":"x"}',
    ):
        assert texts(text) == [text]


def test_a_record_cut_by_the_end_of_the_file() -> None:
    whole = line({"log": "fine\n", "stream": "stderr", "time": TIME})
    torn = line({"log": 'ValueError: é "quoted" and so on\n', "stream": "stderr", "time": TIME})[:40]
    records = unwrap(f"{whole}\n{torn}")
    assert records[1].text.startswith('ValueError: é "quo')
    assert records[1].line == 2


def test_deep_nesting_ends() -> None:
    text = "bottom"
    for _ in range(12):
        text = line({"log": text, "stream": "stdout", "time": TIME})
    assert len(unwrap(text)) == 1
    assert unwrap("{" * 100_000)
    assert unwrap('{"log":' * 5000)

import json
from typing import Any

import pytest

from k3triage.ingest import explode

T = "2026-03-01T10:20:3{}Z"


def dump(value: object, indent: int | None = 2) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def lines_of(data: bytes, needle: str) -> int:
    """1-based line on which the needle stands."""
    return next(n for n, row in enumerate(data.decode().split("\n"), 1) if needle in row)


def check(document: object, kind: str, indent: int | None = 2) -> None:
    data = dump(document, indent)
    records = explode("x", data)
    assert records is not None
    assert [record.text for record in records] == ["first é", "  second", "third"]
    assert [record.envelopes for record in records] == [(kind,)] * 3
    for record, needle in zip(records, ("first é", "  second", "third"), strict=True):
        assert record.line == lines_of(data, needle)
        assert needle in record.raw
        assert data[record.offset :].decode().startswith(record.raw)
    assert [record.process.name for record in records] == ["A", None, None]


TEXTS = ["(A pid=1) first é", "  second", "third"]


def gcp(number: int) -> dict[str, Any]:
    return {"labels": {"message": "unrelated"}, "textPayload": TEXTS[number], "timestamp": T.format(number)}


@pytest.mark.parametrize("indent", [None, 2])
def test_gcp_newest_first(indent: int | None) -> None:
    check([gcp(2), gcp(1), gcp(0)], "gcp", indent)
    check({"entries": [gcp(0), gcp(1), gcp(2)]}, "gcp", indent)


def test_elastic_hits() -> None:
    hits = [{"_source": {"@timestamp": T.format(n), "message": TEXTS[n]}, "sort": [n]} for n in (2, 1, 0)]
    check({"took": 1, "hits": {"total": {"value": 3}, "hits": hits}}, "elastic")


def test_cloudwatch() -> None:
    events = [{"timestamp": 1772360430000 + n, "message": TEXTS[n], "ingestionTime": 1} for n in range(3)]
    check({"events": events, "nextForwardToken": "f/1"}, "cloudwatch")
    rows = [
        [{"field": "@timestamp", "value": T.format(n)}, {"field": "@message", "value": TEXTS[n]}] for n in (2, 1, 0)
    ]
    check({"results": rows, "status": "Complete"}, "cloudwatch")


def test_datadog() -> None:
    data = [
        {"id": str(n), "type": "log", "attributes": {"message": TEXTS[n], "timestamp": T.format(n)}} for n in (2, 1, 0)
    ]
    check({"data": data, "meta": {}}, "datadog")


def test_loki_streams_are_merged_by_nanoseconds() -> None:
    at = 1772360430000000000
    streams = [
        {"stream": {"pod": "a"}, "values": [[str(at + 2), TEXTS[2]], [str(at), TEXTS[0]]]},
        {"stream": {"pod": "b"}, "values": [[str(at + 1), TEXTS[1]]]},
    ]
    document = {"status": "success", "data": {"resultType": "streams", "result": streams}}
    check(document, "loki")
    check(document, "loki", None)


@pytest.mark.parametrize("snake", [False, True])
def test_otlp(snake: bool) -> None:
    def name(camel: str, underscored: str) -> str:
        return underscored if snake else camel

    records = [
        {
            name("timeUnixNano", "time_unix_nano"): str(1772360430000000000 + n),
            "body": {name("stringValue", "string_value"): TEXTS[n]},
            "attributes": [{"key": "x", "value": {"stringValue": "third"}}] if n == 0 and not snake else [],
        }
        for n in range(3)
    ]
    scope = {name("logRecords", "log_records"): records}
    check(
        {name("resourceLogs", "resource_logs"): [{name("scopeLogs", "scope_logs"): [scope]}]},
        "otlp",
        None if not snake else 2,
    )


def test_azure_tables() -> None:
    columns = [{"name": "TimeGenerated"}, {"name": "LogMessage"}]
    rows = [[T.format(n), TEXTS[n]] for n in (2, 1, 0)]
    records = explode("x", dump({"tables": [{"name": "PrimaryResult", "columns": columns, "rows": rows}]}))
    assert records is not None
    assert [record.text for record in records] == ["first é", "  second", "third"]


def test_journald_pretty_objects_one_after_another() -> None:
    items = [
        {
            "__REALTIME_TIMESTAMP": str(1772360430000000 + n),
            "_HOSTNAME": "h",
            "MESSAGE": list(TEXTS[n].encode()) if n == 1 else TEXTS[n],
        }
        for n in range(3)
    ]
    data = b"\n".join(dump(item, 8) for item in items)
    records = explode("x", data)
    assert records is not None
    assert [record.text for record in records] == ["first é", "  second", "third"]
    assert [record.line for record in records] == [
        4,
        next(n for n, row in enumerate(data.split(b"\n"), 1) if b'"MESSAGE": [' in row),
        lines_of(data, "third"),
    ]


def test_equal_times_keep_the_order_unless_tracebacks_stand_on_their_head() -> None:
    trace = ["ValueError: x", '  File "a.py", line 1', "Traceback (most recent call last):"]
    rows = [{"textPayload": text, "timestamp": T.format(0)} for text in trace]
    records = explode("x", dump(rows))
    assert records is not None
    assert [record.text for record in records] == trace[::-1]
    records = explode("x", dump(rows[::-1]))
    assert records is not None
    assert [record.text for record in records] == trace[::-1]


def test_equal_texts_have_their_own_lines() -> None:
    data = dump([{"textPayload": "same", "timestamp": T.format(n)} for n in range(3)])
    records = explode("x", data)
    assert records is not None
    assert [record.line for record in records] == [3, 7, 11]


def test_wrapped_messages_are_unwrapped() -> None:
    inner = json.dumps({"log": "(A pid=1) deep\n", "stream": "stderr", "kubernetes": {"pod_name": "p"}})
    records = explode("x", dump({"events": [{"timestamp": 1772360430000, "message": inner}]}))
    assert records is not None
    assert (records[0].text, records[0].envelopes) == ("deep", ("cloudwatch", "fluent-bit"))


@pytest.mark.parametrize(
    "data",
    [
        dump([{"Id": "f00", "State": {"Status": "exited", "ExitCode": 137}, "Config": {"Cmd": ["serve"]}}]),
        dump({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "status": {"message": "x"}}]}),
        dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "status": {"phase": "Failed"}}),
        dump({"model_type": "llama", "architectures": ["X"]}),
        b'{"log":"a\\n","stream":"stdout","time":"2026-03-01T10:20:30Z"}\n{"log":"b\\n","stream":"stdout","time":""}\n',
        b"plain text",
        b"",
        b"[",
        b"{" * 10_000,
        b"[" * 10_000,
        b"[]",
        b"[1, 2, 3]",
        b"[rank0]: Traceback",
        b'{"data": {"result": 5}}',
    ],
)
def test_other_documents_are_not_log_exports(data: bytes) -> None:
    assert explode("x", data) is None

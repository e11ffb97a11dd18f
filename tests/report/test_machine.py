"""JSON, NDJSON, SARIF and workflow annotations: what other programs read."""

import json
import re

from k3triage.model.report import Report
from k3triage.report.github import render_github
from k3triage.report.json import render_json
from k3triage.report.ndjson import render_ndjson
from k3triage.report.sarif import render_sarif
from tests.report.conftest import anomaly, build, finding, verdict


def test_json_is_the_report(diagnosed: Report, hostile: Report) -> None:
    for report in (diagnosed, hostile):
        for indent in (None, 2):
            text = render_json(report, indent=indent)
            assert json.loads(text) == report.model_dump(mode="json")
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f‮]", text)
    assert render_json(diagnosed).count("\n") == 1


def test_a_file_name_that_is_no_utf8_gives_json_all_the_same() -> None:
    report = build(inputs=[{"source": "a", "bytes": 1}])
    report.inputs[0].source = "bad\udcffname"
    for indent in (None, 2):
        text = render_json(report, indent=indent)
        assert json.loads(text.encode())["inputs"][0]["source"] == "bad\ufffdname"
    assert "bad\ufffdname" in render_ndjson(report)


def test_ndjson_has_a_line_a_finding_and_the_verdict_last(diagnosed: Report, healthy: Report) -> None:
    rows = [json.loads(line) for line in render_ndjson(diagnosed).splitlines()]
    assert [row["type"] for row in rows] == ["finding"] * 4 + ["verdict"]
    assert rows[1]["cause"] == "nccl.closed_by_peer" and rows[1]["count"] == 1200
    assert rows[-1]["status"] == "diagnosed" and rows[-1]["verdict"]["first_anomaly"]["line"] == 412
    only = [json.loads(line) for line in render_ndjson(healthy).splitlines()]
    assert len(only) == 1 and only[0]["verdict"] is None


def test_sarif_names_the_place_and_the_levels(diagnosed: Report) -> None:
    document = json.loads(render_sarif(diagnosed))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    results = run["results"]
    assert [r["level"] for r in results] == ["error", "note", "note", "note"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "node0.log" and place["region"]["startLine"] == 412
    assert place["contextRegion"] == {"startLine": 392, "endLine": 412}
    for result in results:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_uris_and_unread_inputs() -> None:
    report = build(
        verdict=verdict(first_anomaly=anomaly(source="/var/log/a b#1.log")),
        inputs=[{"source": "x.log", "bytes": 0, "error": "denied"}],
    )
    (run,) = json.loads(render_sarif(report))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "file:///var/log/a%20b%231.log"
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "denied" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_of_a_healthy_log_has_no_result(healthy: Report) -> None:
    (run,) = json.loads(render_sarif(healthy))["runs"]
    assert run["results"] == [] and run["invocations"][0]["executionSuccessful"] is True


def test_github_annotates_the_line(diagnosed: Report, healthy: Report) -> None:
    (line,) = render_github(diagnosed).splitlines()
    assert line.startswith("::error file=node0.log,line=412,title=startup_oom%3A The KV cache")
    assert "%0A1. Lower --max-model-len: vllm serve m --max-model-len 4096" in line
    assert render_github(healthy) == "::notice title=k3triage::Nothing wrong found\n"
    assert render_github(build("inconclusive")).startswith("::warning file=node0.log")


def test_github_commands_cannot_be_injected(hostile: Report) -> None:
    text = render_github(hostile)
    assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in text.splitlines())
    report = build(verdict=verdict(first_anomaly=anomaly(source="a,line=1:b.log", text="x\n::stop-commands::y\r100%")))
    (line,) = render_github(report).splitlines()
    assert line.startswith("::error file=a%2Cline=1%3Ab.log,line=412,")
    assert "x ::stop-commands::y 100%25" in line


def test_github_warns_of_other_roots_and_unread_inputs() -> None:
    report = build(
        findings=[finding("hardware.xid_79", "root")], inputs=[{"source": "x.log", "bytes": 0, "error": "denied"}]
    )
    lines = render_github(report).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::warning"]

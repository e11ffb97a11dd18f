import re

import pytest

from k3triage.model.report import Report
from k3triage.report.clean import columns
from k3triage.report.text import MOST_LINES, render_text
from tests.report.conftest import anomaly, build, finding, verdict


def test_says_what_where_why_and_what_to_do(diagnosed: Report) -> None:
    text = render_text(diagnosed)
    assert text.startswith("STARTUP_OOM: The KV cache does not hold one request (confirmed, phase memory_profile)\n")
    lines = text.splitlines()
    assert any(line.startswith("node0.log:412") and "EngineCore_DP0 pid 512" in line for line in lines)
    assert "> 412 | ValueError: too small" in lines
    assert "  - nothing failed before it" in lines
    assert "  1. Lower --max-model-len (because 4096 fits)" in lines
    assert "     $ vllm serve m --max-model-len 4096" in lines
    assert "  - Restarting: it fails again" in lines
    assert "    $ nvidia-smi" in lines
    echoes = "Echoes of it, 1,204 in all: nccl.closed_by_peer 1,200, unknown.engine_core_died 4"
    assert echoes in lines
    assert "Recovered: model.shard_retry at node0.log:88" in lines


def test_the_place_is_never_cut() -> None:
    source = "/var/log/" + "pods/" * 40 + "node0.log"
    rows = render_text(build(verdict=verdict(first_anomaly=anomaly(source=source))), width=80).splitlines()
    at = rows.index(f"{source}:412")
    assert rows[at + 1].startswith("    EngineCore_DP0 pid 512  rank 0")


def test_no_colour_unless_asked(diagnosed: Report) -> None:
    plain, coloured = render_text(diagnosed), render_text(diagnosed, color=True)
    assert "\x1b" not in plain
    assert coloured.startswith("\x1b[1;31mSTARTUP_OOM")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_stays_short_however_much_there_is_to_say() -> None:
    step = {"action": "Do this long thing " * 12, "command": "cmd \\\n --a \\\n --b"}
    big = build(
        verdict=verdict(
            why=["because " * 40] * 9,
            remediation=[step] * 12,
            avoid=[{"action": "no " * 40, "because": "bad " * 40}] * 9,
            missing=[{"what": "w " * 50, "command": "c", "because": "b"}] * 9,
        ),
        findings=[finding(f"nccl.cause_{n}", "cascade", n + 1) for n in range(40)],
    )
    for width in (60, 100):
        text = render_text(big, width=width)
        assert len(text.splitlines()) <= MOST_LINES
        assert all(columns(line) <= width for line in text.splitlines())
        assert "  1. Do this long thing" in text and "more" in text


def test_a_long_line_takes_four_rows_and_loses_its_middle() -> None:
    line = "RuntimeError: begins here " + "pad " * 500 + "ends here"
    rows = render_text(build(verdict=verdict(first_anomaly=anomaly(text=line))), width=80).splitlines()
    start = next(number for number, row in enumerate(rows) if "begins here" in row)
    assert "..." in "".join(rows[start : start + 4]) and rows[start + 3].endswith("ends here") and rows[start + 4] == ""
    assert all(columns(row) <= 80 for row in rows)
    whole = "RuntimeError: " + "word " * 50 + "end"
    text = render_text(build(verdict=verdict(first_anomaly=anomaly(text=whole))), width=80)
    assert whole in re.sub(r"\n +\| ", " ", text)


def test_neighbours_stand_around_the_line_on_one_row_each() -> None:
    context = [{"line": 410, "text": "before \x1b[2J" + "x" * 300}, {"line": 413, "text": "after"}]
    rows = render_text(build(verdict=verdict(first_anomaly=anomaly(context=context))), width=80).splitlines()
    at = next(number for number, row in enumerate(rows) if row.startswith("> 412 | "))
    assert rows[at - 1].startswith("  410 | before") and rows[at + 1] == "  413 | after"
    assert all(columns(row) <= 80 and "\x1b" not in row for row in rows)


def test_statuses_have_their_own_words(healthy: Report) -> None:
    assert render_text(healthy) == "Nothing wrong found (1 input, 1,460 lines)\n"
    unknown = render_text(build("unknown_failure", verdict=verdict(layer="unknown", cause="unknown.exception")))
    assert "no rule knows" in unknown.splitlines()[0] and "rules new --from-line" in unknown
    inconclusive = render_text(build("inconclusive"))
    assert "lies outside these inputs" in inconclusive.splitlines()[0]
    assert "best guess: startup_oom" in inconclusive
    assert "Bring this" in inconclusive and "Lower --max-model-len" not in inconclusive


def test_nothing_read_is_not_called_healthy() -> None:
    report = build("healthy", inputs=[{"source": "gone.log", "bytes": 0, "error": "no such file"}])
    text = render_text(report)
    assert text.startswith("Nothing was read") and "Could not read gone.log: no such file" in text
    part = build("healthy", inputs=[*[i.model_dump() for i in report.inputs], {"source": "a", "bytes": 5, "lines": 1}])
    assert render_text(part).startswith("Nothing wrong found in what could be read")


def test_attempts_name_the_one_that_the_verdict_is_about() -> None:
    attempts = [
        {"source": "node0.log", "start_line": 1, "end_line": 300, "outcome": "failed", "cause": "a.b"},
        {"source": "node0.log", "start_line": 301, "end_line": 460, "outcome": "failed", "cause": "a.b"},
        {"source": "node0.log", "start_line": 461, "end_line": 500, "outcome": "healthy", "cause": None},
    ]
    text = render_text(build(attempts=attempts))
    assert "Attempts: 2 failed, 1 healthy; this is about node0.log:301-460" in text


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_both_languages_show_the_same_facts(lang: str, diagnosed: Report) -> None:
    text = render_text(diagnosed, lang=lang)  # type: ignore[arg-type]
    for fact in ("STARTUP_OOM", "node0.log:412", "vllm serve m --max-model-len 4096", "1,204"):
        assert fact in text
    assert ("理由" in text) == (lang == "ja")
    assert all(columns(line) <= 100 for line in text.splitlines())


def test_hostile_text_cannot_reach_the_terminal(hostile: Report) -> None:
    text = render_text(hostile)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f‮]", text)

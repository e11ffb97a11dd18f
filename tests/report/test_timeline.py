"""The timeline of an incident in text, Markdown and JSON."""

from typing import Any

from k3triage.model.report import Report
from tests.report.conftest import HOSTILE, verdict


def row(**changes: Any) -> dict[str, Any]:
    return {
        "when": "11-20 10:20:00",
        "who": "rank 3 on node1",
        "source": "node1.log",
        "line": 412,
        "what": "startup_oom.kv_cache_too_small",
        "role": "root",
        "text": "ValueError: too small",
        **changes,
    }


def report(rows: list[dict[str, Any]], inputs: int = 2) -> Report:
    return Report.model_validate(
        {
            "tool": {"version": "0.0.0", "rules": "test"},
            "status": "diagnosed",
            "verdict": verdict(),
            "timeline": rows,
            "clocks": [{"source": "node1.log", "offset_seconds": -62.5, "shared_events": 3}],
            "inputs": [{"source": f"node{number}.log", "bytes": 9, "lines": 1} for number in range(inputs)],
        }
    )


ECHOES = [
    row(
        when="11-20 10:30:00",
        who=f"rank {rank} on node0",
        source="node0.log",
        line=90 + rank,
        what="nccl.collective_timeout",
        role="cascade",
        explained_by="startup_oom.kv_cache_too_small",
    )
    for rank in range(12)
]


def test_text_marks_the_root_and_stays_short() -> None:
    text = report([row(), *ECHOES]).to_text(width=120)
    lines = text.splitlines()
    start = lines.index("What happened when")
    assert lines[start + 1].startswith("  > 11-20 10:20:00 rank 3 on node1")
    assert 2 <= sum("nccl.collective_timeout" in line for line in lines[start + 1 : start + 8]) <= 4
    assert len(lines) <= 35


def test_one_input_needs_no_timeline() -> None:
    assert "What happened when" not in report([row(), *ECHOES], inputs=1).to_text()


def test_markdown_is_a_whole_table_with_clocks() -> None:
    text = report([row(), *ECHOES]).to_markdown()
    assert sum(line.startswith("| 11-20") for line in text.splitlines()) == 13
    assert "-62.5 s" in text


def test_hostile_words_stay_harmless() -> None:
    page = report([row(who=HOSTILE), *ECHOES])
    assert "\x1b" not in page.to_text()
    markdown = page.to_markdown()
    assert "\x1b" not in markdown
    assert "<script>" not in markdown


def test_json_holds_the_rows() -> None:
    again = Report.model_validate_json(report([row(), *ECHOES]).model_dump_json())
    assert len(again.timeline) == 13
    assert again.timeline[1].explained_by == "startup_oom.kv_cache_too_small"
    assert again.clocks[0].offset_seconds == -62.5

"""The figures of a benchmark run as Markdown."""

import statistics
from collections.abc import Iterator
from typing import Any


def _head(*names: str) -> list[str]:
    return ["| " + " | ".join(names) + " |", "| " + " | ".join("---" for _ in names) + " |"]


def _size(count: float) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def markdown(report: dict[str, Any]) -> str:
    """All that was measured, as tables."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: dict[str, Any]) -> Iterator[str]:
    facts = report["machine"]
    yield (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, Python {facts['python']}, {facts.get('rg', '')}; "
        f"load {facts['load']} before the runs, {report['rounds']} rounds. Files lie in the page cache; times are "
        "those of whole processes from start to exit. Ratios are medians of rounds in which all contenders ran in turn."
    )
    for kind, rows in report["logs"].items():
        yield from ("", f"**{kind} log, {_size(rows['bytes'])}** (ratios to ripgrep)", "")
        yield from _head("contender", "wall s", "GB/s", "wall ratio", "cpu s", "cpu ratio", "peak MB")
        for name, row in rows["contenders"].items():
            speed = rows["bytes"] / row["wall"] / 1e9
            figures = (row["wall"], speed, row.get("ratio"), row["cpu"], row.get("cpu_ratio"))
            yield f"| {name} | {' | '.join(map(_number, figures))} | {row['peak_mb']:.0f} |"
        yield from ("", f"`k3triage FILE` takes {rows['times_cat']:.1f} times as long as `cat FILE >/dev/null`.")
    if "packed" in report:
        rows = report["packed"]
        title = f"**Compressed log, {_size(rows['bytes'])} unpacked** (ratios to the program that only unpacks it)"
        yield from ("", title, "")
        yield from _head("contender", "wall s", "wall ratio", "cpu s", "peak MB")
        for name, row in rows["contenders"].items():
            yield f"| {name} | {row['wall']:.2f} | {row['ratio']:.2f} | {row['cpu']:.2f} | {row['peak_mb']:.0f} |"
    if "engines" in report:
        yield from ("", "**Engines, healthy log of 1 GiB** (ratios to ripgrep)", "")
        yield from _head("engine", "wall s", "wall ratio", "cpu ratio")
        for name, row in report["engines"].items():
            yield f"| {name} | {row['wall']:.2f} | {row['ratio']:.2f} | {row['cpu_ratio']:.2f} |"
    if "floods" in report:
        yield from ("", "**A crash, then a flood of 64 MiB**: the verdict stays with the crash", "")
        yield from _head("flood", "verdict", "line", "wall s", "peak MB")
        for name, row in report["floods"].items():
            yield f"| {name} | `{row['cause']}` | {row['line']} | {row['wall']:.2f} | {row['peak_mb']:.0f} |"
    if "memory" in report:
        yield from ("", "**Peak memory**", "", *_head("log", "peak MB", "wall s"))
        for name, row in report["memory"].items():
            yield f"| {name} | {row['peak_mb']:.0f} | {row['wall']:.2f} |"
    if "start" in report:
        yield from ("", f"**Start** ({report.get('start_rounds', report['rounds'])} rounds)", "")
        yield from _head("command", "wall ms", "cpu ms", "times `python -c pass`", "peak MB")
        for name, row in report["start"].items():
            wall, cpu = row["wall"] * 1000, row["cpu"] * 1000
            yield f"| {name} | {wall:.0f} | {cpu:.0f} | {row['ratio']:.1f} | {row['peak_mb']:.0f} |"
    if "follow" in report:
        yield from ("", "**`--follow`**, from the line of a failure to its verdict", "")
        yield from _head("input", "median s", "slowest s")
        for name, row in report["follow"].items():
            yield f"| {name} | {row['median']:.2f} | {max(row['seconds']):.2f} |"
    if "ray" in report:
        row = report["ray"]
        one, two = (statistics.median(run[key] for run in row["rounds"]) for key in ("one_s", "two_s"))
        same = "the same report as" if row["same_report"] else "NOT the report of"
        yield from ("", f"**Ray Data**, {row['kind']} logs of {_size(row['bytes'])} together, {same} one process", "")
        yield from _head("one worker s", "two workers s", "times as fast")
        yield f"| {one:.1f} | {two:.1f} | {row['ratio']:.2f} |"
    if "events" in report:
        yield from ("", "**Events**, lines a second on one core", "")
        yield from _head(
            "log", "`k3triage events`", "times Drain3 as its README sets it up", "times Drain3 without masks"
        )
        for kind, row in report["events"].items():
            own = row["lines_per_second"]["k3triage events"]
            ratios = " | ".join(f"{value:.1f}" for value in row["ratio"].values())
            yield f"| {kind} | {own:,} | {ratios} |"

"""The report as one self-contained HTML file: no script, no font, image or style from elsewhere."""

import html
import re

from k3triage.model.enums import Status
from k3triage.model.report import Anomaly, FindingRef, Report, Verdict
from k3triage.report.clean import clean, clean_lines, number

_LONGEST = 8000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--soft:#5c6370;--line:#d9dce1;--box:#f5f6f8;--bad:#b3261e;
--ok:#18794e;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e6e8eb;--soft:#9aa3af;--line:#343a43;--box:#20242a;
--bad:#ff8a80;--ok:#5fd49b;--link:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 3rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 .6rem}
h2{font-size:1.05rem;margin:1.8rem 0 .5rem}
.layer{font-weight:700;letter-spacing:.04em;text-transform:uppercase;color:var(--bad)}
.layer.ok{color:var(--ok)}
.tags{display:flex;flex-wrap:wrap;gap:.4rem;padding:0;margin:0 0 1rem;list-style:none}
.tags li{border:1px solid var(--line);border-radius:1rem;padding:.1rem .7rem;font-size:.875rem;color:var(--soft)}
pre,code{font:14px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem;margin:.4rem 0;
white-space:pre-wrap}
pre.first{border-left:4px solid var(--bad)}
.where{color:var(--soft);font-size:.9rem;margin:0}
li{margin:.35rem 0}
a{color:var(--link)}
.soft{color:var(--soft)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;padding-right:1.2rem}
footer{margin-top:2.5rem;color:var(--soft);font-size:.85rem}
""".strip()


def _text(value: object) -> str:
    return html.escape(clean(str(value)))


def _block(text: str, kind: str = "") -> str:
    body = html.escape("\n".join(clean_lines(text[:_LONGEST])))
    return f"<pre{f' class={kind!r}' if kind else ''}>{body}</pre>"


def _list(tag: str, items: list[str]) -> str:
    return f"<{tag}>" + "".join(f"<li>{item}</li>" for item in items) + f"</{tag}>"


def _link(url: str | None) -> str:
    """A link only to the web: any other scheme could run something."""
    if not url or not re.match(r"https?://[^\s<>\"']+$", url):
        return ""
    return f' <a href="{html.escape(url)}" rel="noreferrer noopener">source</a>'


def _where(place: Anomaly) -> str:
    process = place.process
    parts = [f"{place.source}:{place.line}", place.timestamp, process.name]
    parts += [
        None if process.pid is None else f"pid {process.pid}",
        None if process.rank is None else f"rank {process.rank}",
    ]
    parts.append(f"node {process.node}" if process.node else None)
    return f'<p class="where">{", ".join(_text(part) for part in parts if part)}</p>'


def _verdict(report: Report, verdict: Verdict) -> list[str]:
    titles = {
        Status.DIAGNOSED: verdict.title,
        Status.INCONCLUSIVE: "Only echoes of a failure are visible; its cause lies outside these inputs",
    }
    title = titles.get(report.status, "Something failed that no rule knows")
    tags = [f"confidence {verdict.confidence.value}", f"phase {verdict.phase.value}", verdict.cause]
    tags.append(verdict.decision.value.replace("_", " "))
    out = [f'<div class="layer">{_text(verdict.layer.value)}</div>', f"<h1>{_text(title)}</h1>"]
    out.append('<ul class="tags">' + "".join(f"<li>{_text(tag)}</li>" for tag in tags) + "</ul>")
    out += ["<h2>First anomaly</h2>", _where(verdict.first_anomaly), _block(verdict.first_anomaly.text, "first")]
    if verdict.why:
        out += ["<h2>Why</h2>", _list("ul", [_text(reason) for reason in verdict.why])]
    if verdict.remediation:
        steps = []
        for step in verdict.remediation:
            because = f' <span class="soft">({_text(step.because)})</span>' if step.because else ""
            steps.append(
                _text(step.action) + because + _link(step.source) + (_block(step.command) if step.command else "")
            )
        out += ["<h2>Do</h2>", _list("ol", steps)]
    if verdict.avoid:
        out += ["<h2>Do not</h2>", _list("ul", [f"{_text(a.action)}: {_text(a.because)}" for a in verdict.avoid])]
    if verdict.missing:
        items = [
            f"{_text(m.what)}: {_text(m.because)}" + (_block(m.command) if m.command else "") for m in verdict.missing
        ]
        out += ["<h2>Missing to be sure</h2>", _list("ul", items)]
    return out


def _table(head: list[tuple[str, bool]], rows: list[list[str]]) -> str:
    def row(tag: str, cells: list[str]) -> str:
        marks = [' class="n"' if numeric else "" for _, numeric in head]
        return (
            "<tr>"
            + "".join(f"<{tag}{mark}>{_text(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True))
            + "</tr>"
        )

    body = "".join(row("td", cells) for cells in rows)
    return f'<div class="scroll"><table>{row("th", [name for name, _ in head])}{body}</table></div>'


def _findings(findings: list[FindingRef]) -> list[str]:
    if not findings:
        return []
    head = [("cause", False), ("role", False), ("count", True), ("first", False), ("explained by", False)]
    rows = [
        [f.cause, f.role.value, number(f.count), f"{f.first.source}:{f.first.line}", f.explained_by or ""]
        for f in findings
    ]
    return ["<h2>All findings</h2>", _table(head, rows)]


def _surroundings(report: Report) -> list[str]:
    out: list[str] = []
    if len(report.attempts) > 1:
        head = [("input", False), ("first line", True), ("last line", True), ("outcome", False), ("cause", False)]
        rows = [
            [a.source, number(a.start_line), number(a.end_line), a.outcome.value, a.cause or ""]
            for a in report.attempts
        ]
        out += ["<h2>Attempts</h2>", _table(head, rows)]
    facts = {k: v for k, v in report.environment.model_dump(exclude={"flags", "world"}).items() if v}
    facts |= {f"--{name}": value for name, value in report.environment.flags.items()}
    if facts:
        rows = [[k, ", ".join(v) if isinstance(v, list) else str(v)] for k, v in facts.items()]
        out += ["<h2>Environment</h2>", _table([("fact", False), ("value", False)], rows)]
    head = [("input", False), ("lines", True), ("bytes", True), ("wrapper", False), ("error", False)]
    rows = [[i.source, number(i.lines or 0), number(i.bytes), i.envelope, i.error or ""] for i in report.inputs]
    return [*out, "<h2>Inputs</h2>", _table(head, rows)]


def render_html(report: Report) -> str:
    """The report as an HTML document; everything that came from a log is escaped."""
    if report.verdict is not None:
        main, name = _verdict(report, report.verdict), f"{report.verdict.layer.value}: {report.verdict.title}"
    else:
        read = any(item.bytes for item in report.inputs)
        name = "Nothing wrong found" if read else "Nothing was read"
        main = [
            '<div class="layer ok">healthy</div>' if read else '<div class="layer">no input</div>',
            f"<h1>{name}</h1>",
        ]
    tool = report.tool
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(name)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>",
        *main,
        *_findings(report.findings),
        *_surroundings(report),
        "</main>",
        f"<footer>{_text(tool.name)} {_text(tool.version)}, rules {_text(tool.rules)}</footer>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)

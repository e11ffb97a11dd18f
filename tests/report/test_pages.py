"""Markdown and HTML: what people read elsewhere."""

import re
from html.parser import HTMLParser

from k3triage.model.report import Report
from k3triage.report.html import render_html
from k3triage.report.markdown import code, fenced, render_markdown
from tests.report.conftest import build, verdict

VOID = {"meta", "br", "link", "img"}


class _Strict(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parse(text: str) -> _Strict:
    page = _Strict()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def test_html_is_well_formed_and_holds_the_facts(diagnosed: Report, healthy: Report) -> None:
    words = " ".join(parse(render_html(diagnosed)).words)
    for fact in (
        "ValueError: too small",
        "node0.log:412",
        "Lower --max-model-len",
        "1,200",
        "repair in place",
        "nvidia-smi",
    ):
        assert fact in words
    assert "Nothing wrong found" in " ".join(parse(render_html(healthy)).words)


def test_html_loads_and_runs_nothing(hostile: Report) -> None:
    text = render_html(hostile)
    page = parse(text)
    assert not {tag for tag, _ in page.seen} & {"script", "img", "iframe", "link", "object", "form", "base"}
    assert all(not name.startswith("on") and name != "src" for _, attributes in page.seen for name in attributes)
    assert [a for tag, a in page.seen if tag == "a"] == []
    assert "url(" not in text and "@import" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f‮]", text)


def test_html_links_sources_on_the_web(diagnosed: Report) -> None:
    links = [a["href"] for tag, a in parse(render_html(diagnosed)).seen if tag == "a"]
    assert links == ["https://docs.vllm.ai/en/latest/"]


def test_markdown_holds_the_facts(diagnosed: Report, healthy: Report) -> None:
    text = render_markdown(diagnosed)
    assert text.startswith("## startup\\_oom: The KV cache does not hold one request\n")
    assert "First anomaly: `node0.log:412`\n\n```text\nValueError: too small\n```" in text
    assert "1. Lower --max-model-len (4096 fits) [source](<https://docs.vllm.ai/en/latest/>)\n   ```sh\n" in text
    assert "| nccl.closed\\_by\\_peer | cascade | 1,200 | node0.log:500 |" in text
    assert render_markdown(healthy).startswith("## Healthy: nothing wrong found\n")
    assert diagnosed.to_markdown() == text


def test_markdown_cannot_be_broken_out_of(hostile: Report) -> None:
    text = render_markdown(hostile)
    assert "javascript:" not in text
    outside = re.sub(r"(?ms)^ *(`{3,})\w*\n.*?^ *\1$", "", text)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert not re.search(r"(?<!\\)<script", outside)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f‮]", text)


def test_code_holds_backticks() -> None:
    assert code("a `b` ``c``") == "``` a `b` ``c`` ```"
    assert fenced("x\n```\ny") == ["````text", "x", "```", "y", "````"]


def test_unknown_and_inconclusive_are_not_sold_as_a_diagnosis() -> None:
    for status, words in (("unknown_failure", "no rule knows"), ("inconclusive", "outside these inputs")):
        report = build(status, verdict=verdict(layer="unknown", cause="unknown.exception", title="RuntimeError"))
        assert words in render_markdown(report).splitlines()[0]
        assert words in render_html(report)

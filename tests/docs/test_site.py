"""The documentation's pages: built without a warning, one for each cause."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
pytest.importorskip("material", reason="the extra `docs` is not installed")

from k3triage.rules import load_pack

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_pages", ROOT / "docs" / "gen_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_each_cause_has_a_page_with_its_texts(site: Path) -> None:
    for cause in load_pack().causes():
        page = (site / "causes" / str(cause.layer) / f"{cause.id}.html").read_text(encoding="utf-8")
        words = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page)))
        for text in (cause.title, cause.means, cause.not_means, *(step.action for step in cause.step)):
            assert text.replace("`", "") in words.replace("`", ""), (cause.id, text)


def test_every_condition_of_a_signature_is_shown(hook: ModuleType) -> None:
    names = ("levels", "phases", "needs", "unless", "since", "until", "frames", "raised_in", "header")
    for cause in load_pack().causes():
        page = unescape(hook.cause_page(cause))
        for row in cause.signature:
            for name in names:
                assert not getattr(row, name) or re.search(rf"[>;] ?{name}:? ", page), (cause.id, name)


def test_the_indexes_lead_to_all_pages(site: Path) -> None:
    for layer in (site / "causes").iterdir():
        if layer.is_dir():
            pages = {path.name for path in layer.glob("*.*.html")}
            assert pages <= set(
                re.findall(r'href="([^"#]+\.html)"', (layer / "index.html").read_text(encoding="utf-8"))
            )
    codes = (site / "codes" / "xid.html").read_text(encoding="utf-8")
    assert re.search(r"<td[^>]*>79</td>", codes)


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for name in ("index.html", "find.html", "causes/nccl/nccl.duplicate_gpu.html"):
        page = (site / name).read_text(encoding="utf-8")
        assert not re.findall(
            r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//|<link[^>]+rel="stylesheet"[^>]+href="(?:https?:)?//', page
        )


def test_the_search_knows_every_line_that_can_be_searched_for(site: Path) -> None:
    script = (site / "assets" / "causes.js").read_text(encoding="utf-8")
    rows = json.loads(script.removeprefix("const K3_CAUSES = ").removesuffix(";\n"))
    wanted = {(s.cause, s.anchor) for s in load_pack().signatures if s.anchor and s.role != "context"}
    assert {(row["cause"], row["anchor"]) for row in rows} == wanted
    assert all((site / row["page"]).is_file() for row in rows)
    assert not [
        row["pattern"] for row in rows if row["pattern"] and re.search(r"\(\?P|\(\?[aLimsux]+\)|\\[AZ]", row["pattern"])
    ]


def test_no_text_of_a_rule_can_become_markup(hook: ModuleType) -> None:
    assert hook.escape("a <b>*c*</b> | [d](e) `x|<y>` #") == r"a &lt;b&gt;\*c\*&lt;/b&gt; \| \[d\](e) `x\|<y>` \#"
    assert hook.escape("one ` alone") == "one ' alone"
    assert hook.fenced("a\n```\nb", "text").startswith("````text\n")
    assert "|" not in hook.cell("a|b`*_[]\\") and hook.cell(None) == ""


def test_patterns_are_put_into_javascripts_dialect(hook: ModuleType) -> None:
    assert hook.javascript(r"(?i)(?P<a>x)\Z") == (r"(?<a>x)$", "i")
    assert hook.javascript(None) == (None, "")

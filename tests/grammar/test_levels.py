"""The severity that lines without a known header begin with."""

import pytest

from k3triage.grammar.headers import parse_header
from k3triage.model.records import Record


def level(text: str) -> str | None:
    """The level that a line alone is read with."""
    return parse_header(Record("t", 1, 0, text, text)).level


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ERROR shard-manager: acme_launcher: Shard process was signaled", "ERROR"),
        (" INFO acme_runtime::transports: registered", "INFO"),
        ("01/19 15:19:51 - acme - ERROR - no", "ERROR"),
        ("[TRT] [E] IRuntime: Error Code 1", "ERROR"),
        ("level=error msg=no", "ERROR"),
        ("2026-12-01 10:11:12.123 1 acme ERROR [main.py:<module>():15] no", "ERROR"),
        ("Error: NotStarted", "ERROR"),
        ("panic: listen tcp :9002: bind: address already in use", "ERROR"),
        ("E20261201 12:30:19.433391 309 acme_context.cpp:1343] no", "ERROR"),
        ("[1784621081.896649] [pod-x:537  :1]       srd_iface.c:221  UCX  ERROR send completion", "ERROR"),
    ],
)
def test_level_is_found(text: str, wanted: str) -> None:
    assert level(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "errors: none",
        "Error",
        "[WARNING other] x",
        "answer=ERROR was printed",
        "RuntimeError: no",
    ],
)
def test_prose_has_no_level(text: str) -> None:
    assert level(text) is None

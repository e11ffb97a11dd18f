"""What a tool prints after an exception is its own statement, not the exception's message."""

from k3triage.rulecheck import triage_text
from k3triage.rules import load_pack

TEXT = """\
Traceback (most recent call last):
  File "/srv/prepare.py", line 3, in <module>
    raise ValueError("seven is not allowed")
ValueError: seven is not allowed
starting the server
docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].
"""


def test_a_refusal_of_docker_is_reported_on_its_own_line() -> None:
    report = triage_text(TEXT, load_pack())
    assert report.verdict is not None
    assert report.verdict.cause == "container.nvidia_toolkit_missing"
    assert report.verdict.first_anomaly.line == 6
    assert any(f.cause == "unknown.unhandled_exception" and f.first.line == 4 for f in report.findings)

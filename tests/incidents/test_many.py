"""Many large inputs share one budget, so that their number does not decide about memory."""

from pathlib import Path

from k3triage.api import scan
from k3triage.pipeline import limits_for
from k3triage.scan import Limits

FLOOD = (
    "(Worker_TP{n} pid=5) ERROR 11-20 10:00:{s:02d} [multiproc_executor.py:949] Traceback (most recent call last):\n"
    '(Worker_TP{n} pid=5) ERROR 11-20 10:00:{s:02d} [multiproc_executor.py:949]   File "/v/x.py", line 9, in step\n'
    "(Worker_TP{n} pid=5) ERROR 11-20 10:00:{s:02d} [multiproc_executor.py:949] RuntimeError: thing {n} of {s} failed\n"
)


def test_a_few_inputs_have_the_whole_budget_each() -> None:
    assert limits_for(1) == limits_for(4) == Limits()


def test_together_they_stay_within_a_few_inputs_bounds() -> None:
    for inputs in (8, 64, 500):
        assert limits_for(inputs).attempt_lines * min(inputs, 64) <= Limits().attempt_lines * 4
        assert limits_for(inputs).kept_bytes * min(inputs, 64) <= Limits().kept_bytes * 4


def test_floods_of_many_ranks_are_kept_in_part_and_answered(tmp_path: Path) -> None:
    for rank in range(24):
        text = "".join(FLOOD.format(n=rank, s=second % 60) for second in range(3_000))
        (tmp_path / f"rank{rank}.log").write_text(text, encoding="utf-8")
    partial = scan(str(tmp_path), jobs=1)
    report = partial.report()
    assert len(report.inputs) == 24
    assert all(item.lines == 9_000 for item in report.inputs)
    assert report.verdict is not None
    assert sum(len(item.partial.lines) for item in partial._scans) < 24 * 9_000 / 2

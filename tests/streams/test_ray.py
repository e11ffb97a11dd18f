"""Ray Data on a local cluster gives the reports of one process. Skipped where Ray is not installed (extra `ray`)."""

import itertools
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import k3triage
from k3triage.errors import InputError, RulePackError, UsageError
from tests.streams.wrapped import LOGS, ROOT

pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'k3triage[ray]'")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    import ray

    os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
    )
    yield
    ray.shutdown()


@pytest.fixture
def incidents(tmp_path: Path) -> Path:
    """Two incidents of several files each, one of which is compressed by nobody and one a JSON export."""
    for folder, names in {
        "monday": ["restart in docker-json", "long in cri", "healthy in plain"],
        "tuesday": ["crash in plain", "a JSON export"],
    }.items():
        (tmp_path / folder).mkdir()
        for number, name in enumerate(names):
            (tmp_path / folder / f"node{number}.log").write_bytes(LOGS[name])
    return tmp_path


def test_reports_by_folder_are_those_of_one_process(incidents: Path) -> None:
    from k3triage.integrations import ray_data

    found = ray_data.triage([str(incidents)], slice_bytes=20_000)
    assert list(found) == [str(incidents / "monday"), str(incidents / "tuesday")]
    for folder, report in found.items():
        assert report == k3triage.triage(folder)


def test_one_incident_by_a_key_of_the_callers(incidents: Path) -> None:
    from k3triage.integrations import ray_data

    (report,) = ray_data.triage([incidents / "monday"], key=lambda path: "all", profile="kimi-k3").values()
    assert report == k3triage.triage(str(incidents / "monday"), profile="kimi-k3")


def test_what_cannot_be_read_is_named(incidents: Path) -> None:
    from k3triage.integrations import ray_data

    log = incidents / "tuesday" / "node0.log"
    (report,) = ray_data.triage([log, incidents / "tuesday" / "gone.log"]).values()
    assert report.verdict is not None
    assert {item.source: bool(item.error) for item in report.inputs} == {
        str(log): False,
        str(incidents / "tuesday" / "gone.log"): True,
    }


def test_usage_is_checked_before_anything_runs(tmp_path: Path) -> None:
    from k3triage.integrations import ray_data

    log = tmp_path / "a.log"
    log.write_bytes(LOGS["crash in plain"])
    with pytest.raises(UsageError):
        ray_data.triage([log], profile="no such")
    with pytest.raises(UsageError):
        ray_data.triage(["-"])
    with pytest.raises(UsageError):
        ray_data.triage([log], slice_bytes=0)
    with pytest.raises(RulePackError):
        ray_data.triage([log], rules=[tmp_path / "none"])
    with pytest.raises(InputError):
        ray_data.triage([])


def test_the_plan_covers_every_byte_once(tmp_path: Path) -> None:
    from k3triage.integrations import ray_data

    for name, size in {"a.log": 0, "b.log": 1, "c.log": 1000, "d.log": 1049}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    rows = ray_data.plan([tmp_path / name for name in ("a.log", "b.log", "c.log", "d.log")], slice_bytes=100)
    for name, slices in {"a.log": 1, "b.log": 1, "c.log": 10, "d.log": 10}.items():
        own = [row for row in rows if row["path"] == str(tmp_path / name)]
        assert len(own) == slices and own[0]["start"] == 0
        assert all(a["stop"] == b["start"] for a, b in itertools.pairwise(own))
        lengths = [row["stop"] - row["start"] for row in own[:-1]]
        assert not lengths or max(lengths) - min(lengths) <= 1
        assert own[-1]["stop"] > 1 << 50 and all(row["inputs"] == 4 for row in own)

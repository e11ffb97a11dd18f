"""The coverage report, where the folder of facts lies beside the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT.parent / "shared" / "facts"


@pytest.mark.skipif(not FACTS.is_dir(), reason="no facts beside the checkout")
def test_every_table_of_facts_is_known() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "coverage.py"), str(FACTS), "--all"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_report_names_what_is_not_known(tmp_path: Path) -> None:
    for name in ("vllm_taxonomy.md", "docker_taxonomy.md", "nccl_taxonomy.md", "driver_taxonomy.md"):
        (tmp_path / name).write_text("")
    (tmp_path / "vllm_taxonomy.md").write_text(
        "| message shape | versions | layer | cause | fix | role | source |\n|---|---|---|---|---|---|---|\n"
        "| ValueError: the flux capacitor is empty | any | config | flux | fill it | root | here |\n"
        "| RuntimeError: No CUDA GPUs are available | any | cuda | none | look | root | here |\n"
    )
    (tmp_path / "nccl_warns.csv").write_text(
        "file,line_in_last_version,format,first_seen,last_seen,layer,cause,kind,remedy\n"
    )
    (tmp_path / "xid.csv").write_text("code\n")
    (tmp_path / "cuda_errors.csv").write_text("code\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "coverage.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "1 of    2" in done.stdout and "flux capacitor is empty: not recognised" in done.stdout

"""Rule packs of users: folders, single files, and those of installed distributions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from k3triage.errors import RulePackError
from k3triage.rulecheck import check_places, triage_text
from k3triage.rules import load_pack
from k3triage.rules.installed import installed_packs
from tests.rules.helpers import write_rule

LINE = "ValueError: the flux capacitor is empty\n"


def install(site: Path, package: str, *, entry: str | None = None, name: str = "acme") -> Path:
    """A distribution with a rule pack as pip would lay it down; the folder of its rules."""
    rules = site / package.replace(".", "/")
    rules.mkdir(parents=True)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[console_scripts]\nacme = acme:main\n\n[k3triage.rulepacks]\n{name} = {entry or package}\n\n[other]\nx = y\n"
    )
    return rules


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_folder_and_a_file_add_causes(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    for place in (tmp_path, path):
        verdict = triage_text(LINE, load_pack([place])).verdict
        assert verdict is not None and verdict.cause == "config.flux_capacitor_empty"


def test_the_finished_rule_of_contributing_passes_the_checker(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rule = text.split("```toml\n", 1)[1].split("\n```", 1)[0]
    (tmp_path / "socket_buffer_refused.toml").write_text(rule)
    assert [str(problem) for problem in check_places([tmp_path])] == []


def test_two_files_with_one_id_are_an_error_that_names_both(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    one.mkdir(), two.mkdir()
    first, second = write_rule(one), write_rule(two)
    with pytest.raises(RulePackError) as caught:
        load_pack([one, two])
    assert str(first) in str(caught.value) and str(second) in str(caught.value) and caught.value.exit_code == 4


def test_a_users_file_cannot_take_the_id_of_a_shipped_cause(tmp_path: Path) -> None:
    path = write_rule(tmp_path, "nccl.duplicate_gpu")
    with pytest.raises(RulePackError) as caught:
        load_pack([tmp_path])
    assert str(path) in str(caught.value) and "causes/nccl/duplicate_gpu.toml" in str(caught.value)


def test_a_part_of_the_shipped_pack_may_be_named(tmp_path: Path) -> None:
    import k3triage.rules

    folder = Path(k3triage.rules.__file__).parent / "causes" / "nccl"
    assert len(load_pack([folder]).infos) == len(load_pack().infos)


def test_an_installed_pack_is_found_used_and_its_code_not_run(site: Path) -> None:
    rules = install(site, "acme_rules")
    (rules / "__init__.py").write_text("raise SystemExit('code of a rule pack was run')\n")
    write_rule(rules)
    assert installed_packs() == [rules]
    verdict = triage_text(LINE, load_pack()).verdict
    assert verdict is not None and verdict.cause == "config.flux_capacitor_empty"


def test_an_installed_pack_without_its_package_is_an_error(site: Path) -> None:
    install(site, "acme_rules", entry="acme_gone")
    with pytest.raises(RulePackError, match=r"acme.*acme_gone"):
        load_pack()


def test_a_module_is_no_pack(site: Path) -> None:
    install(site, "acme_rules", entry="acme_module")
    (site / "acme_module.py").write_text("")
    with pytest.raises(RulePackError, match="not a package with a folder"):
        installed_packs()


def test_installing_and_removing_a_pack_is_noticed(site: Path) -> None:
    assert installed_packs() == []
    rules = install(site, "acme_rules")
    os.utime(site, ns=(1, 2))  # the clock of some file systems is too coarse for a test
    assert installed_packs() == [rules]
    (site / "acme-1.0.dist-info" / "entry_points.txt").unlink()
    (site / "acme-1.0.dist-info" / "METADATA").unlink()
    (site / "acme-1.0.dist-info").rmdir()
    os.utime(site, ns=(3, 4))
    assert installed_packs() == []


def test_a_collision_of_an_installed_pack_with_a_folder_names_both(site: Path, tmp_path: Path) -> None:
    first = write_rule(install(site, "acme_rules"))
    own = tmp_path / "own"
    own.mkdir()
    second = write_rule(own)
    with pytest.raises(RulePackError) as caught:
        load_pack([own])
    assert str(first) in str(caught.value) and str(second) in str(caught.value)


def test_looking_for_packs_does_not_load_importlib_metadata() -> None:
    code = "import sys, k3triage.rules as r; r.load_pack(); sys.exit('importlib.metadata' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

import os
from pathlib import Path

import pytest

from k3triage.ingest import expand


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in (
        "a.log",
        "b/node0.log",
        "b/dmesg",
        "b/x.log.1.gz",
        "b/tool.py",
        ".hidden",
        ".git/c.log",
        "b/w.safetensors",
    ):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "b" / "empty.log").touch()
    return tmp_path


def names(root: Path, *arguments: str) -> list[str]:
    return [os.path.relpath(item.name, root) for item in expand(arguments)]


def test_folder_is_walked_for_logs(folder: Path) -> None:
    assert names(folder, str(folder)) == ["a.log", "b/dmesg", "b/node0.log", "b/x.log.1.gz"]


def test_globs(folder: Path) -> None:
    assert names(folder, f"{folder}/**/*.log") == ["a.log", "b/empty.log", "b/node0.log"]
    assert names(folder, f"{folder}/b/d*", f"{folder}/a.log") == ["b/dmesg", "a.log"]


def test_a_file_named_like_a_glob(folder: Path) -> None:
    (folder / "x[1].log").write_text("x")
    assert names(folder, f"{folder}/x[1].log") == ["x[1].log"]


def test_each_file_once(folder: Path) -> None:
    assert names(folder, f"{folder}/a.log", str(folder), f"{folder}/b/../a.log")[0] == "a.log"
    assert len(expand([f"{folder}/a.log", f"{folder}/a.log", f"{folder}/*.log"])) == 1


def test_what_is_missing_is_told_and_the_rest_goes_on(folder: Path) -> None:
    items = expand([f"{folder}/nope.log", f"{folder}/*.nope", f"{folder}/a.log", "bad\0name"])
    assert [item.error is None for item in items] == [False, False, True, False]
    source = items[0].open()
    assert source.error == "No such file or folder."
    assert list(source.blocks()) == []
    assert b"".join(items[2].open().blocks()) == b"x\n"


def test_standard_input() -> None:
    (item,) = expand(["-", "-"])
    assert (item.name, item.path, item.error) == ("-", None, None)


def test_dangling_link(folder: Path) -> None:
    (folder / "dead.log").symlink_to(folder / "gone.log")
    (item,) = expand([f"{folder}/dead.log"])
    assert str(item.error) == "This link leads nowhere."

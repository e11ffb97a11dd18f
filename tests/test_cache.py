import os
import pickle
import sys
from pathlib import Path

import pytest

from k3triage.cache import cache_folder, load_or_make

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")


class Maker:
    def __init__(self, value: bytes = b"made") -> None:
        self.value, self.calls = value, 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "deep" / "cache"
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", str(path))
    return path


def test_is_made_once_per_key(folder: Path) -> None:
    make = Maker()
    assert [load_or_make("thing", "a", make) for _ in range(3)] == [b"made"] * 3
    assert make.calls == 1
    assert load_or_make("thing", "b", Maker(b"other")) == b"other"
    assert load_or_make("kind", "a", Maker(b"kind")) == b"kind"
    assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == ["kind", "thing", "thing"]


def test_a_damaged_file_is_made_again(folder: Path) -> None:
    load_or_make("thing", "a", Maker(b"first"))
    (path,) = folder.iterdir()
    for damaged in (b"", b"x", path.read_bytes()[:-1], path.read_bytes() + b"x"):
        path.write_bytes(damaged)
        make = Maker(b"again")
        assert load_or_make("thing", "a", make) == b"again"
        assert make.calls == 1
    assert load_or_make("thing", "a", Maker(b"unused")) == b"again"


def test_another_keys_file_is_not_taken(folder: Path) -> None:
    load_or_make("thing", "a", Maker(b"first"))
    (path,) = folder.iterdir()
    load_or_make("thing", "b", Maker(b"second"))
    (other,) = [found for found in folder.iterdir() if found != path]
    other.write_bytes(path.read_bytes())
    assert load_or_make("thing", "b", Maker(b"third")) == b"third"


def test_contents_are_never_unpickled(folder: Path) -> None:
    data = pickle.dumps({"a": 1})
    load_or_make("thing", "a", Maker(data))
    assert load_or_make("thing", "a", Maker()) == data


@posix
def test_the_folder_is_private(folder: Path) -> None:
    load_or_make("thing", "a", Maker())
    assert folder.stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702])
def test_a_folder_that_others_may_write_is_not_used(folder: Path, mode: int) -> None:
    load_or_make("thing", "a", Maker(b"old"))
    folder.chmod(mode)
    make = Maker(b"new")
    assert load_or_make("thing", "a", make) == b"new"
    assert make.calls == 1
    folder.chmod(0o700)
    assert load_or_make("thing", "a", make) == b"old"


@posix
def test_a_link_in_place_of_the_folder_is_not_used(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(other)
    assert load_or_make("thing", "a", Maker()) == b"made"
    assert not list(other.iterdir())


def test_where_nothing_can_be_written_it_is_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_bytes(b"")
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", str(blocker / "cache"))
    make = Maker()
    assert [load_or_make("thing", "a", make) for _ in range(2)] == [b"made"] * 2
    assert make.calls == 2


def test_a_failed_replacement_leaves_no_litter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    assert load_or_make("thing", "a", Maker()) == b"made"
    assert not list(folder.iterdir())


def test_errors_of_make_pass_through(folder: Path) -> None:
    def fail() -> bytes:
        raise LookupError("no")

    with pytest.raises(LookupError):
        load_or_make("thing", "a", fail)


@posix
def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", "/own")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/ada")
    assert cache_folder() == Path("/own")
    monkeypatch.delenv("K3TRIAGE_CACHE_DIR")
    assert cache_folder() == Path("/xdg/k3triage")
    # The base directory specification says that a relative path is to be ignored.
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/home/ada/.cache/k3triage")


def test_a_damaged_pack_is_made_anew(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    log = tmp_path / "a.log"
    log.write_text("RuntimeError: No CUDA GPUs are available\n")
    environment = {**os.environ, "K3TRIAGE_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "k3triage", "--exit-zero", str(log)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    first = run()
    for kept in (tmp_path / "cache").glob("pack-*"):
        kept.write_bytes(b"garbage")
    again = run()
    assert (again.returncode, again.stdout, again.stderr) == (0, first.stdout, "")


def test_only_the_latest_of_a_kind_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", str(tmp_path))
    load_or_make("other", "key", lambda: b"other")
    for number in range(30):
        load_or_make("kind", str(number), lambda: b"content")
        for path in tmp_path.glob("kind-*"):  # times as if a second lay between two
            os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    assert len(list(tmp_path.glob("kind-[0-9a-f]*"))) == 16
    assert load_or_make("kind", "29", lambda: b"anew") == b"content"
    assert load_or_make("kind", "0", lambda: b"anew") == b"anew"
    assert load_or_make("other", "key", lambda: b"anew") == b"other"

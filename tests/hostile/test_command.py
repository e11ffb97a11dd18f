"""The command with odd words, full disks and broken rules: one clear line, and the exit code of the contract."""

import contextlib
import os
from pathlib import Path

import pytest

from k3triage.cache import load_or_make
from k3triage.cli.main import main

FAULT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB.\n"
)
FORMATS = ("text", "json", "ndjson", "markdown", "html", "sarif", "github")
NAMES = ("a\nb.log", "\x1b[31mred.log", "::error::x.log", "%0A.log", "[x].log", "<script>.log", "|a|.log", "`a`.log")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("K3TRIAGE_DEBUG", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["--format", "-x", "-"])
def test_words_behind_two_dashes_are_files(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / name
    path.write_text(FAULT)
    word = name if name != "-" else "./-"
    assert main(["--exit-zero", "--", word]) == 0
    assert "OOM" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_steer_no_format(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text("\x1b]8;;http://evil.example\x07x\x1b]8;;\x07 <b>\n::warning::y\n" + FAULT)
    for form in FORMATS:
        assert main(["--format", form, name]) == 1
        out, err = capsys.readouterr()
        assert err == "" and "\x1b" not in out and "\x07" not in out
        if form == "html":
            assert "<script>" not in out and "<b>" not in out
        if form == "github":
            assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in out.splitlines())


def test_unset_variable_in_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([""]) == 3
    assert capsys.readouterr().err == "k3triage: could not read : An empty name is no file name.\n"


def test_events_of_what_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.log").write_text(FAULT)
    assert main(["events", "nope.log", "a.log"]) == 3
    out, err = capsys.readouterr()
    assert out.count("\n") >= 1 and err == "k3triage: could not read nope.log: No such file or folder.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("words", [["a.log"], ["events", "a.log"], ["rules", "schema"]])
def test_a_full_disk(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.log").write_text(FAULT)
    monkeypatch.setattr("k3triage.cli.terminal.hush", lambda: None)
    monkeypatch.setattr("k3triage.cli.events.hush", lambda: None)
    full = open("/dev/full", "w")  # noqa: SIM115, PTH123
    monkeypatch.setattr("sys.stdout", full)
    assert main(words) == 2
    assert capsys.readouterr().err == "k3triage: cannot write to standard output: No space left on device\n"
    with contextlib.suppress(OSError):
        full.close()


def test_a_line_break_in_the_name_of_the_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.log").write_text(FAULT)
    assert main(["-o", "no\nfolder/x", "a.log"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text", [b"a = " + b"[" * 50_000, b'x = "\xff\xfe"', b"x = = 1", b""], ids=["deep", "bytes", "torn", "empty"]
)
def test_broken_rules(text: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "a.toml").write_bytes(text)
    (folder / "a.log").write_text(FAULT)
    assert main(["--rules", "rules", "a.log"]) == 4
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("k3triage: ") and "a.toml" in err and "internal error" not in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_in_the_cache_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = folder / "cache"
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", str(cache))
    assert load_or_make("x", "key", lambda: b"made") == b"made"
    (kept,) = cache.iterdir()
    kept.unlink()
    os.mkfifo(kept)
    assert load_or_make("x", "key", lambda: b"anew") == b"anew"

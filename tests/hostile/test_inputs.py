"""Bytes that are no text, or text of an odd kind: named or read, never taken for a healthy log."""

import os
import random
from pathlib import Path

import pytest

import k3triage
from k3triage.ingest import Source, expand
from k3triage.ingest.binary import kind

FAULT = (
    "ERROR 12-02 11:00:00 [core.py:700] EngineCore failed to start.\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB.\n"
)


def read(path: Path) -> tuple[bytes, str | None]:
    source = Source.of_path(path)
    return b"".join(source.blocks()), source.error


@pytest.mark.parametrize(
    "start",
    [b"\x7fELF\x02\x01\x01", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7\n", b"GGUF\x03\0\0\0"],
    ids=["elf", "png", "pdf", "gguf"],
)
def test_files_that_are_no_logs_are_named(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(start + b"\0" * 100 + FAULT.encode())
    data, error = read(path)
    assert data == b"" and error is not None and error.startswith("This is a") and error.endswith("no log.")


def test_random_bytes_are_no_log(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(random.Random(5).randbytes(100_000))
    report = k3triage.triage(path)
    assert report.inputs[0].error == "This is binary data, no log."


@pytest.mark.parametrize(
    "data",
    [
        FAULT.encode() * 8,
        "日本語のログ、エラーが発生しました。\n".encode("shift_jis") * 60,
        "ошибка памяти\n".encode("koi8-r") * 60,
        b"\0" * 4096 + FAULT.encode(),
        b"".join(b"\x01\0\0\0\0\0\0" + bytes([20 + n % 180]) + b"INFO ready and serving\n" for n in range(90)),
        b"\x1b[32mINFO\x1b[0m 10%|\x08\x08\x08 done\x07\n" * 60,
    ],
    ids=["ascii", "shift-jis", "koi8", "hole", "frames", "terminal"],
)
def test_odd_texts_are_texts(data: bytes) -> None:
    assert kind(data) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_with_a_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(("\ufeff" + FAULT).encode(encoding) + b"\n")  # one odd byte at the end
    verdict = k3triage.triage(path).verdict
    assert verdict is not None and verdict.first_anomaly.line == 2


@pytest.mark.parametrize("start", [b"\xfd7zX", b"\xfd7zXZ", b"BZh9"])
def test_a_copy_that_broke_off_at_once(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(start)
    assert read(path)[1] is not None


def test_padding_behind_zstd(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "x.zst"
    path.write_bytes(zstandard.compress(FAULT.encode()) + b"\0" * 5000)
    assert read(path) == (FAULT.encode(), None)


def test_a_zstd_bomb_comes_in_small_blocks(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "x.zst"
    path.write_bytes(zstandard.compress(bytes(200 << 20)))
    assert path.stat().st_size < 1 << 16
    assert max(map(len, Source.of_path(path).blocks())) <= 48 << 20


def test_an_empty_name_is_not_the_current_folder() -> None:
    (found,) = expand([""])
    assert found.error is not None and "empty" in str(found.error)


def test_a_file_that_goes_away_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"INFO x\n" * 400_000)
    source = Source.of_path(path)
    blocks = source.blocks()
    first = next(blocks)
    os.truncate(path, len(first))
    path.unlink()
    assert b"".join(blocks) in (b"", b"INFO x\n" * 400_000)
    assert source.error is None


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no /proc")  # noqa: PTH110
def test_files_that_say_that_they_are_empty() -> None:
    report = k3triage.triage("/proc/version")
    assert report.inputs[0].bytes > 0 and report.inputs[0].lines == 1

import bz2
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage.ingest import Source

LOG = "".join(f"(Worker_TP{n % 4} pid={n}) INFO line é {n}\n" for n in range(5000)).encode()


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


def read(source: Source) -> bytes:
    return b"".join(source.blocks())


@pytest.mark.parametrize("name", PACKERS)
def test_compressed_files_are_known_by_their_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vllm.log.1"
    path.write_bytes(PACKERS[name](LOG))
    source = Source.of_path(path)
    assert source.head == LOG[: 64 << 10]
    assert read(source) == LOG
    assert (source.error, source.path) == (None, None)
    assert source.raw == source.size_hint == path.stat().st_size


@pytest.mark.parametrize("name", PACKERS)
def test_several_members_one_after_another(name: str) -> None:
    packed = PACKERS[name](b"one\n") + PACKERS[name](LOG) + PACKERS[name](b"two\n")
    source = Source.of_stream(io.BytesIO(packed))
    assert read(source) == b"one\n" + LOG + b"two\n"
    assert source.error is None


@pytest.mark.parametrize("name", PACKERS)
def test_a_cut_archive_gives_what_came_out_and_says_so(name: str) -> None:
    data = os.urandom(300_000)
    packed = PACKERS[name](LOG + data)
    source = Source.of_stream(io.BytesIO(packed[:-1000]))
    got = read(source)
    assert (LOG + data).startswith(got)
    if name != "bzip2":  # works in blocks of 900 kB
        assert got.startswith(LOG)
    assert source.error is not None
    assert "ends early" in source.error


@pytest.mark.parametrize("name", PACKERS)
def test_a_damaged_archive_says_so(name: str) -> None:
    packed = bytearray(PACKERS[name](LOG + os.urandom(300_000)))
    packed[len(packed) // 2 : len(packed) // 2 + 200] = b"\xaa" * 200
    source = Source.of_stream(io.BytesIO(bytes(packed)))
    read(source)
    assert source.error is not None
    assert source.error.endswith(".")


def test_padding_behind_gzip_is_fine_and_garbage_is_told() -> None:
    packed = gzip.compress(b"x\n")
    padded = Source.of_stream(io.BytesIO(packed + b"\0" * 512))
    assert (read(padded), padded.error) == (b"x\n", None)
    dirty = Source.of_stream(io.BytesIO(packed + b"garbage"))
    assert read(dirty) == b"x\n"
    assert dirty.error is not None


def test_highly_compressible_input_comes_in_bounded_blocks() -> None:
    packed = gzip.compress(b"\0" * (64 << 20))
    assert max(len(block) for block in Source.of_stream(io.BytesIO(packed)).blocks()) <= 1 << 20


@pytest.mark.parametrize(
    ("data", "word"), [(b"PK\x03\x04" + b"x" * 99, "zip"), (b"\x04\x22\x4d\x18" + b"x" * 99, "lz4")]
)
def test_archives_that_are_not_opened(data: bytes, word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    source = Source.of_path(path)
    assert read(source) == b""
    assert source.error is not None
    assert word in source.error
    assert source.path is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_becomes_utf8(encoding: str) -> None:
    text = "ERROR línea 日本 🙂\r\n" * 500
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    source = Source.of_stream(io.BytesIO((mark + text).encode(encoding)))
    assert read(source).decode() == text
    assert source.error is None


def test_utf16_without_mark_and_utf8_mark(tmp_path: Path) -> None:
    assert read(Source.of_stream(io.BytesIO("plain words\n".encode("utf-16-be")))) == b"plain words\n"
    path = tmp_path / "a.log"
    path.write_bytes(b"\xef\xbb\xbfhello\n")
    source = Source.of_path(path)
    assert (source.path, read(source)) == (None, b"hello\n")


def test_a_hole_of_nuls_is_no_utf16() -> None:
    data = b"\0" * 3000 + b"INFO hello\n" * 300
    assert read(Source.of_stream(io.BytesIO(data))) == data


def test_a_plain_file_can_be_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(LOG)
    source = Source.of_path(path, "shown")
    assert (source.name, source.path, source.size_hint) == ("shown", path, len(LOG))
    assert source.head == LOG[: 64 << 10]
    assert read(source) == LOG
    assert source.raw == len(LOG)


def test_missing_file() -> None:
    source = Source.of_path(Path("/nonexistent/x.log"))
    assert read(source) == b""
    assert source.error == "No such file or directory."


def test_empty_input() -> None:
    source = Source.of_stream(io.BytesIO(b""))
    assert (source.head, read(source), source.error) == (b"", b"", None)


def test_text_streams_and_lines() -> None:
    assert read(Source.of_stream(io.StringIO("é\nb"))) == "é\nb".encode()
    assert read(Source.of_lines(["a", b"b\n", "c\n"])) == b"a\nb\nc\n"


def test_head_of_a_live_pipe_does_not_wait_for_more() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"first\n")
    with os.fdopen(reader, "rb") as stream:
        source = Source.of_stream(stream)
        head: list[bytes] = []
        thread = threading.Thread(target=lambda: head.append(source.head), daemon=True)
        thread.start()
        thread.join(5)
        assert head == [b"first\n"]
        os.write(writer, b"second\n")
        os.close(writer)
        assert read(source) == b"first\nsecond\n"


class Dripping(io.RawIOBase):
    """A stream that gives its bytes in pieces of given sizes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self._turn = data, sizes, 0

    def read(self, _: int = -1) -> bytes:
        size = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        piece, self._data = self._data[:size], self._data[size:]
        return piece


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["plain", "utf-16", "utf-8-sig", "gzip", "bzip2", "xz", "zstd"]),
    st.lists(st.integers(1, 3000), min_size=1, max_size=5),
    st.booleans(),
)
def test_any_cut_of_the_input_gives_the_same(form: str, sizes: list[int], peek: bool) -> None:
    text = "(Worker pid=5) línea 日本\r\n" * 200
    data = text.encode()
    if form in PACKERS:
        packed = PACKERS[form](data[:1000]) + PACKERS[form](data[1000:])
    else:
        packed = data if form == "plain" else text.encode(form)
    source = Source.of_stream(Dripping(packed, sizes))
    if peek:
        assert source.head == data[: 64 << 10]
    assert read(source) == data
    assert source.error is None

"""Bytes as they come into UTF-8 text bytes: decompression, UTF-16, byte order marks. All of it streams."""

import codecs
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from k3triage.ingest import binary

BLOCK = 1 << 20
"""Largest block in bytes that a decoder hands on."""

# zstd's own default; a frame that asks for more makes its reader reserve up to 2 GiB.
_ZSTD_WINDOW = 1 << 27
_ZSTD_FEED = 1 << 10
_TAR_HEADER = 512
_TAR_MAGIC = 257
_DAMAGED = "The {} data is damaged ({}); what stands before the damage was read."
_CUT = "The {} data ends early (the file is cut); what came out was read."


class DecodeError(Exception):
    """Input that cannot be read any further; the message is one sentence for the user."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


def decompressor(start: bytes) -> Callable[[Iterator[bytes]], Iterator[bytes]] | None:
    """What undoes the compression that the first bytes name; None for plain bytes.

    Raises DecodeError for archives that k3triage does not open.
    """
    if start.startswith(b"\x1f\x8b"):
        return _gzip
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd
    # A copy that broke off within the first bytes is still no text.
    if b"\xfd7zXZ\x00".startswith(start[:6]) and len(start) >= 4:
        return _xz
    if start.startswith(b"BZh") and (
        start[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90") or (len(start) == 4 and start[3:].isdigit())
    ):
        return _bzip2
    if start.startswith(b"PK\x03\x04"):
        raise DecodeError("This is a zip archive: unpack it and give the log files in it.")
    if start.startswith(b"\x04\x22\x4d\x18"):
        raise DecodeError("This is compressed with lz4: unpack it (lz4 -d) and give the log file.")
    if b"\x0a\x06stderr" in start[:64] or b"\x0a\x06stdout" in start[:64]:
        raise DecodeError("This is Docker's internal 'local' log format: give the output of 'docker logs' instead.")
    return None


def is_tar(start: bytes) -> bool:
    """Whether unpacked bytes begin a tar of the POSIX or GNU kind."""
    return start[_TAR_MAGIC : _TAR_MAGIC + 5] == b"ustar"


def no_tar(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Unpacked chunks as they are; DecodeError where they are a tar, which is opened only as a file."""
    start = b""
    try:
        for chunk in chunks:
            start += chunk
            if len(start) >= _TAR_HEADER:
                break
    except DecodeError:
        yield start
        raise
    if is_tar(start):
        raise DecodeError("This is a tar archive: give it as a file, not through a pipe.")
    if start:
        yield start
    del start
    yield from chunks


def may_be_packed(start: bytes) -> bool:
    """Whether more bytes are needed to tell if these begin an archive."""
    return len(start) < 10 and (not start or start[0] in b"\x1f\x28\xfdBP\x04")


def text_bytes(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Plain chunks without byte order mark, UTF-16 (with or without one) as UTF-8."""
    start = b""
    for chunk in chunks:
        start += chunk
        # A live log's first line may be short and must not wait for the second.
        if len(start) >= 8 or (start and b"\0" not in start and start[0] not in b"\xef\xfe\xff"):
            break
    encoding, mark = sniff(start)
    if encoding is None and (found := binary.kind(start)):
        raise DecodeError(f"This is {found}, no log.")
    start = start[mark:]
    if encoding is None:
        if start:
            yield start
        del start
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(start)
    del start
    if text:
        yield text.encode("utf-8", "replace")
    for chunk in chunks:
        text = decoder.decode(chunk)
        if text:
            yield text.encode("utf-8", "replace")
    if text := decoder.decode(b"", True):
        yield text.encode("utf-8", "replace")


def sniff(start: bytes) -> tuple[str | None, int]:
    """Encoding to undo (None: leave the bytes as they are) and length of the byte order mark."""
    if start.startswith(b"\xef\xbb\xbf"):
        return None, 3
    if start.startswith(b"\xff\xfe\0\0"):
        return "utf-32-le", 4
    if start.startswith(b"\0\0\xfe\xff"):
        return "utf-32-be", 4
    if start.startswith(b"\xff\xfe"):
        return "utf-16-le", 2
    if start.startswith(b"\xfe\xff"):
        return "utf-16-be", 2
    sample = start[: 4096 & ~1]
    half = len(sample) // 2
    if half >= 4:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        # A run of NULs (a hole in the file) fills both halves alike and is no UTF-16.
        if odd > half * 0.3 and even < half * 0.05:
            return "utf-16-le", 0
        if even > half * 0.3 and odd < half * 0.05:
            return "utf-16-be", 0
    return None, 0


def _fastest_zlib() -> Any:
    """isal's inflate, twice as fast as zlib's, where it is installed."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def _gzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    library = _fastest_zlib()

    def member() -> Any:
        return library.decompressobj(wbits=31)

    engine = member()
    complete = False
    data = b""
    for chunk in chunks:
        data += chunk
        while data:
            if complete:
                # Members may be padded with NULs (tapes, preallocated files).
                data = data.lstrip(b"\0")
                if not data:
                    break
                if len(data) < 2 and b"\x1f".startswith(data):
                    break
                if not data.startswith(b"\x1f\x8b"):
                    raise DecodeError("Bytes that are not gzip stand behind the gzip data; they were left out.")
                engine, complete = member(), False
            try:
                block = engine.decompress(data, BLOCK)
            except library.error as error:
                raise DecodeError(_DAMAGED.format("gzip", error)) from None
            if block:
                yield block
            if engine.eof:
                data, complete = engine.unused_data, True
            else:
                data = engine.unconsumed_tail
                if not data and len(block) < BLOCK:
                    break
    if not complete:
        rest = engine.flush()
        if rest:
            yield rest
        raise DecodeError(_CUT.format("gzip"))


def _xz(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import lzma

    try:
        yield from _members(chunks, "xz", lzma.LZMADecompressor, b"\xfd7zXZ")
    except lzma.LZMAError as error:
        raise DecodeError(_DAMAGED.format("xz", error)) from None


def _bzip2(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import bz2

    yield from _members(chunks, "bzip2", bz2.BZ2Decompressor, b"BZh")


def _members(chunks: Iterator[bytes], name: str, make: Callable[[], _Decompressor], magic: bytes) -> Iterator[bytes]:
    engine = make()
    for chunk in chunks:
        data = chunk
        while data or not engine.eof:
            if engine.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                if not data.startswith(magic[: len(data)]):
                    raise DecodeError(f"Bytes that are not {name} stand behind the {name} data; they were left out.")
                engine = make()
            try:
                block = engine.decompress(data, BLOCK)
            except (OSError, ValueError) as error:
                raise DecodeError(_DAMAGED.format(name, error)) from None
            if block:
                yield block
            data = engine.unused_data if engine.eof else b""
            if not engine.eof and getattr(engine, "needs_input", True):
                break
    if not engine.eof:
        raise DecodeError(_CUT.format(name))


def _zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        yield from _zstandard(chunks)
        return
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW.bit_length() - 1}
    try:
        yield from _members(chunks, "zstd", lambda: zstd.ZstdDecompressor(options=options), b"\x28\xb5\x2f\xfd")
    except zstd.ZstdError as error:
        raise DecodeError(_DAMAGED.format("zstd", error)) from None


def _zstandard(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise DecodeError(
            "This is compressed with zstd, which needs Python 3.14 or the package 'zstandard' (pip install zstandard)."
        ) from None
    factory = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    engine = factory.decompressobj()
    fresh = False
    for chunk in chunks:
        # This interface cannot bound what comes out, so little is put in at a time: 32 MiB out of each piece at most.
        for at in range(0, len(chunk), _ZSTD_FEED):
            data = chunk[at : at + _ZSTD_FEED]
            while data:
                if engine.eof:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    engine, fresh = factory.decompressobj(), True
                try:
                    block = engine.decompress(data)
                except zstandard.ZstdError as error:
                    raise DecodeError(
                        f"The zstd data is damaged ({error}); what stands before the damage was read."
                    ) from None
                fresh = False
                if block:
                    yield block
                data = engine.unused_data if engine.eof else b""
    if not engine.eof and not fresh:
        raise DecodeError(_CUT.format("zstd"))

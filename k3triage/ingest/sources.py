"""Opening what an operator gives: files, pipes, file objects and lines in memory, compressed or not."""

import io
import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from k3triage.ingest import binary
from k3triage.ingest.decode import BLOCK, DecodeError, decompressor, may_be_packed, no_tar, sniff, text_bytes
from k3triage.model import halt

HEAD = 64 << 10
"""Bytes of `Source.head`."""

_PATIENCE = 0.2
"""Seconds that the head of a pipe waits for more: a live log must not be held up, a finished one should fill it."""


class Source:
    """One input as a stream of UTF-8 bytes.

    name: as shown to the user. path: the file, where its bytes can be read in place (plain, seekable, not transcoded).
    size_hint: bytes on disk, None for pipes. raw: bytes read so far, before decompression. error: one
    sentence on what could not be read; complete only once `blocks` has ended.
    """

    def __init__(
        self,
        name: str,
        chunks: Iterator[bytes],
        *,
        path: Path | None = None,
        size_hint: int | None = None,
        error: str | None = None,
        live: int | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.size_hint = size_hint
        self.error = error
        self.raw = 0
        self._live = live
        self._stream = self._decoded(self._counted(chunks))
        self._kept: list[bytes] = []
        self._head: bytes | None = None

    @classmethod
    def of_path(cls, path: Path, name: str | None = None) -> "Source":
        """A file, device or named pipe; one that cannot be opened gives no blocks and says why in `error`."""
        name = str(path) if name is None else name
        try:
            file = path.open("rb", buffering=0)
            status = os.fstat(file.fileno())
            regular = stat.S_ISREG(status.st_mode)
            start = file.read(4096) or b"" if regular else b""
            if regular:
                file.seek(0)
        except OSError as error:
            return cls(name, iter(()), error=reason(error))
        # Files of /proc and /sys say that they are empty and are not.
        sized = regular and status.st_size >= len(start)
        in_place = sized and not start.startswith(b"\xef\xbb\xbf") and sniff(start)[0] is None and _plain(start)
        return cls(
            name,
            _reads(file, close=True),
            path=path if in_place else None,
            size_hint=status.st_size if sized else None,
            live=None if regular else file.fileno(),
        )

    @classmethod
    def of_stdin(cls) -> "Source":
        """Standard input."""
        return cls.of_stream(sys.stdin.buffer, "-")

    @classmethod
    def of_stream(cls, stream: IO[Any], name: str | None = None) -> "Source":
        """An open file object, binary or text; it is read to its end and not closed."""
        if name is None:
            name = str(getattr(stream, "name", "-"))
        live: int | None = None
        try:
            live = stream.fileno()
        except (OSError, AttributeError, ValueError):
            live = None
        return cls(name, _reads(stream, close=False), live=live)

    @classmethod
    def of_lines(cls, lines: Iterable[str | bytes], name: str = "-") -> "Source":
        """Lines in memory, with or without their newlines."""
        return cls(name, _joined(lines))

    @property
    def head(self) -> bytes:
        """Up to 64 KiB from the start, without taking them from `blocks`. Of a live pipe only what is there already."""
        if self._head is None:
            size = 0
            while size < HEAD and not (self._kept and self._waits()):
                block = next(self._stream, None)
                if block is None:
                    break
                self._kept.append(block)
                size += len(block)
            self._head = b"".join(self._kept)[:HEAD]
        return self._head

    def blocks(self) -> Iterator[bytes]:
        """The decoded bytes in order, cut anywhere; once only. Ends early, with `error` set, where reading fails."""
        kept, self._kept = self._kept, []
        if self._head is None:
            self._head = b""
        while kept:
            yield kept.pop(0)
        for block in self._stream:
            if halt.asked():
                return
            yield block

    def close(self) -> None:
        """Stop reading and free the file."""
        self._stream.close()

    def _waits(self) -> bool:
        if self._live is None:
            return False
        try:
            return not select.select([self._live], [], [], _PATIENCE)[0]
        except (OSError, ValueError):
            return False

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.raw += len(chunk)
            yield chunk

    def _decoded(self, chunks: Iterator[bytes]) -> "_Blocks":
        return _Blocks(self, chunks)


class _Blocks(Iterator[bytes]):
    """The decoded stream; faults end it and are noted in the source."""

    def __init__(self, source: Source, chunks: Iterator[bytes]) -> None:
        self._source = source
        self._chunks = chunks
        self._iterator: Iterator[bytes] | None = None

    def __next__(self) -> bytes:
        try:
            if self._iterator is None:
                self._iterator = self._begin()
            while not (block := next(self._iterator)):
                pass
            return block
        except DecodeError as fault:
            self._stop(str(fault))
        except OSError as error:
            self._stop(f"Reading stopped: {reason(error)}")
        raise StopIteration

    def close(self) -> None:
        self._iterator = iter(())
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()

    def _stop(self, message: str) -> None:
        self._source.error = message
        self.close()

    def _begin(self) -> Iterator[bytes]:
        start = b""
        for chunk in self._chunks:
            start += chunk
            if not may_be_packed(start):
                break
        found = decompressor(start)
        whole = _chain(start, self._chunks)
        if found is not None:
            whole = no_tar(found(whole))
        return text_bytes(whole)


def reason(error: OSError) -> str:
    """What the system said, as one sentence."""
    text = error.strerror or str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _plain(start: bytes) -> bool:
    try:
        return decompressor(start) is None and binary.kind(start) is None
    except DecodeError:
        return False


def _chain(start: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if start:
        yield start
    yield from rest


def _reads(stream: Any, *, close: bool) -> Iterator[bytes]:
    # read1 hands on what a pipe holds; read would wait for a full block.
    read = stream.read1 if isinstance(stream, (io.BufferedReader, io.BytesIO)) else stream.read
    try:
        while chunk := read(BLOCK):
            yield chunk.encode("utf-8", "surrogateescape") if isinstance(chunk, str) else bytes(chunk)
    finally:
        if close:
            stream.close()


def _joined(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    for line in lines:
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        pieces.append(data if data.endswith(b"\n") else data + b"\n")
        size += len(data)
        if size >= BLOCK // 4:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)

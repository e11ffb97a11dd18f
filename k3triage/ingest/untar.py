"""The members of a tar whose bytes are in the spool; only its headers are read here."""

import io
import tarfile
from typing import IO, cast

from k3triage.ingest.spool import MAX_MEMBER, MAX_MEMBERS, MEMBER_TOO_LARGE, TOO_MANY, ArchiveError, Member, Spool

# Longer headers are no names but an attempt to fill the memory.
_MAX_HEADER = 1 << 20


class _Headers(io.RawIOBase):
    """The spool as tarfile reads it."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise ArchiveError("This archive has a header of absurd size.")
        data = self._spool.read(self._at, size)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at


def tar_members(spool: Spool, problem: str | None) -> list[Member]:
    """All members but folders. problem: why the spool ends early, None where it is whole.

    Raises ArchiveError where there is none before the damage.
    """
    found: list[Member] = []
    try:
        with tarfile.open(fileobj=cast(IO[bytes], _Headers(spool)), mode="r:") as tar:
            for count, info in enumerate(tar, 1):
                if count > MAX_MEMBERS:
                    problem = TOO_MANY
                    break
                if not info.isdir():
                    found.append(_member(spool, info))
    except ArchiveError as error:
        problem = problem or str(error)
    except (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError, OSError) as error:
        problem = problem or f"This archive is damaged ({error}); what stands before the damage was read."
    if problem is not None:
        if not found:
            raise ArchiveError(problem)
        found.append(Member("", error=problem))
    return found


def _member(spool: Spool, info: tarfile.TarInfo) -> Member:
    if info.issym() or info.islnk():
        return Member(info.name, error="Refused: this is a link.")
    if not info.isreg() or info.issparse():
        return Member(info.name, error="Refused: this is no plain file.")
    if info.size > MAX_MEMBER:
        return Member(info.name, error=MEMBER_TOO_LARGE)
    size = max(0, min(info.size, spool.size - info.offset_data))
    error = "The archive ends within this member; what there is of it was read." if size < info.size else None
    return Member(info.name, size, spool.part(info.offset_data, size), error)

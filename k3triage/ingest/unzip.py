"""The members of a zip file, unpacked into the spool."""

import lzma
import stat
import zipfile
import zlib
from typing import IO

from k3triage.ingest.names import may_be_log
from k3triage.ingest.spool import (
    MAX_MEMBER,
    MAX_MEMBERS,
    MEMBER_TOO_LARGE,
    TOO_MANY,
    ArchiveError,
    Member,
    Spool,
    blocks,
)

# RuntimeError: also an unknown kind of compression.
_FAULTS = (zipfile.BadZipFile, RuntimeError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_ENCRYPTED = 1


def zip_members(file: IO[bytes], spool: Spool) -> list[Member]:
    """All members but folders; those that are no logs by their names have no bytes.

    Raises ArchiveError where the list of members is damaged, or all of them together are too large.
    """
    found: list[Member] = []
    try:
        with zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            for info in infos[:MAX_MEMBERS]:
                found.append(_member(archive, info, spool))
    except _FAULTS as error:
        raise ArchiveError(f"This zip archive is damaged ({error}).") from None
    if len(infos) > MAX_MEMBERS:
        found.append(Member("", error=TOO_MANY))
    return found


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, spool: Spool) -> Member:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return Member(info.filename, error="Refused: this is a link.")
    if kind not in (0, stat.S_IFREG):
        return Member(info.filename, error="Refused: this is no plain file.")
    if info.flag_bits & _ENCRYPTED:
        return Member(info.filename, error="This member is encrypted.")
    if info.file_size > MAX_MEMBER:
        return Member(info.filename, error=MEMBER_TOO_LARGE)
    if not may_be_log(info.filename.rpartition("/")[2]):
        return Member(info.filename)
    start, error = spool.size, None
    try:
        with archive.open(info) as member:
            # The size that the archive states may be a lie.
            for block in blocks(member):
                if spool.size - start + len(block) > MAX_MEMBER:
                    return Member(info.filename, error=MEMBER_TOO_LARGE)
                spool.write(block)
    except _FAULTS as fault:
        error = f"This member is damaged ({fault}); what stands before the damage was read."
    return Member(info.filename, spool.size - start, spool.part(start, spool.size - start), error)

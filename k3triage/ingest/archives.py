"""Archives as several inputs: bundles of `k3triage collect`, and tar or zip files of logs.

Nothing is unpacked under a name: the bytes go into one unnamed temporary file, and each member is read out of it.
Names that lead out of the archive, links and devices are refused, as is what grows too large.
"""

from pathlib import Path, PurePosixPath
from typing import IO

from k3triage.ingest.decode import DecodeError, decompressor, is_tar
from k3triage.ingest.names import may_be_log
from k3triage.ingest.spool import ArchiveError, Member, Spool, blocks
from k3triage.model.lazy import lazy
from k3triage.model.shapes import replace

__all__ = ["ArchiveError", "Member", "is_archive", "members"]

_BUNDLE = "k3triage-bundle/"
_MANIFEST = "k3triage-bundle/manifest.json"
_START = 4096
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_DRIVE = lazy(r"[A-Za-z]:")


def is_archive(path: Path) -> bool:
    """Whether a regular file is a tar (plain or compressed) or a zip file, by its first bytes.

    Raises OSError where it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(_START)
        return start.startswith(_ZIP_MAGIC) or is_tar(_unpacked_start(start, file))


def members(path: Path) -> list[Member]:
    """The log-like members of an archive in their order; those that are refused have their `error` set.

    A bundle of `k3triage collect` gives all its members but the manifest, without the folder that holds them.
    Raises ArchiveError where nothing can be read of it, OSError where the file or the temporary one fails.
    """
    with path.open("rb") as file:
        start = file.read(_START)
        file.seek(0)
        spool = Spool()
        if start.startswith(_ZIP_MAGIC):
            from k3triage.ingest.unzip import zip_members

            found = zip_members(file, spool)
        else:
            from k3triage.ingest.untar import tar_members

            found = tar_members(spool, _unpack(file, spool))
    ours = any(member.name == _MANIFEST for member in found)
    kept = [checked for member in found if (checked := _checked(member, ours)) is not None]
    if not kept:
        raise ArchiveError("There is no log file in this archive.")
    return kept


def _unpack(file: IO[bytes], spool: Spool) -> str | None:
    """Write the unpacked archive into the spool; why it ends early, None where it does not."""
    start = file.read(_START)
    found = decompressor(start)
    chunks = blocks(file, start)
    try:
        for block in chunks if found is None else found(chunks):
            spool.write(block)
    except DecodeError as error:
        return str(error)
    return None


def _unpacked_start(start: bytes, file: IO[bytes]) -> bytes:
    try:
        found = decompressor(start)
        if found is None:
            return start
        data = b""
        for block in found(blocks(file, start)):
            data += block
            if len(data) >= _START:
                break
        return data
    except DecodeError:
        return b""


def _checked(member: Member, ours: bool) -> Member | None:
    """The member with its name as shown, refused where the name is hostile; None where it is no log."""
    if not member.name:
        return member
    if _leads_out(member.name):
        return Member(member.name, error="Refused: its name leads out of the archive.")
    parts = PurePosixPath(member.name).parts
    if ours and member.name.startswith(_BUNDLE):
        return None if member.name == _MANIFEST else replace(member, name=member.name.removeprefix(_BUNDLE))
    if not parts or parts[0] == "__MACOSX" or not all(map(may_be_log, parts)):
        return None
    return member if member.size or member.error else None


def _leads_out(name: str) -> bool:
    normal = name.replace("\\", "/")
    return normal.startswith("/") or ".." in normal.split("/") or "\0" in name or _DRIVE.match(name) is not None

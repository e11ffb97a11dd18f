"""Scans of inputs as bytes that hosts can exchange.

A JSON head, checked against a schema, and the bytes of the lines behind it. Nothing of it is executed, so bytes from
strangers can at worst be refused or be the scan of a log that never was.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from k3triage.errors import InputError, UsageError
from k3triage.model.anchors import Anchor, Kind
from k3triage.model.records import Process, Record
from k3triage.pipeline import Scan
from k3triage.rules import Pack
from k3triage.scan import Limits
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.wire import PartialHead, dump, load

_MAGIC = b"k3triage partial 1\n"
_LENGTH = struct.Struct(">Q")
_Count = Annotated[int, Field(ge=0)]


class _ScanHead(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    start: _Count
    stop: _Count | None
    total: _Count | None
    error: str | None
    head: _Count
    tail: _Count
    evidence: _Count
    records: _Count | None
    partial: PartialHead


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    rules: str
    scans: list[_ScanHead]


_RECORDS: TypeAdapter[list[Record]] = TypeAdapter(list[Record])


_Rules = tuple[str, tuple[tuple[bytes, Kind, bool], ...], tuple[bytes, ...]]


def _rules(pack: Pack) -> _Rules:
    """What two packs must share for their partial scans to be merged."""
    return pack.version, tuple((a.literal, a.kind, a.resets) for a in pack.anchors), tuple(pack.cover)


@lru_cache(maxsize=4)
def _mark(rules: _Rules) -> str:
    return hashlib.sha256(repr(rules).encode()).hexdigest()


@lru_cache(maxsize=8)
def _anchors(rules: _Rules, limits: Limits) -> AnchorSet:
    """Costs milliseconds, and a cluster sends results by the hundred."""
    return AnchorSet([Anchor(*row) for row in rules[1]], limits, rules[2])


def to_bytes(scans: Sequence[Scan], pack: Pack) -> bytes:
    """The scans as bytes for `from_bytes`, made with the rules of `pack`."""
    blob: list[bytes] = []
    heads: list[_ScanHead] = []
    for scan in scans:
        records = None if scan.records is None else json.dumps([asdict(record) for record in scan.records]).encode()
        blob += [scan.head, scan.tail, scan.evidence, records or b""]
        heads.append(
            _ScanHead(
                name=_sendable(scan.name),
                start=scan.start,
                stop=scan.stop,
                total=scan.total,
                error=None if scan.error is None else _sendable(scan.error),
                head=len(scan.head),
                tail=len(scan.tail),
                evidence=len(scan.evidence),
                records=None if records is None else len(records),
                partial=dump(scan.partial, blob.append),
            )
        )
    head = _Head(rules=_mark(_rules(pack)), scans=heads).model_dump_json().encode()
    return b"".join((_MAGIC, _LENGTH.pack(len(head)), head, *blob))


def _sendable(text: str) -> str:
    """Names of files may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Blob:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise ValueError("it was cut short")
        self.at, start = end, self.at
        return self.data[start:end]


def from_bytes(data: bytes, pack: Pack) -> list[Scan]:
    """The scans of `to_bytes`. InputError for bytes that are none, UsageError where they were made with other rules."""
    try:
        return _from_bytes(data, pack)
    except (ValidationError, ValueError) as error:
        reason = "its head does not fit the schema" if isinstance(error, ValidationError) else str(error)
        raise InputError(f"this is no partial result of k3triage that can be used: {reason}") from None


def _from_bytes(data: bytes, pack: Pack) -> list[Scan]:
    if not data.startswith(_MAGIC):
        raise ValueError("it does not begin like one of this version")
    blob = _Blob(data, len(_MAGIC))
    (length,) = _LENGTH.unpack(blob.take(_LENGTH.size))
    found = _Head.model_validate_json(blob.take(length))
    if found.rules != _mark(_rules(pack)):
        raise UsageError("the partial result was made with other rules; use one version and the same rule folders")
    rules = _rules(pack)

    def anchors_for(limits: Limits) -> AnchorSet:
        return _anchors(rules, limits)

    scans = []
    for item in found.scans:
        head, tail, evidence = blob.take(item.head), blob.take(item.tail), blob.take(item.evidence)
        records = None if item.records is None else _records(blob.take(item.records))
        partial = load(item.partial, blob.take, anchors_for)
        scans.append(
            Scan(
                item.name,
                head,
                partial,
                records,
                item.error,
                tail,
                evidence,
                start=item.start,
                stop=item.stop,
                total=item.total,
            )
        )
    if blob.at != len(data):
        raise ValueError("more bytes than its head tells of")
    return scans


def _records(data: bytes) -> list[Record]:
    rows: Any = json.loads(data)
    records = _RECORDS.validate_python(rows, strict=False)
    for record in records:
        record.process = Process(**asdict(record.process))
    return records

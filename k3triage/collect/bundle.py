"""Writes the bundle: one gzip'd tar, with a manifest of what was gathered, how, and what is absent and why."""

import contextlib
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from typing import IO, Any

from k3triage.collect.steps import Gathered
from k3triage.version import __version__

FORMAT = "k3triage-bundle"
FORMAT_VERSION = 1
ROOT = "k3triage-bundle"
MANIFEST = "manifest.json"


class BundleWriter:
    """Adds members as they come; `close` writes the manifest and ends the archive. now: Unix seconds of all members."""

    def __init__(self, stream: IO[bytes], now: float) -> None:
        self._tar = tarfile.open(fileobj=stream, mode="w|gz", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._now = now
        self._names: set[str] = set()
        self.entries: list[dict[str, Any]] = []

    def add(self, gathered: Gathered, data: bytes | None, command: list[str], reason: str | None) -> None:
        """One result. data, command and reason: as they may be seen; data None where it is absent."""
        output = gathered.output
        entry: dict[str, Any] = {
            "what": gathered.step.what,
            "member": self._free(gathered.step.member) if data is not None else None,
            "state": "absent" if data is None else "incomplete" if reason else "gathered",
            "reason": reason,
        }
        if data is None:
            entry["wanted"] = gathered.step.member
        else:
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "cut_bytes": output.cut}
        if command:
            entry |= {"command": command, "exit_code": output.code}
        elif gathered.step.path is not None:
            entry["path"] = gathered.step.path
        entry["seconds"] = round(output.seconds, 3)
        if data is not None:
            self._write(entry["member"], data)
        self.entries.append(entry)

    def close(self, about: Mapping[str, Any]) -> None:
        """End the archive. about: further fields of the manifest."""
        manifest = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "tool": {"name": "k3triage", "version": __version__},
            **about,
            "entries": self.entries,
        }
        self._write(MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())
        self._tar.close()

    def abandon(self) -> None:
        """End an archive that will not be completed, so that nothing writes into the stream any more."""
        with contextlib.suppress(OSError, ValueError):
            self._tar.close()

    def _free(self, name: str) -> str:
        stem, dot, suffix = name.rpartition(".")
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{stem}-{number}{dot}{suffix}"
        self._names.add(free)
        return free

    def _write(self, name: str, data: bytes) -> None:
        member = tarfile.TarInfo(f"{ROOT}/{name}")
        member.size, member.mtime, member.mode = len(data), int(self._now), 0o600
        self._tar.addfile(member, io.BytesIO(data))

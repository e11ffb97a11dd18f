"""Archives as inputs: bundles, plain tar and zip files, and those that want to do harm."""

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from k3triage import triage
from k3triage.ingest import Input, Source, expand
from k3triage.ingest import spool as spool_module

LINES = b"INFO 12-02 11:00:00 [api_server.py:1839] vLLM API server version 0.11.2\n"


def entry(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info


def tar(path: Path, members: Iterable[tuple[tarfile.TarInfo | str, bytes]], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, data in members:
            archive.addfile(entry(info, len(data)) if isinstance(info, str) else info, io.BytesIO(data))
    return path


def contents(inputs: Iterable[Input]) -> dict[str, bytes]:
    return {item.name: b"".join(item.open().blocks()) for item in inputs}


def errors(inputs: Iterable[Input]) -> dict[str, str]:
    return {item.name: str(item.error) for item in inputs if item.error}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_known_by_its_bytes_and_gives_its_logs(mode: str, tmp_path: Path) -> None:
    path = tar(
        tmp_path / "x",
        [
            ("a/", b""),
            ("a/n0.log", LINES * 3),
            ("a/n1.log.gz", gzip.compress(LINES)),
            ("a/model.safetensors", b"\0" * 9),
            ("a/.n2.log.swp", b"x"),
            ("a/empty.log", b""),
        ],
        mode,
    )
    found = expand([str(path)])
    assert contents(found) == {f"{path}/a/n0.log": LINES * 3, f"{path}/a/n1.log.gz": LINES}
    assert errors(found) == {}
    assert contents(found)[f"{path}/a/n0.log"] == LINES * 3, "may be opened again"
    assert found[0].open().size_hint == len(LINES) * 3


def test_a_bundle_gives_everything_but_its_manifest_without_its_folder(tmp_path: Path) -> None:
    names = ["manifest.json", "host/nvidia-smi.txt", "container-x/server.log", "container-x/notes.md"]
    path = tar(tmp_path / "b.tar.gz", [(f"k3triage-bundle/{name}", LINES) for name in names])
    assert list(contents(expand([str(path)]))) == [f"{path}/{name}" for name in names[1:]]


def test_archives_in_folders_and_globs_are_opened_once(tmp_path: Path) -> None:
    path = tar(tmp_path / "logs.tar.gz", [("one.log", LINES), ("two.log", LINES)])
    (tmp_path / "plain.log").write_bytes(LINES)
    found = expand([str(tmp_path), f"{tmp_path}/*.tar.gz", str(path)])
    assert sorted(item.name for item in found) == [f"{path}/one.log", f"{path}/two.log", f"{tmp_path}/plain.log"]


def test_hostile_members_are_refused_and_the_others_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.log"
    outside.write_bytes(b"not in the archive\n")
    path = tar(
        tmp_path / "x.tar.gz",
        [
            ("../up.log", LINES),
            ("/etc/abs.log", LINES),
            ("a/../../up.log", LINES),
            ("C:\\win.log", LINES),
            (entry("link.log", kind=tarfile.SYMTYPE, link=str(outside)), b""),
            (entry("hard.log", kind=tarfile.LNKTYPE, link="good.log"), b""),
            (entry("pipe.log", kind=tarfile.FIFOTYPE), b""),
            (entry("disk.log", kind=tarfile.BLKTYPE), b""),
            ("good.log", LINES),
        ],
    )
    before = sorted(tmp_path.iterdir())
    found = expand([str(path)])
    refused = errors(found)
    assert len(refused) == 8
    assert all(text.startswith("Refused: ") for text in refused.values())
    read = contents(found)
    assert read.pop(f"{path}/good.log") == LINES
    assert set(read.values()) == {b""}, "nothing of what was refused is read"
    assert sorted(tmp_path.iterdir()) == before, "nothing is unpacked"


def test_the_report_names_what_was_refused_and_triages_the_rest(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", [("../up.log", LINES), ("good.log", LINES)])
    report = triage(str(path))
    assert [(item.source, bool(item.error)) for item in report.inputs] == [
        (f"{path}/../up.log", True),
        (f"{path}/good.log", False),
    ]


def test_a_member_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k3triage.ingest.untar.MAX_MEMBER", 1000)
    monkeypatch.setattr("k3triage.ingest.unzip.MAX_MEMBER", 1000)
    members = [("large.log", b"a\n" * 600), ("good.log", LINES)]
    made = tar(tmp_path / "x.tar.gz", members)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    for path in (made, tmp_path / "x.zip"):
        found = expand([str(path)])
        assert "larger than" in errors(found)[f"{path}/large.log"]
        assert contents(found)[f"{path}/good.log"] == LINES
        assert contents(found)[f"{path}/large.log"] == b""


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k3triage.ingest.spool.MAX_TOTAL", 3 << 20)
    written = 0
    honest = os.pwrite

    def counting(handle: int, data: bytes, at: int) -> int:
        nonlocal written
        written += len(data)
        return honest(handle, data, at)

    monkeypatch.setattr(spool_module.os, "pwrite", counting)
    tarred = tar(tmp_path / "x.tar.gz", [("zeros.log", bytes(64 << 20))])
    zipped = tmp_path / "x.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(8):
            archive.writestr(f"{number}.log", bytes(1 << 20))
    for path in (tarred, zipped):
        written = 0
        (item,) = expand([str(path)])
        assert "unpacks to more than" in str(item.error)
        assert written <= 3 << 20
        assert b"".join(item.open().blocks()) == b""


def test_a_zip_that_lies_about_its_sizes_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k3triage.ingest.unzip.MAX_MEMBER", 2 << 20)
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.log", bytes(8 << 20))
    data = path.read_bytes()
    path.write_bytes(data.replace((8 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    found = expand([str(path)])
    assert sum(len(text) for text in contents(found).values()) <= 2 << 20
    assert errors(found)


def test_a_header_of_absurd_size_is_refused(tmp_path: Path) -> None:
    long_name = entry("x", 1 << 30, tarfile.GNUTYPE_LONGNAME)
    path = tmp_path / "x.tar"
    path.write_bytes(long_name.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    (item,) = expand([str(path)])
    assert "absurd" in str(item.error)


def test_headers_nested_without_end_are_no_crash(tmp_path: Path) -> None:
    record = b"12 path=abcd"
    nested = (entry("h", len(record), tarfile.XHDTYPE).tobuf() + record.ljust(512, b"\0")) * 5000
    path = tmp_path / "x.tar"
    path.write_bytes(nested + bytes(1024))
    (item,) = expand([str(path)])
    assert item.error is not None


def test_too_many_members_are_cut_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k3triage.ingest.untar.MAX_MEMBERS", 3)
    path = tar(tmp_path / "x.tar.gz", [(f"{number}.log", LINES) for number in range(5)])
    found = expand([str(path)])
    assert [item.name for item in found] == [f"{path}/0.log", f"{path}/1.log", f"{path}/2.log", str(path)]
    assert list(errors(found)) == [str(path)]


def test_a_cut_archive_gives_what_is_there_and_says_so(tmp_path: Path) -> None:
    noise = os.urandom(200_000).hex().encode()
    path = tar(tmp_path / "x.tar.gz", [("one.log", LINES), ("two.log", noise)])
    path.write_bytes(path.read_bytes()[:100_000])
    found = expand([str(path)])
    read = contents(found)
    assert read[f"{path}/one.log"] == LINES
    assert noise.startswith(read[f"{path}/two.log"]) and read[f"{path}/two.log"]
    assert any("ends" in text for text in errors(found).values())


def test_damage_and_emptiness_are_told(tmp_path: Path) -> None:
    cases = {
        "noise.tar": b"x" * 257 + b"ustar" + b"x" * 5000,
        "noise.zip": b"PK\x03\x04" + b"x" * 5000,
        "empty.zip": b"PK\x05\x06" + bytes(18),
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        (item,) = expand([str(tmp_path / name)])
        assert str(item.error).endswith("."), name


def test_zip_links_and_passwords_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    link = zipfile.ZipInfo("link.log")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(link, "/etc/hostname")
        archive.writestr("../up.log", LINES)
        archive.writestr("good.log", LINES)
    found = expand([str(path)])
    assert set(errors(found)) == {f"{path}/link.log", f"{path}/../up.log"}
    assert contents(found)[f"{path}/good.log"] == LINES
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.rfind(magic)
        data[place + at] |= 1
    path.write_bytes(data)
    assert "encrypted" in errors(expand([str(path)]))[f"{path}/good.log"]


def test_a_tar_in_a_pipe_is_told_from_a_log() -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        archive.addfile(entry("a.log", len(LINES)), io.BytesIO(LINES))
    for packed in (gzip.compress(raw.getvalue()), lzma.compress(raw.getvalue())):
        source = Source.of_stream(io.BytesIO(packed))
        assert b"".join(source.blocks()) == b""
        assert source.error == "This is a tar archive: give it as a file, not through a pipe."


def test_compressed_logs_are_no_archives(tmp_path: Path) -> None:
    for data in (b"", b"x", LINES * 100):
        path = tmp_path / "x.log.gz"
        path.write_bytes(gzip.compress(data))
        (item,) = expand([str(path)])
        assert item.read is None and b"".join(item.open().blocks()) == data

"""Reading a file's cells, with and without reads at a position."""

from pathlib import Path

import pytest

from k3triage.scan import Anchor, Partial, Scanner


@pytest.mark.parametrize("jobs", [1, 3])
def test_files_are_read_alike_where_there_are_no_positioned_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    path = tmp_path / "a.log"
    lines = [b"line %d %s" % (n, b"Fault" if n % 97 == 0 else b"ok" * (n % 50)) for n in range(4_000)]
    lines[2_000] = b"x" * 3_000_000 + b"Fault" + b"y" * 100
    path.write_bytes(b"\n".join(lines))

    def scan() -> Partial:
        return Scanner([Anchor(b"Fault", "fault")], "re", jobs, cell_bytes=4_096).scan_slice(
            path, 0, path.stat().st_size
        )

    want = scan()
    assert len(want.lines) > 1_000
    monkeypatch.setattr("k3triage.scan.cells._POSITIONED", False)
    found = scan()
    assert (found.lines, found.bytes, found.newlines) == (want.lines, want.bytes, want.newlines)

"""What every cause of the shipped pack must hold to."""

import re
import time
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import hyperscan
import pytest

from k3triage.api import triage
from k3triage.overlaps import overlaps
from k3triage.rulecheck import TELLING, check_pack
from k3triage.rules import load_pack
from k3triage.rules.match import match
from k3triage.rules.pack import Pack
from tests.rules.literals import share_that_holds

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "cases"
# How often a fault's anchor may turn up in one healthy log: each time costs a look at its surroundings.
MOST_IN_A_GOOD_LOG = 40


@cache
def pack() -> Pack:
    return load_pack()


def good_logs() -> list[Path]:
    cases = sorted(FIXTURES.glob("*/expect.toml"))
    return [path.parent for path in cases if tomllib.loads(path.read_text())["layer"] == "none"]


def inputs(case: Path) -> list[Path]:
    return [case / name for name in tomllib.loads((case / "expect.toml").read_text())["inputs"]]


def test_every_file_is_sound_and_wins_its_examples_in_time() -> None:
    started = time.monotonic()
    assert [str(problem) for problem in check_pack(pack())] == []
    assert time.monotonic() - started < 60


def test_the_pack_is_large_and_covers_all_layers() -> None:
    layers = Counter(info.layer for info in pack().infos.values())
    assert sum(layers.values()) >= 250
    assert set(layers) >= {
        *("container", "cuda", "gpu_kernel", "hardware", "dependency", "config", "model", "startup_oom"),
        *("inference_oom", "host_oom", "nccl", "prefix_cache", "unknown", "none"),
    }


def test_every_cause_that_a_verdict_can_name_tells_how_to_check_and_mend_it() -> None:
    lacking = []
    for cause in pack().causes():
        if not {signature.role for signature in cause.signature} & TELLING:
            continue
        if not (cause.sources and cause.check and cause.not_means.strip() and any(s.command for s in cause.step)):
            lacking.append(cause.id)
        if not cause.example and not any(s.fact for s in cause.signature) and cause.id not in WITHOUT_A_LINE:
            lacking.append(cause.id)
    assert lacking == []


# Made by the program itself: of an exception or line that no rule knows, or of comparing ranks.
WITHOUT_A_LINE = {"unknown.error_line", "unknown.unhandled_exception", "nccl.straggler"}


def test_ids_name_their_layer_and_steps_their_page() -> None:
    for cause in pack().causes():
        prefix = cause.id.partition(".")[0]
        assert prefix == cause.layer or prefix in ("benign", "cascade"), cause.id
        for step in cause.step:
            assert step.source.startswith("https://") and "example" not in step.source, cause.id


def test_patterns_are_of_the_subset_that_hyperscan_takes() -> None:
    patterns = {p for s in pack().signatures for p in (s.pattern, s.frames, s.header) if p is not None}
    refused = []
    for pattern in sorted(patterns):
        try:
            # Prefiltering keeps this quick: what cannot be parsed at all is refused, bounded repeats are not unrolled.
            flags = hyperscan.HS_FLAG_ALLOWEMPTY | hyperscan.HS_FLAG_PREFILTER
            hyperscan.Database().compile(expressions=[pattern.encode()], flags=[flags])
        except hyperscan.error as error:
            if "Embedded start anchors" not in str(error):  # `re` and RE2 take them; Hyperscan only looks for literals
                refused.append((pattern, str(error)))
    assert refused == []


def test_a_pattern_that_speaks_of_its_anchor_does_so_in_every_alternative() -> None:
    """Else an alternative could match a line that the scan never looks at."""
    anchors: dict[tuple[str, str], list[str]] = {}
    for signature in pack().signatures:
        if signature.pattern is not None and signature.anchor:
            anchors.setdefault((signature.cause, signature.pattern), []).append(signature.anchor)
    partly = [
        (cause, known, pattern)
        for (cause, pattern), known in anchors.items()
        if 0 < share_that_holds(pattern, known) < 1 and cause not in GATHERED
    ]
    assert partly == []


# Wide nets of last resort, for wordings of libraries that no rule knows: some alternatives are left to other anchors.
GATHERED = {
    "config.launch_check_failed",
    "dependency.version_demanded",
    "gpu_kernel.gpu_generation_unsupported",
    "model.fetch_failed",
    "model.file_missing",
    "model.files_not_understood",
    "model.load_failed",
    "startup_oom.memory_pool_too_small",
}


def test_no_line_matches_a_signature_without_its_anchor() -> None:
    from tests.rules.helpers import lines_of

    lines = lines_of("worker 3 met an illegal memory access\nanother fault: node 7 is lost\n")
    assert match(lines, pack()).hits == {}
    lines = lines_of("RuntimeError: CUDA error: an illegal memory access was encountered\n")
    (hits,) = match(lines, pack()).hits.values()
    assert all(hit.signature.anchor in lines[0].record.text for hit in hits)


@pytest.mark.parametrize("case", good_logs(), ids=lambda path: path.name)
def test_nothing_above_benign_fires_on_good_logs(case: Path) -> None:
    report = triage(*(str(path) for path in inputs(case)))
    assert report.status == "healthy"
    assert [finding.cause for finding in report.findings if finding.role == "root"] == []


@pytest.mark.parametrize("case", good_logs(), ids=lambda path: path.name)
def test_anchors_of_faults_are_rare_in_good_logs(case: Path) -> None:
    telling = {s.anchor.encode() for s in pack().signatures if s.anchor and s.role in TELLING | {"cascade"}}
    counts: Counter[bytes] = Counter()
    for path in inputs(case):
        data = path.read_bytes()
        counts.update({anchor: number for anchor in telling if (number := data.count(anchor))})
    # A signature that uses what the scan looks for in any case makes it no slower.
    common = {anchor.encode() for anchor in pack().common} | {anchor.literal for anchor in pack().generic_anchors}
    assert {a: n for a, n in counts.items() if n > MOST_IN_A_GOOD_LOG and a not in common} == {}


def test_every_overlap_is_decided() -> None:
    found = overlaps(pack())
    assert [overlap for overlap in found if overlap.decided_by is None] == []
    shown = {(overlap.winner, overlap.loser): overlap.decided_by for overlap in found}
    assert re.fullmatch(
        r"precedence \d+ over \d+", shown["gpu_kernel.illegal_memory_access", "gpu_kernel.cuda_error"] or ""
    )

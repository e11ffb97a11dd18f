"""The hitting set of the shipped pack: small, absent from healthy lines, and held by every example of a fault."""

from pathlib import Path

from k3triage.rules import load_pack
from k3triage.rules.cover import HEALTHY, choose
from k3triage.scan.anchors import AnchorSet


def test_every_example_of_a_fault_holds_a_strong_anchor() -> None:
    pack = load_pack()
    anchors = AnchorSet(pack.anchors, None, pack.cover)
    strong = [a.literal.decode() for i, a in enumerate(anchors.anchors) if i not in anchors.weak and a.kind == "fault"]
    missed = []
    for cause in pack.causes():
        if cause.status == "retired" or all(s.role in ("benign", "context") for s in cause.signature):
            continue
        if all(signature.fact for signature in cause.signature):
            continue
        every = [signature.anchor for signature in cause.signature if signature.anchor]
        for example in cause.example:
            if any(anchor in example.text for anchor in every) and not any(a in example.text for a in strong):
                missed.append(f"{cause.id}: {example.text[:60]}")
    assert not missed


def test_faults_of_any_kind_and_ends_of_attempts_are_strong() -> None:
    pack = load_pack()
    anchors = AnchorSet(pack.anchors, None, pack.cover)
    weak = {anchors.literals[i].decode() for i in anchors.weak}
    assert not weak & {a.literal.decode() for a in pack.generic_anchors if a.kind == "fault"}
    assert not weak & {m.anchor for m in pack.markers if m.event in ("start", "stop", "end")}
    assert "WARNING" not in weak


def test_what_breaks_a_server_that_has_been_up_for_long_is_strong() -> None:
    pack = load_pack()
    anchors = AnchorSet(pack.anchors, None, pack.cover)
    weak = {anchors.literals[i].decode() for i in anchors.weak}
    assert not weak & {"], thread: [", "GPU is lost", "SXid (PCI", "ECC_UNCORRECTABLE", "CUBLAS_STATUS_"}


def test_it_is_small_and_quiet_in_healthy_logs() -> None:
    pack = load_pack()
    alarms = AnchorSet(pack.anchors, None, pack.cover).alarms
    assert len(alarms) < 300
    assert sum(len(a) <= 10 for a in alarms) > len(alarms) * 0.95
    loud = [line for line in HEALTHY.read_bytes().splitlines() if any(alarm in line for alarm in alarms)]
    assert len(loud) <= 1, loud


def test_choose_takes_what_most_share_and_avoids_healthy_words() -> None:
    required = ["disk failure", "link failure"]
    chosen = choose(required, [], [["host unreachable", "never asked"], []], [], "the disk and the link are fine", "")
    assert len(chosen) == 2
    assert all(any(short in anchor for short in chosen) for anchor in required)
    assert any(short in "host unreachable" or short in "never asked" for short in chosen)
    assert choose(["fine"], [], [], [], "all is fine", "") == ["fine"]
    assert choose([], ["fine", "Xid=", "out of memory"], [], [], "all is fine", "") != []
    assert all(short in "out of memory" for short in choose([], ["fine", "Xid=", "out of memory"], [], [], "fine", ""))


def test_users_rules_are_strong(tmp_path: Path) -> None:
    text = (
        'id = "config.my_own"\ntitle = "Something of our own broke"\nlayer = "config"\nmeans = "A part of our own deployment says so."\nnot_means = "Nothing is wrong with the model."\n'
        'sources = ["https://example.org"]\n[[signature]]\nanchor = "qqzz wxyq"\n'
    )
    (tmp_path / "my_own.toml").write_text(text)
    pack = load_pack([tmp_path])
    anchors = AnchorSet(pack.anchors, None, pack.cover)
    assert b"qqzz wxyq" not in {anchors.literals[i] for i in anchors.weak}

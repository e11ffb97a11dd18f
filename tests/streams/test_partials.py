"""Partial results: slices, files and hosts, merged in any order and grouping, give the report on the whole."""

import atexit
import contextlib
import functools
import gzip
import itertools
import json
import pickle
import random
import shutil
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import k3triage
from k3triage.errors import InputError, UsageError
from tests.streams.wrapped import LOGS

NAMES = sorted(LOGS)
RULE = """
id = "config.acme_gate"
title = "The gate of Acme is shut"
layer = "config"
means = "Acme's gate refused the call."
not_means = "It is no fault of the server."
sources = ["https://example.com/gate"]
[[signature]]
role = "root"
anchor = "acme gate is shut"
[[check]]
what = "The gate"
command = "acme gate"
[[step]]
action = "Open the gate"
because = "nothing passes a shut gate"
source = "https://example.com/gate"
checked = "2026-11-20"
[[example]]
text = "acme gate is shut"
"""


@functools.cache
def files() -> Path:
    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place)
    for name, data in LOGS.items():
        (place / name).write_bytes(data)
    return place


@functools.cache
def whole(*names: str) -> dict:
    return k3triage.triage(*(str(files() / name) for name in names)).model_dump(mode="json")


def sliced(path: Path, cuts: list[int], inputs: int = 1) -> list[k3triage.PartialTriage]:
    size = path.stat().st_size
    edges = sorted({0, *(cut % (size + 1) for cut in cuts), size + 1})
    return [k3triage.partial_slice(path, a, b, inputs=inputs) for a, b in itertools.pairwise(edges)]


def merged(parts: list[k3triage.PartialTriage], rng: random.Random, *, send: bool) -> k3triage.PartialTriage:
    """Two at a time, whichever they are."""
    parts = list(parts)
    while len(parts) > 1:
        one, other = (parts.pop(rng.randrange(len(parts))) for _ in range(2))
        if send:
            one, other = k3triage.PartialTriage.from_bytes(one.to_bytes()), pickle.loads(pickle.dumps(other))
        parts.append(one.merge(other))
    return parts[0]


CUTS = st.lists(st.integers(0, 250_000), max_size=6)


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(NAMES), cuts=CUTS, rng=st.randoms(use_true_random=False), send=st.booleans())
def test_slices_are_the_whole(name: str, cuts: list[int], rng: random.Random, send: bool) -> None:
    found = merged(sliced(files() / name, cuts), rng, send=send).report()
    assert found.model_dump(mode="json") == whole(name)


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True),
    cuts=CUTS,
    rng=st.randoms(use_true_random=False),
)
def test_files_and_slices_together(names: list[str], cuts: list[int], rng: random.Random) -> None:
    parts = [part for name in names for part in sliced(files() / name, cuts, inputs=len(names))]
    found = merged(parts, rng, send=False).report().model_dump(mode="json")
    found["inputs"].sort(key=lambda item: names.index(Path(item["source"]).name))
    assert found == whole(*names)


def test_compressed_files_come_with_the_slice_of_their_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "node.log.gz"
    path.write_bytes(gzip.compress(LOGS["restart in cri"]))
    found = merged(sliced(path, [100, 900]), random.Random(1), send=True).report()
    assert found.model_dump(mode="json") == k3triage.triage(str(path)).model_dump(mode="json")


def test_hosts_with_the_same_paths_stay_apart() -> None:
    path = str(files() / "crash in plain")
    both = k3triage.partial(path).named("a:").merge(k3triage.partial(path).named("b:"))
    assert [item.source for item in both.report().inputs] == [f"a:{path}", f"b:{path}"]
    same = k3triage.partial(path).merge(k3triage.partial(path))
    assert [item.source for item in same.report().inputs] == [path, f"{path} (2)"]


def test_what_is_missing_is_said() -> None:
    path = files() / "long in plain"
    size = path.stat().st_size
    first, middle, last = sliced(path, [size // 3, 2 * size // 3])
    (item,) = first.merge(middle).report().inputs
    assert item.error is not None and str(size) in item.error
    for parts in (first.merge(last), middle, last):
        with pytest.raises(UsageError, match="missing"):
            parts.report()
    assert first.merge(last, middle, first).report().inputs[0].error is None
    with pytest.raises(UsageError, match="overlap"):
        first.merge(k3triage.partial_slice(path, 10, size))


def test_other_rules_are_refused(tmp_path: Path) -> None:
    rule = tmp_path / "mine.toml"
    rule.write_text(RULE, encoding="utf-8")
    path = str(files() / "crash in plain")
    mine = k3triage.partial(path, rules=[str(rule)])
    with pytest.raises(UsageError, match="different rules"):
        mine.merge(k3triage.partial(path))
    with pytest.raises(UsageError, match="other rules"):
        k3triage.PartialTriage.from_bytes(mine.to_bytes())
    assert pickle.loads(pickle.dumps(mine)).report() == mine.report()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["crash in cri", "a JSON export", "open end in plain"]), st.data())
def test_bytes_of_strangers_are_refused_or_read(name: str, data: st.DataObject) -> None:
    sent = bytearray(k3triage.partial(str(files() / name)).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(sent) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "digit"]))
        if kind == "flip":
            sent[at] = data.draw(st.integers(0, 255))
        elif kind == "digit":
            sent[at : at + 1] = b"9"
        else:
            del sent[at:]
            break
    with contextlib.suppress(InputError, UsageError):
        k3triage.PartialTriage.from_bytes(bytes(sent)).report()


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04N.", pickle.dumps(OSError), b"k3triage partial 1\n" + struct.pack(">Q", 1 << 60)]
)
def test_what_is_no_partial_is_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError, match="no partial result"):
        k3triage.PartialTriage.from_bytes(data)


def test_events_that_point_nowhere_are_refused() -> None:
    sent = k3triage.partial(str(files() / "crash in plain")).to_bytes()
    magic, length = 19, struct.unpack(">Q", sent[19:27])[0]
    head = json.loads(sent[27 : 27 + length])
    head["scans"][0]["partial"]["events"]["ids"][0] = [10**6]
    text = json.dumps(head).encode()
    with pytest.raises(InputError, match="anchors"):
        k3triage.PartialTriage.from_bytes(sent[:magic] + struct.pack(">Q", len(text)) + text + sent[27 + length :])

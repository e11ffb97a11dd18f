"""The engines against a search that cannot be wrong."""

import contextlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k3triage.model.anchors import Anchor
from k3triage.scan.anchors import AnchorSet
from k3triage.scan.engines import Engine, Engines, HyperscanEngine
from k3triage.scan.masked import MaskedEngine
from k3triage.scan.newlines import count_plain, fast_counter

LITERALS = [
    b"CUDA out",
    b"Error",
    b"KeyError",
    b"12:",
    b"-of-",
    b"ead",
    b"x",
    b"0a,",
    b"Xid 79",
    b"no kernel image",
    b"\xff\x00",
]
WORDS = st.sampled_from(
    [*LITERALS, b"CUDA", b" out", b"Err", b"or", b"dead", b"8", b"9f", b",", b"no kernel", b"\n", b"\r", b" "]
)
TEXTS = st.lists(WORDS, max_size=40).map(b"".join)


def engines(literals: dict[int, bytes]) -> list[Engine]:
    made: list[Engine] = [MaskedEngine(literals), MaskedEngine(literals, small=0)]
    with contextlib.suppress(ImportError):
        made.append(HyperscanEngine(literals))
    return made


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 9), st.integers(0, 9))
def test_present_is_what_plain_search_finds(texts: list[bytes], left: int, right: int) -> None:
    literals = dict(enumerate(LITERALS, 5))
    for engine in engines(literals):
        # One engine over several texts: what it remembers of one must not change its answer on the next.
        for text in [*texts, *texts]:
            stop = max(left, len(text) - right)
            want = [i for i, literal in literals.items() if literal in text[left:stop]]
            assert engine.present(bytearray(text), left, stop) == want


def test_the_memory_of_the_masked_engine_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k3triage.scan.masked._REMEMBERED_BYTES", 1_000)
    engine = MaskedEngine({0: b"Error"}, small=0)
    for n in range(2_000):
        name = "".join(chr(ord("g") + int(c)) for c in str(n))
        assert engine.present(f"{name} KeyError\n{name} fine".encode(), 0, 99) == [0]
    assert len(engine._clean) + len(engine._hot) < 200


def test_no_literals_at_all() -> None:
    for engine in engines({}):
        assert engine.present(b"Error\n", 0, 6) == []


def test_auto_chooses_by_size_and_by_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    anchors = AnchorSet([Anchor(b"Error", "fault")])
    small = Engines(anchors, "auto")
    small.expect(1_000)
    assert isinstance(small.get(), MaskedEngine)
    large = Engines(anchors, "auto")
    large.expect(10_000_000)
    if "hyperscan" in sys.modules:
        assert isinstance(large.get(), HyperscanEngine)
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    without = Engines(anchors, "auto")
    without.expect(10_000_000)
    assert isinstance(without.get(), MaskedEngine)
    with pytest.raises(ImportError):
        Engines(anchors, "hyperscan")
    with pytest.raises(ValueError, match="engine"):
        Engines(anchors, "other")  # type: ignore[arg-type]


def test_a_stored_database_that_does_not_load_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setenv("K3TRIAGE_CACHE_DIR", str(tmp_path / "cache"))
    literals = {3: b"Error"}
    assert HyperscanEngine(literals).present(b"KeyError", 0, 8) == [3]
    assert len(list((tmp_path / "cache").iterdir())) == 1
    monkeypatch.setattr("k3triage.scan.engines.load_or_make", lambda name, key, make: b"not a database")
    assert HyperscanEngine(literals).present(b"KeyError", 0, 8) == [3]


@given(st.binary(max_size=300), st.integers(0, 20), st.integers(0, 20))
def test_newlines_are_counted_alike(data: bytes, left: int, right: int) -> None:
    text, stop = bytearray(data + b"\n" * 30), len(data) + 30 - right
    assert fast_counter()(text, left, stop) == count_plain(text, left, stop) == bytes(text)[left:stop].count(10)

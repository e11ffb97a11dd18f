"""No line that a stranger makes up costs more than a bounded time in the rules' patterns."""

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.grammar import to_line
from k3triage.model.records import Record
from k3triage.rules import load_pack
from k3triage.rules.match import match
from k3triage.rules.seen import ALL, LEAST, MOST, may_match, required, room, seen

PACK = load_pack(())
# Long enough for a machine under load; a pattern that is cubic takes minutes.
SECONDS = 1.0
FRAMES = 2000


def searched() -> Iterator[tuple[str, str, str, bool]]:
    """Name, anchor and pattern of all that is searched in lines, then of what is searched in names of frames."""
    for signature in PACK.signatures:
        name = f"{signature.cause}#{signature.index}"
        for pattern in filter(None, (signature.pattern,)):
            yield name, signature.anchor, pattern, True
        for pattern in filter(None, (signature.frames, signature.header)):
            yield name, signature.anchor, pattern, False
    for marker in PACK.markers:
        if marker.pattern:
            yield marker.id, marker.anchor, marker.pattern, True
    for frame in PACK.frames:
        yield f"frames of {frame.phase}", "", frame.pattern, False


def nasty(anchor: str, pattern: str, size: int) -> Iterator[str]:
    """Lines on which a search for the pattern starts often and gets far."""
    words = [word for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"\\.", " ", pattern)) if len(word) > 2][:6]
    for filler in (" ", "a", "0", "/", '"', *words):
        yield anchor + filler * (size // len(filler))
    for filler in (" ", "0"):
        unit = f"{anchor}{filler}{filler.join(words)}"
        yield unit * (size // len(unit)) + anchor


def test_every_pattern_is_quick_on_lines_made_against_it() -> None:
    slow = []
    for name, anchor, pattern, is_line in searched():
        search = re.compile(pattern).search
        for text in nasty(anchor, pattern, MOST if is_line else FRAMES):
            start = time.process_time()
            if not is_line or may_match(pattern, text):
                search(text)
            if time.process_time() - start > SECONDS:
                slow.append((name, text[:60]))
    assert not slow


def test_a_flood_of_long_lines_is_searched_in_bounded_time() -> None:
    anchors = " ".join(PACK.by_anchor)[:20_000]
    lines = [
        to_line(Record("x.log", n, 0, text, text)) for n in range(120) for text in [f"{n} {anchors}" + "x " * 50_000]
    ]
    start = time.process_time()
    found = match(lines, PACK)
    assert time.process_time() - start < 20
    assert all(len(hits) <= 64 for hits in found.hits.values())


def test_both_ends_of_a_long_line_are_looked_at() -> None:
    fault = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    for text in (fault + "x" * 100_000, "x" * 100_000 + f" {fault}"):
        found = match([to_line(Record("x.log", 1, 0, text, text))], PACK)
        assert any("out_of_memory" in hit.signature.cause for hit in found.hits[0])


@given(st.lists(st.integers(0, 100_000), max_size=400))
def test_room_keeps_within_its_bound(sizes: list[int]) -> None:
    most = room(sizes)
    assert LEAST <= most <= MOST
    assert most == LEAST or sum(min(size, most) for size in sizes if size > LEAST) <= ALL


@given(st.text(max_size=50), st.integers(10, 60))
def test_seen_keeps_both_ends(text: str, most: int) -> None:
    cut = seen(text, most)
    assert len(cut) <= most
    assert cut == text or (text.startswith(cut.partition("\n")[0]) and text.endswith(cut.rpartition("\n")[2]))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("cannot open .*libcuda", ("cannot open ", "libcuda")),
        (r"a\.py:\d+ (?:x|y) fails?", ("a.py:", " ", " fail")),
        ("one|two", ()),
        ("(?i)GPU (?:0|1) Lost", ("gpu ", " lost")),
        (r"\x41b\u0043d", ("b", "d")),
        ("ab{2}c[|(]d", ("a", "c", "d")),
    ],
)
def test_words_that_a_match_must_hold(pattern: str, words: tuple[str, ...]) -> None:
    assert required(pattern)[0] == words


def test_words_stand_in_every_match_of_the_examples() -> None:
    tried = 0
    for cause in PACK.causes():
        for text in (text for example in cause.example for text in example.text.split("\n")):
            for signature in cause.signature:
                found = re.search(signature.pattern, text) if signature.pattern else None
                if found is not None:
                    tried += 1
                    assert may_match(signature.pattern, "x" * 600 + found[0]), signature.pattern
    assert tried > 300

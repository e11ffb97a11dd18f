"""Every way of counting line feeds comes to the same."""

import functools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.scan import newlines
from k3triage.scan.newlines import count_plain, fast_counter


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"\n")), st.integers(0, 300), st.integers(0, 300))
def test_counters_agree(data: bytes, start: int, length: int) -> None:
    buffer = bytearray(data)
    start = min(start, len(buffer))
    stop = min(start + length, len(buffer))
    library = pytest.importorskip("stringzilla")
    want = data[start:stop].count(b"\n")
    assert count_plain(buffer, start, stop) == want
    assert fast_counter()(buffer, start, stop) == want
    assert newlines._count_found(library.count, buffer, start, stop) == want
    assert newlines._count_ones(library, threading.local(), buffer, start, stop) == want


def test_without_the_library_python_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(newlines.importlib, "import_module", missing)
    assert fast_counter.__wrapped__() is count_plain


def test_an_old_library_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old:
        @staticmethod
        def count(text: bytes, what: bytes) -> int:
            return bytes(text).count(what)

        @staticmethod
        def translate(text: bytes, table: bytes) -> bytes:
            return text

    monkeypatch.setattr(newlines.importlib, "import_module", lambda name: Old)
    counter = fast_counter.__wrapped__()
    assert isinstance(counter, functools.partial) and counter.func is newlines._count_found
    assert counter(bytearray(b"a\nb\n"), 0, 4) == 2

"""Both ways of counting line feeds come to the same."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3triage.scan import newlines
from k3triage.scan.newlines import count_plain, fast_counter

FAST = fast_counter()


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"\n")), st.integers(0, 300), st.integers(0, 300))
def test_counters_agree(data: bytes, start: int, length: int) -> None:
    buffer = bytearray(data)
    start = min(start, len(buffer))
    stop = min(start + length, len(buffer))
    assert FAST is not count_plain
    assert FAST(buffer, start, stop) == count_plain(buffer, start, stop) == data[start:stop].count(b"\n")


def test_threads_do_not_share_what_is_compared() -> None:
    buffers = [bytearray(b"x\n" * size) for size in (10, 100_000, 3_000)]
    wrong: list[int] = []

    def count(buffer: bytearray) -> None:
        for _ in range(50):
            found = FAST(buffer, 0, len(buffer))
            if found != len(buffer) // 2:
                wrong.append(found)

    threads = [threading.Thread(target=count, args=(buffer,)) for buffer in buffers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_numpy_python_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def missing(name: str) -> None:
        asked.append(name)
        raise ImportError(name)

    monkeypatch.setattr(newlines.importlib, "import_module", missing)
    fast_counter.cache_clear()
    try:
        assert fast_counter() is fast_counter() is count_plain
    finally:
        fast_counter.cache_clear()
    assert asked == ["numpy"]

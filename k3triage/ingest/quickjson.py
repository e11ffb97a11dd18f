"""orjson, imported when the first JSON is read: most logs hold none, and the import takes longer than a small log."""

from functools import cache
from typing import Any

JSONDecodeError = ValueError
"""What `loads` raises for text that is no JSON; orjson's own error is one."""


def loads(text: bytes | str | memoryview) -> Any:
    """The value of a JSON text."""
    return _library().loads(text)


@cache
def _library() -> Any:
    import orjson

    return orjson

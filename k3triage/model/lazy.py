"""Regular expressions that are compiled when they are first used.

A run over a small log uses a third of the program's patterns, and compiling all of them takes longer than the rest of
the run. Tests compile every one, so a broken pattern does not wait for its first use.
"""

import re
from typing import Any, AnyStr, cast

_ALIASES = ("match", "search", "fullmatch", "sub", "subn", "split", "finditer", "findall", "pattern", "groupindex")
made: "list[_Lazy]" = []


class _Lazy:
    """Stands for a compiled pattern; its first use puts the pattern's own methods in place."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there yet: once a pattern.
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for alias in _ALIASES:
            setattr(self, alias, getattr(compiled, alias))
        return getattr(compiled, name)


def lazy(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern for its methods; functions of `re` do not take it."""
    found = _Lazy(source, flags)
    made.append(found)
    return cast("re.Pattern[AnyStr]", found)

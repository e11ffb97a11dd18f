"""Rule files as text: reading TOML, and saying where in a file something is wrong, with a caret under the place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3triage.errors import RulePackError
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass, replace

if TYPE_CHECKING:
    from pydantic import ValidationError

_TOML_PLACE = lazy(r"^(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_HEADER = lazy(r"^\s*\[\[?\s*([\w-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = lazy(r"^(\s*)([\w-]+)\s*=\s*")
_QUOTES = ("'''", '"""')
_WIDEST = 160
# What a field holds, in words instead of the schema's pattern.
_WANTED = {
    "id": "<layer>.<name> in small letters, as in nccl.duplicate_gpu",
    "source": "an address that begins with https://",
    "sources": "a list of addresses that begin with https://",
    "checked": "a day, as in 2026-12-01",
}


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a rule file.

    line, column: 1-based, 0 where the whole file is meant. text: that line of the file, for the caret.
    """

    file: str
    line: int
    message: str
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        if not self.line:
            return f"{self.file}: {self.message}"
        place = f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        if not self.column:
            return f"{place}: {self.message}"
        # The caret stays in sight on a long line: what lies far before it gives way.
        cut = max(0, self.column - 1 - _WIDEST * 3 // 4)
        shown = self.text.expandtabs(1)[cut : cut + _WIDEST]
        gutter = f"{self.line:>6} | "
        return f"{place}: {self.message}\n{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {' ' * (self.column - 1 - cut)}^"


class UnreadableRuleError(RulePackError):
    """A rule file cannot be read at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class PatternError(ValueError):
    """A regular expression is refused; offset: at which of its characters, None where it is none in particular."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


class Source:
    """Lines of a rule file, and where in them each table and key stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.file = str(path)
        self.lines = text.splitlines()
        self._tables: dict[tuple[str, int], int] = {}
        self._keys: dict[tuple[str, int, str], tuple[int, int, int]] = {}
        self._read()

    def _read(self) -> None:
        table, number = "", 0
        counts: dict[str, int] = {}
        quote = ""
        for line, text in enumerate(self.lines, 1):
            if quote:
                quote = "" if quote in text else quote
                continue
            if header := _HEADER.match(text):
                table = header.group(1)
                number = counts.get(table, 0)
                counts[table] = number + 1
                self._tables[table, number] = line
            elif key := _KEY.match(text):
                place = (line, len(key.group(1)) + 1, key.end() + 1)
                self._keys.setdefault((table, number, key.group(2)), place)
                value = text[key.end() :]
                quote = next((mark for mark in _QUOTES if value.startswith(mark) and value.count(mark) == 1), "")

    def problem(self, line: int, column: int, message: str) -> Problem:
        """A problem at a place of this file."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return Problem(self.file, line, message, column, text)

    def at(self, needle: str, message: str) -> Problem:
        """A problem at the first line that holds a text; the whole file is meant where none does."""
        for line, text in enumerate(self.lines, 1):
            if needle and needle in text:
                return self.problem(line, text.index(needle) + 1, message)
        return Problem(self.file, 0, message)

    def in_table(self, table: str, number: int, message: str, key: str = "") -> Problem:
        """A problem of the number-th table of a kind (from 0), at one of its keys where it is there."""
        if (table, number, key) in self._keys:
            line, _, column = self._keys[table, number, key]
            return self.problem(line, column, message)
        line = self._tables.get((table, number), 0)
        return self.problem(line, 1, message) if line else Problem(self.file, 0, message)

    def located(self, location: Sequence[int | str], message: str, *, key: bool = False, offset: int = 0) -> Problem:
        """A problem at a place as pydantic names it: ("signature", 1, "pattern").

        key: the caret stands under the name, not under its value. offset: characters into the value's text.
        """
        table, number, rest = "", 0, list(location)
        if len(rest) > 1 and isinstance(rest[0], str) and isinstance(rest[1], int):
            table, number, rest = rest[0], rest[1], rest[2:]
        name = rest[0] if rest and isinstance(rest[0], str) else ""
        if (table, number, name) in self._keys:
            line, start, value = self._keys[table, number, name]
            text = self.lines[line - 1]
            if offset and text[value - 1 : value + 2] not in _QUOTES:
                value += offset + 1  # behind the opening quote
            return self.problem(line, start if key else value, message)
        if table:
            return self.problem(self._tables.get((table, number), 1), 1, message)
        return self.problem(1, 1, message)


def read_source(path: Path) -> Source:
    """A file's lines. UnreadableRuleError where it is not UTF-8 text or cannot be read."""
    try:
        return Source(path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UnreadableRuleError(Problem(str(path), 0, f"is not UTF-8 text (byte {error.start})")) from None
    except OSError as error:
        raise UnreadableRuleError(Problem(str(path), 0, str(error.strerror))) from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. UnreadableRuleError with file, line, column and a caret where it is not TOML."""
    import tomllib

    source = read_source(path)
    try:
        return tomllib.loads("\n".join(source.lines))
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.match(str(error))
        message = f"not TOML: {found.group(1) if found else error}"
        if found and found.group(2):
            raise UnreadableRuleError(source.problem(int(found.group(2)), int(found.group(3)), message)) from None
        last = len(source.lines)
        column = len(source.lines[-1]) + 1 if source.lines else 1
        raise UnreadableRuleError(source.problem(last, column, f"{message} at the end of the file")) from None
    except RecursionError:
        raise UnreadableRuleError(Problem(str(path), 0, "its values are nested too deeply")) from None


def schema_problems(source: Source, error: "ValidationError", fields: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """What a schema found, in words and with places; one a place.

    fields: names that a table may have, by the table's name ("" for the file's top level).
    """
    problems: list[Problem] = []
    seen: set[tuple[int, int, str]] = set()
    for row in error.errors(include_url=False):
        location = row["loc"]
        name = next((part for part in reversed(location) if isinstance(part, str)), "")
        table = location[0] if len(location) > 1 and isinstance(location[1], int) else ""
        offset = 0
        if row["type"] == "missing":
            what = f"[[{table}]]" if table else "the file"
            message = f"{what} lacks the field {name!r}"
        elif row["type"] == "extra_forbidden":
            known = fields.get(str(table), ())
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            message = f"no field is called {name!r}; {hint}"
        elif row["type"] == "string_too_long":
            message = f"{name}: {len(row['input'])} characters; keep it under {row['ctx']['max_length']}"
        elif row["type"] == "value_error":
            cause = row.get("ctx", {}).get("error")
            offset = cause.offset or 0 if isinstance(cause, PatternError) else 0
            message = f"{name}: {str(row['msg']).removeprefix('Value error, ')}"
        else:
            field = location[2] if table and len(location) > 2 else location[0] if location else name
            wanted = _WANTED.get(str(field)) if row["type"] == "string_pattern_mismatch" else None
            message = f"{field}: {f'should be {wanted}' if wanted else row['msg'][0].lower() + row['msg'][1:]}"
        problem = source.located(location, message, key=row["type"] == "extra_forbidden", offset=offset)
        key = (problem.line, problem.column, name if row["type"] == "missing" else "")
        if key not in seen:
            seen.add(key)
            problems.append(problem)
        elif "expected" in row.get("ctx", {}):
            # The other half of a choice between kinds of values.
            more = replace(problems[-1], message=f"{problems[-1].message} or {row['ctx']['expected']}")
            problems[-1] = more
    yield from sorted(problems, key=lambda problem: (problem.line, problem.column))

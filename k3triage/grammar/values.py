"""The argument and configuration lines of vLLM as dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The longest configuration lines have some 30 kB; what is longer is read up to here.
_LIMIT = 200_000
_OPENERS, _CLOSERS = frozenset("([{"), frozenset(")]}")
_CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}


def engine_config(text: str) -> dict[str, Any]:
    """The settings of `Initializing a V1 LLM engine (v0.13.0) with config: model='m', seed=0, ...`.

    Takes the message (or what follows "with config: "). Values are Python's; enums, dtypes and other words are strings,
    dataclasses dictionaries. A line that was cut gives the settings before the cut. The version stands under
    "engine_version".
    """
    head, mark, body = text.partition("with config: ")
    if not mark:
        head, body = "", text
    settings = dict(_assignments(body[:_LIMIT], "="))
    version = head.partition("(v")[2].partition(")")[0]
    if version:
        settings["engine_version"] = version
    return settings


def non_default_args(text: str) -> dict[str, Any]:
    """The arguments of `non-default args: {'model': 'm', 'port': 8000}` and of V0's `args: Namespace(model='m')`.

    Takes the message or the braces alone; a line that was cut gives the arguments before the cut.
    """
    text = text[:_LIMIT]
    start = text.find("{")
    space = text.find("Namespace(")
    if space >= 0 and (start < 0 or space < start):
        return dict(_assignments(_inside(text[space + len("Namespace(") :]), "="))
    if start < 0:
        return {}
    return dict(_assignments(_inside(text[start + 1 :]), ":"))


def _assignments(text: str, sign: str) -> Iterator[tuple[str, Any]]:
    """Name and value of each top-level part; a part that is no value keeps its text."""
    for part in _parts(text):
        name, found, value = part.partition(sign)
        name = name.strip().strip("'\"")
        if found and name and value.strip():
            yield name, parse_value(value.strip())


def _inside(text: str) -> str:
    """Up to the bracket that closes what was opened before the text."""
    depth = 0
    for index, character in _outside_strings(text):
        if character in _OPENERS:
            depth += 1
        elif character in _CLOSERS:
            depth -= 1
            if depth < 0:
                return text[:index]
    return text


def _parts(text: str) -> Iterator[str]:
    """The text cut at its top-level commas."""
    depth = start = 0
    for index, character in _outside_strings(text):
        if character in _OPENERS:
            depth += 1
        elif character in _CLOSERS:
            depth -= 1
        elif depth == 0:
            yield text[start:index]
            start = index + 1
    if depth == 0:
        yield text[start:]


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """Brackets and commas with where they stand, except those within quotes."""
    quote = ""
    skip = False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            if character == "\\":
                skip = True
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "," or character in _OPENERS or character in _CLOSERS:
            yield index, character


def parse_value(text: str) -> Any:
    """One printed value; the text itself where it is none."""
    simple = _simple(text)
    if simple is not _NOT_SIMPLE:
        return simple
    from lark.exceptions import LarkError

    try:
        return _parser()(text)
    except (LarkError, RecursionError):
        return text


_NOT_SIMPLE = object()


def _simple(text: str) -> Any:
    """Words, numbers and plain strings without Lark: most values are, and loading it takes longer than all of them."""
    if text.isalnum() or text.replace("_", "").replace(".", "").replace("-", "").replace("/", "").isalnum():
        return _word(text)
    if text[0] in "'\"" and text[-1] == text[0] and len(text) > 1 and "\\" not in text and text.count(text[0]) == 2:
        return text[1:-1]
    return _NOT_SIMPLE


def _word(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) < 40 and text[0] in "-.0123456789":
        try:
            return int(text)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                return text
    return text


@cache
def _parser() -> Callable[[str], Any]:
    from lark import Lark, Transformer

    from k3triage.grammar.loader import import_hook, source

    class Values(Transformer[Any, Any]):
        """Builds the value while the text is parsed, so that no deep tree has to be walked."""

        def string(self, children: list[Any]) -> Any:
            from ast import literal_eval

            value = literal_eval(str(children[0]))
            return value if isinstance(value, str) else str(value)

        def word(self, children: list[Any]) -> Any:
            return _word(str(children[0]))

        def opaque(self, children: list[Any]) -> Any:
            return str(children[0])

        def items(self, children: list[Any]) -> list[Any]:
            return [child for child in children if child is not None]

        def list(self, children: Any) -> Any:
            return children[0] if children and children[0] is not None else []

        def tuple(self, children: Any) -> Any:
            return self.list(children)

        def pair(self, children: Any) -> Any:
            return (_key(children[0]), children[1])

        def pairs(self, children: Any) -> Any:
            return {child[0]: child[1] for child in children if child is not None}

        def empty(self, children: Any) -> Any:
            return {}

        def dict(self, children: Any) -> Any:
            return children[0]

        def named(self, children: Any) -> Any:
            return (str(children[0]), children[1])

        def arguments(self, children: Any) -> Any:
            return [child for child in children if child is not None]

        def call(self, children: Any) -> Any:
            name, arguments = str(children[0]), children[1] or []
            if arguments and all(isinstance(item, tuple) for item in arguments):
                return dict(arguments)
            return arguments[0] if len(arguments) == 1 else f"{name}({', '.join(map(str, arguments))})"

    parser = Lark(
        source("values"),
        start="value",
        parser="lalr",
        transformer=Values(),
        import_paths=[import_hook],
        maybe_placeholders=True,
    )
    return parser.parse


def _key(value: Any) -> str:
    return value if isinstance(value, str) else str(value)

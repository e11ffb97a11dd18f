"""Grammar files: found in the wheel's package data or beside the package in a checkout, parsers built on demand."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from lark import Lark, Tree


@cache
def _folder() -> Traversable:
    here = Path(__file__).parent
    # In a checkout and an editable install the grammars lie at the top level, beside the package.
    for folder in (here / "grammars", here.parent.parent / "grammars"):
        if folder.is_dir():
            return folder
    # Out of a zip file; the module costs 10 ms, so it is not imported for the others.
    from importlib.resources import files

    return files("k3triage.grammar").joinpath("grammars")


@cache
def source(name: str) -> str:
    """Text of `grammars/<name>.lark`. Raises FileNotFoundError where there is none."""
    return _folder().joinpath(f"{name}.lark").read_text(encoding="utf-8")


def fingerprint(*names: str) -> str:
    """Checksums of the named grammars and of what they share, to key caches of what was made from them."""
    texts = [source(name).encode() for name in sorted({"common", *names})]
    return " ".join(f"{len(text)}-{zlib.crc32(text):08x}" for text in texts)


def import_hook(_base: str | None, path: str) -> tuple[str, str]:
    """Lark's hook for `%import .common (...)`: works out of a zip file too, where there are no paths."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".lark")
    try:
        return f"{name}.lark", source(name)
    except FileNotFoundError:
        raise OSError(f"no grammar called {name}") from None


@cache
def build(grammar: str, start: str, parser: Literal["earley", "lalr"] = "earley") -> Lark:
    """Parser of one rule of a grammar. Costs tens of milliseconds the first time, so build only what is used."""
    from lark import Lark

    options: dict[str, Any] = {"lexer": "dynamic"} if parser == "earley" else {"lexer": "contextual"}
    return Lark(source(grammar), start=start, parser=parser, import_paths=[import_hook], **options)


def parse(grammar: str, start: str, text: str, parser: Literal["earley", "lalr"] = "earley") -> Tree[Any]:
    """Parse tree of `text`. Raises lark.exceptions.UnexpectedInput where it does not fit."""
    return build(grammar, start, parser).parse(text)


def fields(tree: Tree[Any]) -> dict[str, str]:
    """The tokens of a flat tree by terminal name in lower case, as the derived regular expression names its groups."""
    from lark import Token

    return {
        token.type.rsplit("__", 1)[-1].lower(): str(token)
        for token in tree.scan_values(lambda value: isinstance(value, Token))
    }

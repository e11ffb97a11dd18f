"""How surely the texts that a pattern matches hold a literal, by walking the parsed pattern."""

import re._constants as kind
import re._parser as parser
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

_MOST = 20_000
GAP = "\n"  # stands between two runs of literals; no anchor holds it


def share_that_holds(pattern: str, literals: Sequence[str]) -> float:
    """Share of the pattern's ways to match that hold one of the literals for certain: 1.0 is a proof, 0.0 says that
    the pattern does not speak of them. Only the first 20,000 ways are looked at.
    """
    texts = list(islice(_texts(parser.parse(pattern)), _MOST))
    return sum(any(literal in text for literal in literals) for text in texts) / len(texts)


def _texts(items: Sequence[Any]) -> Iterator[str]:
    """Every way to match, what is not literal shown as a gap."""
    for parts in product(*(list(islice(_of(op, value), _MOST)) for op, value in items)):
        yield "".join(parts)


def _of(op: Any, value: Any) -> Iterator[str]:
    if op is kind.LITERAL:
        yield chr(value)
    elif op is kind.IN and all(item[0] is kind.LITERAL for item in value) and len(value) <= 4:
        yield from (chr(item[1]) for item in value)
    elif op is kind.SUBPATTERN:
        yield from _texts(value[3])
    elif op is kind.BRANCH:
        for branch in value[1]:
            yield from _texts(branch)
    elif op in (kind.MAX_REPEAT, kind.MIN_REPEAT):
        least, most, inner = value
        for text in _texts(inner):
            if least >= 1:
                yield text * least if most == least else text * least + GAP + text
                if most != least:
                    yield text * least
            else:
                if most == 1:
                    yield text
                else:
                    yield GAP
        if least == 0:
            yield ""
    elif op is kind.AT:
        yield ""
    else:
        yield GAP

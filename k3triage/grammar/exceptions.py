"""Shapes of single lines of a Python traceback."""

import re
from typing import NamedTuple

from k3triage.model.lazy import lazy

_START = lazy(r"Traceback \(most recent call last\):?\s*\Z")
_FRAME = lazy(r'\s*File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (.{1,400}))?\s*\Z')
_TYPE = r"[A-Za-z_]\w*(?:\.(?:<locals>|[A-Za-z_]\w*))*"
_EXCEPTION = lazy(rf"({_TYPE}(?:\(\w+\))?)(?::(?:\s(.*))?)?\Z", re.DOTALL)
_REPR = lazy(rf"({_TYPE})\((.*)\)\s*\Z", re.DOTALL)
# What a class of exceptions is called, for lines that no frame vouches for.
_TELLING = lazy(
    r"(?:Error|Exception|ExceptionGroup|Interrupt|SystemExit|StopIteration|TimeoutExpired|Failed|Again|NotFound)\Z"
)
_CHAINS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
_GROUP_START = lazy(r"\s*\+ Exception Group Traceback \(most recent call last\):")
_GROUP_RULE = lazy(r"\s*\+-[+-]*(?: (?:\d+|\.\.\.) -+)?\s*\Z")
_MARGIN = lazy(r"\s*\| ?")
_REPR_LIMIT = 4000


class Shown(NamedTuple):
    """An exception as printed: its class, as written, and its message."""

    type: str
    message: str


def starts_traceback(text: str) -> bool:
    """`Traceback (most recent call last):`, also behind other words ("Engine loop died: Traceback ...")."""
    return "Traceback (most" in text and _START.search(text) is not None


def starts_group(text: str) -> bool:
    """`  + Exception Group Traceback (most recent call last):`."""
    return "+ Exception Group" in text and _GROUP_START.match(text) is not None


def group_rule(text: str) -> bool:
    """`  +-+---------------- 1 ----------------` and the closing rule of a group."""
    return _GROUP_RULE.match(text) is not None


def rule_column(text: str) -> tuple[int, bool]:
    """Column of a group's rule (of a first rule, which opens the group: of those that follow it), and if it opens."""
    column = len(text) - len(text.lstrip())
    return (column + 2, True) if text.startswith("+-+", column) else (column, False)


def without_margin(text: str) -> str:
    """A line of an exception group without its `  | `."""
    match = _MARGIN.match(text)
    return text[match.end() :] if match else text


def frame(text: str) -> tuple[str, int, str] | None:
    """File, line and function of a frame; the function is "" in a SyntaxError's position."""
    if 'File "' not in text:
        return None
    match = _FRAME.match(text)
    return (match[1], int(match[2]), match[3] or "") if match else None


def chain_link(text: str) -> str | None:
    """`cause` or `context` for the two sentences between chained exceptions."""
    return _CHAINS.get(text.strip())


def exception(text: str) -> Shown | None:
    """`package.SomeError: message` or a lone class name, where a stack has been printed before it."""
    match = _EXCEPTION.match(text)
    if match is None:
        return None
    name = match[1]
    if match.end(1) == len(text) and not is_telling(name) and "." not in name:
        return None
    return Shown(name, match[2] or "")


def lone_exception(text: str) -> Shown | None:
    """The same where nothing vouches for it: the class must be called like an exception."""
    shown = exception(text)
    if shown is None or not is_telling(shown.type) or not (shown.message or shown.type.endswith("Interrupt")):
        return None
    return shown


def indented(text: str) -> Shown | None:
    """A lone exception that a report indents, told by the module in its name ("  torch.OutOfMemoryError: ...")."""
    if text[:1] != " " or text[4:5] == " ":
        return None
    shown = lone_exception(text.lstrip())
    return shown if shown is not None and "." in shown.type else None


def is_telling(name: str) -> bool:
    """Whether a class is called like an exception: CamelCase with a telling ending."""
    last = name.split("(", 1)[0].rsplit(".", 1)[-1]
    return last[:1].isupper() and _TELLING.search(last) is not None


def represented(text: str) -> Shown | None:
    """`SomeError('message')`, the repr of an exception that V0 logged instead of its text."""
    match = _REPR.match(text)
    if match is None or not is_telling(match[1]):
        return None
    arguments = match[2].rstrip().removesuffix(",")
    if not arguments:
        return Shown(match[1], "")
    if arguments[0] not in "'\"":
        return None
    message = arguments
    if len(arguments) <= _REPR_LIMIT:
        try:
            from ast import literal_eval

            value = literal_eval(arguments)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        message = (
            value if isinstance(value, str) else str(value[0]) if isinstance(value, tuple) and value else arguments
        )
    return Shown(match[1], message)

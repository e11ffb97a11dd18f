"""Text of one record into structure: headers, own words, tracebacks, typed events.

Importing this package loads neither Lark nor pydantic; both come in with the first call that needs them.
"""

from typing import TYPE_CHECKING

from k3triage.grammar.headers import parse_header, to_line
from k3triage.grammar.tracebacks import Tracebacks
from k3triage.grammar.values import engine_config, non_default_args
from k3triage.model.records import Line, TracebackBlock

if TYPE_CHECKING:
    from k3triage.model.events import Event, TracebackEvent

__all__ = [
    "Tracebacks",
    "engine_config",
    "event",
    "non_default_args",
    "parse_header",
    "to_line",
    "traceback_event",
]


def event(line: Line) -> "Event":
    """The typed event of a line (see `k3triage.model.events`)."""
    from k3triage.grammar.events import event as make

    return make(line)


def traceback_event(block: TracebackBlock) -> "TracebackEvent":
    """The typed event of a traceback."""
    from k3triage.grammar.events import traceback_event as make

    return make(block)

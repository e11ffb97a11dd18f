"""Text of one record into structure: headers, own words, tracebacks, typed events.

Importing this package loads neither Lark nor pydantic; both come in with the first call that needs them.
"""

from k3triage.grammar.headers import parse_header, to_line
from k3triage.grammar.tracebacks import Tracebacks

__all__ = ["Tracebacks", "parse_header", "to_line"]

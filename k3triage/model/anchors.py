"""What the scan looks for, shared by the rules that ask and the scan that searches."""

from typing import Literal, NamedTuple

Kind = Literal["fault", "marker", "stat", "progress", "join"]

# What a kind keeps includes what the kinds after it keep, so a weaker anchor that contains a stronger one adds nothing.
STRENGTH: dict[Kind, int] = {"fault": 4, "join": 3, "marker": 2, "stat": 1, "progress": 0}


class Anchor(NamedTuple):
    """A literal to look for, and what to keep where it is found. A tuple, since every start makes two thousand.

    literal: bytes without LF, at least one (checked by `AnchorSet`).
    kind: `fault` keeps the line and its surroundings, `marker` the line, `join` the line and the next one, `stat` the
        line for the first and the last few, `progress` the first line after the start, a reset or a fault.
    resets: the line begins a new attempt; all budgets start anew with it.
    """

    literal: bytes
    kind: Kind
    resets: bool = False

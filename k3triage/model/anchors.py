"""Small types that the compiled pack shares with the scan."""

from typing import NamedTuple


class Anchor(NamedTuple):
    """A literal that the scan looks for; kinds are explained in `k3triage.scan`."""

    literal: bytes
    kind: str
    resets: bool = False

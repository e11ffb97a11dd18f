"""Rules as data: one cause a file, markers, code tables; loading, matching and checking them."""

from k3triage.rules.loader import load_pack
from k3triage.rules.pack import Pack

__all__ = ["Pack", "load_pack"]

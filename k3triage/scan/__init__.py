"""Picks the physical lines worth reading, in one multi-pattern pass over bytes."""

from k3triage.scan.anchors import Anchor, Limits
from k3triage.scan.partial import Partial
from k3triage.scan.scanner import Scanner, slices

__all__ = ["Anchor", "Limits", "Partial", "Scanner", "slices"]

"""Picks the physical lines worth reading, in one multi-pattern pass over bytes."""

from k3triage.model.anchors import Anchor
from k3triage.scan.anchors import Limits
from k3triage.scan.engines import EngineName
from k3triage.scan.partial import Partial
from k3triage.scan.scanner import Scanner

__all__ = ["Anchor", "EngineName", "Limits", "Partial", "Scanner"]

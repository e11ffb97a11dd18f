"""Attempts, phases, roles and the verdict."""

from k3triage.diagnose.engine import diagnose
from k3triage.diagnose.parsed import ParsedInput

__all__ = ["ParsedInput", "diagnose"]

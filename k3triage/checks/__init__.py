"""Holds the facts of an incident against a profile: each prerequisite is ok, violated or unknown."""

from k3triage.checks.run import run_checks

__all__ = ["run_checks"]

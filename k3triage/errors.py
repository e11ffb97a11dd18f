"""Errors that a caller can mend. Each knows the exit code with which the command ends."""


class K3TriageError(Exception):
    """Base of all errors that k3triage raises on purpose; the message is written for the user."""

    exit_code = 2


class UsageError(K3TriageError):
    """The call itself is wrong: an unknown profile, cause or option value."""

    exit_code = 2


class InputError(K3TriageError):
    """An input cannot be read, and nothing else was left to report."""

    exit_code = 3


class RulePackError(K3TriageError):
    """A rule file is invalid; the message names file, line and reason."""

    exit_code = 4

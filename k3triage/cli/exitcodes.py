"""Exit codes that are no error of a call; those of errors stand with them in `k3triage.errors`."""

from k3triage.errors import InputError

FOUND = 1
"""A failure, a broken requirement or a rung that does not hold was found."""

UNREAD = InputError.exit_code
"""An input could not be read; what could be read is reported."""

INTERNAL = 70
"""EX_SOFTWARE of sysexits.h: a fault of this program, not of an input."""

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells say it."""

"""k3triage inside other programs: Python's logging, Ray Data. Each module needs its program; nothing imports them."""

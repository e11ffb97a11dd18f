"""What `k3triage FILE...` means, without argparse: importing it and building a parser takes as long as a small log."""

from types import SimpleNamespace
from typing import Any

# The first word chooses the command; without one of these it is a triage. `./events` names a file called so.
COMMANDS = {
    "triage": "k3triage.cli.triage",
    "collect": "k3triage.cli.collect",
    "events": "k3triage.cli.events",
    "check": "k3triage.cli.check",
    "accept": "k3triage.cli.accept",
    "explain": "k3triage.cli.explain",
    "rules": "k3triage.cli.rules",
}
# The defaults of all options of a triage; a test compares them with the parser's.
DEFAULTS: dict[str, Any] = {
    "follow": False,
    "format": "text",
    "output": None,
    "rules": [],
    "profile": None,
    "redact": False,
    "exit_zero": False,
    "color": "auto",
    "stats": False,
    "lang": "en",
    "jobs": None,
    "engine": "auto",
    "subcommand": "triage",
}
_FORMATS = ("text", "json")


def plain_words(words: list[str]) -> Any | None:
    """The options of a command line of files with at most `--format text` or `json` ahead; None for every other."""
    chosen = {}
    if words[:1] == ["--format"] and any(words[1:2] == [name] for name in _FORMATS):
        chosen["format"] = words[1]
        words = words[2:]
    elif words and words[0] in COMMANDS:
        return None
    if not words or any(word.startswith("-") for word in words):
        return None
    return SimpleNamespace(**{**DEFAULTS, **chosen}, inputs=list(words))

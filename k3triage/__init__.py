"""k3triage: finds the first anomalous event in the logs of a vLLM deployment.

`triage` and `Triage` give a `Report`, `events` the typed events of a log. Names are loaded on first use, so that
importing the package (and `k3triage --help`) costs nothing.
"""

from typing import TYPE_CHECKING, Any

from k3triage.version import __version__

if TYPE_CHECKING:
    from k3triage.api import Triage, check, events, triage
    from k3triage.model.report import Report

__all__ = ["Report", "Triage", "__version__", "check", "events", "triage"]

_HOMES = {
    "Report": "k3triage.model.report",
    "Triage": "k3triage.api",
    "check": "k3triage.api",
    "events": "k3triage.api",
    "triage": "k3triage.api",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

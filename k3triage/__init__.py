"""k3triage: finds the first anomalous event in the logs of a vLLM deployment.

`triage` and `Triage` give a `Report`, `events` the typed events of a log. Names are loaded on first use, so that
importing the package (and `k3triage --help`) costs nothing.
"""

from typing import TYPE_CHECKING, Any

from k3triage.version import __version__

if TYPE_CHECKING:
    from k3triage.api import PartialTriage, Triage, check, events, triage
    from k3triage.api import scan as partial
    from k3triage.api import scan_slice as partial_slice
    from k3triage.model.report import Report

__all__ = [
    "PartialTriage",
    "Report",
    "Triage",
    "__version__",
    "check",
    "events",
    "partial",
    "partial_slice",
    "triage",
]

# `k3triage.scan` is a package, so the function of that name is called `partial` here.
_HOMES = {
    "PartialTriage": "k3triage.partials:PartialTriage",
    "Report": "k3triage.model.report:Report",
    "Triage": "k3triage.api:Triage",
    "check": "k3triage.api:check",
    "events": "k3triage.api:events",
    "partial": "k3triage.api:scan",
    "partial_slice": "k3triage.partials:scan_slice",
    "triage": "k3triage.api:triage",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, found = home.partition(":")
    value = getattr(import_module(module), found)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Opens inputs, takes envelopes off, makes records. Names are loaded when first used, to start quickly."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k3triage.ingest.documents import explode
    from k3triage.ingest.inputs import Input, expand
    from k3triage.ingest.sources import Source
    from k3triage.ingest.unwrap import Unwrapper

__all__ = ["Input", "Source", "Unwrapper", "expand", "explode"]

_HOMES = {
    "Input": "inputs",
    "Source": "sources",
    "Unwrapper": "unwrap",
    "expand": "inputs",
    "explode": "documents",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)

"""Rule files, code tables, the compiled pack and the matcher."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k3triage.rules.loader import load_pack
    from k3triage.rules.pack import Pack

__all__ = ["Pack", "load_pack"]


def __getattr__(name: str) -> Any:
    """Load on first use: a look at `compiled` alone must not cost the import of the whole package."""
    if name == "load_pack":
        from k3triage.rules.loader import load_pack

        return load_pack
    if name == "Pack":
        from k3triage.rules.pack import Pack

        return Pack
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

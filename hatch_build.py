"""Build hook: a wheel brings the compiled rule pack and the patterns derived from the grammars along.

Both are only a head start: what does not fit the files beside it is left alone at run time and made anew.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledPack(BuildHookInterface):  # type: ignore[misc]
    """Adds `compiled.bin` and `derived.json` to a wheel; an editable install uses the cache instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make both files and name them to the builder."""
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from k3triage.grammar.patterns import DERIVED, derived
        from k3triage.rules import compiled
        from k3triage.rules.loader import compile_pack

        made = Path(self.directory) / "made"
        made.mkdir(parents=True, exist_ok=True)
        (made / compiled.FILE).write_bytes(compiled.stamp() + compile_pack())
        (made / DERIVED).write_bytes(derived())
        build_data["force_include"][str(made / compiled.FILE)] = f"k3triage/rules/{compiled.FILE}"
        build_data["force_include"][str(made / DERIVED)] = f"k3triage/grammar/{DERIVED}"

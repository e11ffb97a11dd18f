"""Small records: the standard library's dataclasses, or, in a process that took the plain models, quicker ones.

The decorator of the standard library compiles four functions a class and needs `inspect`; seventy classes cost more
than the triage of a small log. The stand-in compiles a class's `__init__` when its first object is made and has one
general `__eq__`, `__repr__` and `__hash__`. Frozen objects of it are not guarded.
"""

from typing import TYPE_CHECKING

from k3triage.model import plain

if TYPE_CHECKING or not plain.chosen:
    from dataclasses import dataclass, field, replace
else:
    from k3triage.model.plainshapes import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]

"""What a bundle is about: a container, a pod or a process, with the steps that gather it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from k3triage.collect.steps import Gathered, Step
from k3triage.model.lazy import lazy

Kind = Literal["container", "pod", "process"]
VLLM = lazy(r"(?i)vllm|kimi[-_]?k[23]|/nim/|dynamo")
"""Names of images and commands behind which a vLLM server may stand."""


@dataclass
class Target:
    """One server to gather.

    gathered: already done while it was looked for. secrets: values that must not be in the bundle. since: when it was
    started, in Unix seconds. elsewhere: why what this host says is not about it, None where it runs here.
    problem: why it could not be found.
    """

    kind: Kind
    name: str
    gathered: list[Gathered] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    since: float | None = None
    elsewhere: str | None = None
    problem: str | None = None

    @property
    def folder(self) -> str:
        """Where its members lie in the bundle."""
        return f"{self.kind}-{safe(self.name)}"

    def at(self, name: str) -> str:
        """A member's path."""
        return f"{self.folder}/{safe(name)}"


def safe(name: str) -> str:
    """A name as one part of a path."""
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip(".") or "_"


def launch_text(rows: Sequence[tuple[str, object]], command: Sequence[str]) -> str:
    """The launch as `name: value` lines, the command last as one would type it."""
    lines = [f"{name}: {value}\n" for name, value in rows if value not in (None, "", [])]
    return "".join(lines) + f"command: {shlex.join(command)}\n"


def part(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object within a tool's JSON; empty where it is absent or something else."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def seconds(stamp: object) -> float | None:
    """A time stamp of Docker or Kubernetes as Unix seconds; None for none, also for their year 1."""
    if not isinstance(stamp, str) or stamp.startswith("0001-"):
        return None
    try:
        # Nine digits of fraction are more than Python 3.11 takes.
        return datetime.fromisoformat(re.sub(r"\.\d+", "", stamp).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None

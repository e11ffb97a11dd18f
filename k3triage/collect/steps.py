"""One thing to gather: how to get it, and what came of it."""

from dataclasses import dataclass, field

from k3triage.collect.machine import Machine, Output
from k3triage.collect.scrub import Shape

SMALL = 4 << 20
LARGE = 64 << 20
"""Bytes kept of a usual output, and of a log (half from its start, half from its end)."""

_TOLD = 500
# What shells and container runtimes answer where the program is not there or cannot be run.
_NOT_STARTED = (126, 127)


@dataclass(frozen=True, slots=True)
class Step:
    """One member of the bundle.

    commands: tried in this order until one succeeds and prints something. path: a file to read instead.
    patience: times the usual time-out.
    merge: standard error belongs to the output, as in the logs of a container.
    keep_failed: what a failing command printed is evidence itself (`nvidia-smi` without a driver); otherwise only the
    manifest tells of it, so that a failed look is not taken for the failure that is looked for.
    cleanup: run where a command was stopped. instead: gathered as well where this was stopped by its time-out.
    """

    member: str
    what: str
    commands: tuple[tuple[str, ...], ...] = ()
    path: str | None = None
    shape: Shape = "text"
    limit: int = SMALL
    patience: float = 1.0
    merge: bool = False
    keep_failed: bool = False
    cleanup: tuple[str, ...] = ()
    instead: "Step | None" = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """What came of a step. data: None where it is absent; `reason` says why, or what is wrong with it."""

    step: Step
    command: tuple[str, ...] = ()
    output: Output = field(default_factory=Output)
    data: bytes | None = None
    reason: str | None = None


def perform(machine: Machine, step: Step, timeout: float) -> list[Gathered]:
    """Carry a step out; it never raises for what is not there. Two results where its `instead` was needed."""
    result = _perform(machine, step, timeout)
    if step.instead is not None and result.output.code is None and result.output.problem is not None:
        return [result, _perform(machine, step.instead, timeout)]
    return [result]


def _perform(machine: Machine, step: Step, timeout: float) -> Gathered:
    if step.path is not None:
        output = machine.read(step.path, step.limit)
        return Gathered(step, (), output, None if output.problem else output.data, output.problem)
    best: Gathered | None = None
    for command in step.commands:
        output = machine.run(command, timeout=timeout * step.patience, limit=step.limit, merge=step.merge)
        result = Gathered(step, command, output, *_judged(step, output))
        if result.data is not None and result.reason is None:
            return result
        if output.problem is not None and step.cleanup:
            machine.run(step.cleanup, timeout=timeout, limit=SMALL)
        if best is None or (best.data is None and result.data is not None):
            best = result
    return best or Gathered(step, reason="there is no command for it")


def made(member: str, what: str, text: str, shape: Shape = "text") -> Gathered:
    """A member that was made from other outputs."""
    return Gathered(Step(member, what, shape=shape), data=text.encode("utf-8", "surrogateescape"))


def absent(member: str, what: str, reason: str) -> Gathered:
    """Something that cannot be there."""
    return Gathered(Step(member, what), reason=reason)


def last_line(output: Output) -> str:
    """The last line on standard error: with the usual tools, the one that says why it failed."""
    return (output.errors.decode("utf-8", "replace").strip().splitlines() or [""])[-1]


def _judged(step: Step, output: Output) -> tuple[bytes | None, str | None]:
    if output.problem is None and output.code == 0:
        return (output.data, None) if output.data.strip() else (None, "nothing was printed")
    reason = output.problem or f"exit code {output.code}{_told(output)}"
    everything = output.data if step.merge else output.data + output.errors
    if step.keep_failed and everything.strip() and output.code not in _NOT_STARTED:
        return everything, reason
    # A log that was stopped or torn off is worth more than none; a refusal alone, of one line, is no log.
    if step.limit == LARGE and output.data.count(b"\n") > 1:
        return output.data, reason
    return None, reason


def _told(output: Output) -> str:
    lines = (output.errors or output.data).decode("utf-8", "replace").strip().splitlines()
    return f": {' '.join(lines)[:_TOLD]}" if lines else ""

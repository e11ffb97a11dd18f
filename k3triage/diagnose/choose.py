"""Which finding is the first anomaly.

What work went on after is recovered, what follows a stop on request is noise. Of the rest the last failed attempt
counts, in it what nothing else explains (see `causality`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from k3triage.diagnose.attempts import Attempt
from k3triage.diagnose.causality import Explanation, explain
from k3triage.diagnose.findings import STARTUP, TIERS
from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.diagnose.timeline import Timeline
from k3triage.diagnose.witness import related
from k3triage.model.enums import Outcome, Phase
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass
from k3triage.rules.links import Links

_SETTLED_SECONDS = 8.0
_SETTLED_LINES = 15
_ASKED_IN_VAIN = ("config", "model")
_NUMBERS = lazy(r"[0-9a-f]*\d[0-9a-f]*")


@dataclass
class AttemptResult:
    """How one attempt of one input ended, and the findings that speak for a failure."""

    input: int
    number: int
    attempt: Attempt
    outcome: Outcome
    failing: list[Finding]


@dataclass
class Choice:
    """The chosen finding (None: nothing failed) and what every attempt came to."""

    chosen: Finding | None
    advisory: Finding | None
    results: list[AttemptResult]
    explanation: Explanation


def choose(
    parsed: Sequence[ParsedInput], timelines: Sequence[Timeline], findings: Sequence[Finding], cast: Cast, links: Links
) -> Choice:
    """The first anomaly over all inputs."""
    by_attempt: dict[tuple[int, int], list[Finding]] = {}
    for finding in findings:
        by_attempt.setdefault((finding.input, finding.attempt), []).append(finding)
    results = [
        _judge(number, parsed[number], timelines[number], attempt, by_attempt.get((number, attempt), []))
        for number in range(len(parsed))
        for attempt in range(len(timelines[number].attempts))
    ]
    pool = [finding for result in _last_failed(results, timelines) for finding in result.failing]
    if not pool:
        # A fault that a rule knows and that failed requests is worth a report, though the server went on.
        # The kernel speaks of every process of the host; only what it says of the hardware concerns us in any case.
        pool = [f for f in findings if f.recovered and f.tier == TIERS["root"] and f.phase is Phase.SERVING]
        pool = [f for f in pool if f.line.header.kind != "kernel" or f.layer == "hardware"]
        # What a request or an operator asked for in vain is answered with an error, and the server is none the worse.
        pool = [f for f in pool if f.layer not in _ASKED_IN_VAIN]
        pool = [f for f in pool if f.block is not None or f.line.header.level in ("ERROR", "CRITICAL")]
    advisory = next((f for f in sorted(findings, key=lambda f: (f.input, f.index)) if f.role == "advisory"), None)
    pool = related(pool, cast)
    if all(f.role == "error_line" for f in pool) and any(_serves(result, timelines) for result in results):
        pool = []  # other programs' errors, beside a server that got ready
    if not pool:
        return Choice(None, advisory, results, Explanation([], []))
    explanation = explain(pool, cast, links, _order(pool), _comparable(pool))
    chosen = _first_copy(explanation.roots[0].first, findings)
    return Choice(chosen, advisory, results, explanation)


def _serves(result: AttemptResult, timelines: Sequence[Timeline]) -> bool:
    """Whether this is the last attempt of its input, and its server got ready and did not fail."""
    last = result.number + 1 == len(timelines[result.input].attempts)
    return last and result.attempt.ready is not None and result.outcome is not Outcome.FAILED


def _last_failed(results: Sequence[AttemptResult], timelines: Sequence[Timeline]) -> list[AttemptResult]:
    """The last failed attempt of every input, without those that their input had left behind when others failed."""
    last: dict[int, AttemptResult] = {}
    for result in results:
        if result.outcome is Outcome.FAILED:
            last[result.input] = result
        elif result.attempt.ready is not None and result.input in last and not last[result.input].attempt.starts:
            # What was printed before the first sign of a server did not keep it from getting ready.
            del last[result.input]
    return [
        result
        for result in last.values()
        if not any(_overtaken(result, other, timelines) for other in last.values() if other is not result)
    ]


def _overtaken(result: AttemptResult, other: AttemptResult, timelines: Sequence[Timeline]) -> bool:
    """Whether an input was in a later attempt, in which it says nothing of a failure, when another input failed."""
    attempts = timelines[result.input].attempts
    if result.number + 1 >= len(attempts):
        return False
    restarted = timelines[result.input].clock_at(attempts[result.number + 1].start)
    failed = min((f.clock for f in other.failing if f.clock is not None), default=None)
    if restarted is not None and failed is not None:
        return failed >= restarted - 1.0
    return other.number > result.number and other.number + 1 == len(timelines[other.input].attempts)


def _first_copy(chosen: Finding, findings: Sequence[Finding]) -> Finding:
    """The earliest line of the same attempt that states the chosen fault, though it was not yet fatal there.

    A quieter line of the same layer counts as a statement of it: programs log what they are about to fail of.
    """
    if chosen.role != "root":
        return chosen
    mine = [f for f in findings if (f.input, f.attempt) == (chosen.input, chosen.attempt) and f.index < chosen.index]
    same = [f for f in mine if f.cause == chosen.cause]
    quiet = [
        f for f in mine if f.layer == chosen.layer and f.role == "root" and TIERS["root"] > f.tier and not f.recovered
    ]
    return min([chosen, *same, *quiet], key=lambda f: f.index)


def _clocked(pool: Sequence[Finding]) -> set[int]:
    return {n for n in {f.input for f in pool} if all(f.clock is not None for f in pool if f.input == n)}


def _comparable(pool: Sequence[Finding]) -> bool:
    """Whether findings of different inputs can be ordered by their clocks."""
    return len({finding.input for finding in pool}) > 1 and len(_clocked(pool)) > 1


def _order(pool: Sequence[Finding]) -> Callable[[Finding], tuple[float, ...]]:
    clocked = _clocked(pool)
    if not _comparable(pool):
        # A kernel log of its own comes after the logs that it is a witness to; in a journal the lines are in order.
        logs = {f.input for f in pool if f.line.header.kind != "kernel"}
        return lambda f: (f.input not in logs, f.input, f.index)
    # Inputs without a clock cannot be placed; they come after those that can.
    return lambda f: (f.input not in clocked, f.clock or 0.0, f.input, f.index)


def _judge(
    source: int, parsed: ParsedInput, timeline: Timeline, number: int, findings: Sequence[Finding]
) -> AttemptResult:
    attempt = timeline.attempts[number]
    mine = [f for f in findings if f.tier > 0]
    _mark_recovered(parsed, timeline, attempt, mine)
    _quiet_after(attempt.stop, 99, mine)
    _quiet_after(attempt.end_mark, 25, mine)
    alive = [f for f in mine if not f.recovered]
    failing = [f for f in alive if f.tier >= 20]
    if not failing:
        echoes = [f for f in alive if f.role == "cascade"]
        loud = [f for f in alive if f.role != "cascade"]
        if echoes or (loud and attempt.ready is None):
            failing = loud + echoes
    if failing:
        outcome = Outcome.FAILED
    elif attempt.stop is not None or attempt.end_mark is not None:
        outcome = Outcome.STOPPED
    else:
        outcome = Outcome.HEALTHY if attempt.ready is not None or not mine else Outcome.INCOMPLETE
    return AttemptResult(source, number, attempt, outcome, alive if failing else [])


def _quiet_after(index: int | None, tier: int, mine: Sequence[Finding]) -> None:
    """What a shutting down prints is noise, up to a tier, unless a failure stands before it."""
    if index is None or any(f.index < index and f.tier >= 20 and not f.recovered for f in mine):
        return
    for finding in mine:
        if finding.index >= index and finding.tier <= tier:
            finding.recovered = True


def _mark_recovered(parsed: ParsedInput, timeline: Timeline, attempt: Attempt, mine: list[Finding]) -> None:
    """A finding is recovered if the server got ready, or went on serving, between it and the next one."""
    ordered = sorted(mine, key=lambda f: f.index)
    limits = [attempt.end] * len(ordered)  # index of the next finding that counts as a failure
    for position in range(len(ordered) - 2, -1, -1):
        after = ordered[position + 1]
        limits[position] = after.index if after.tier >= 5 else limits[position + 1]
    echoes = [f.index for f in ordered if f.role == "cascade"]
    for finding, limit in zip(ordered, limits, strict=True):
        if attempt.ready is not None and finding.index < attempt.ready:
            if not timeline.same_server(finding.line, parsed.lines[attempt.ready]):
                continue
            echoed = bisect_left(echoes, attempt.ready) > bisect_right(echoes, finding.index)
            finding.recovered = finding.recovered or not echoed
            continue
        if finding.phase in STARTUP:
            continue  # only a server that got ready has left a start-up failure behind
        for place in range(bisect_right(attempt.progress, finding.index), bisect_left(attempt.progress, limit)):
            if _settled(parsed, timeline, finding, attempt.progress[place]):
                finding.recovered = True
                break
    _survived_before(ordered)
    # What stands before a recovered finding, with nothing but recovered ones in between, is over as well.
    over = False
    for finding in reversed(ordered):
        if finding.recovered and attempt.ready is not None and finding.index > attempt.ready:
            over = True
        elif over:
            finding.recovered = True


def _survived_before(ordered: Sequence[Finding]) -> None:
    """What the server got over once it gets over again, though the log ends before it shows."""
    known = {_kind(f) for f in ordered if f.recovered and f.phase is Phase.SERVING}
    tail = [f for f in ordered if not f.recovered]
    if tail and all(_kind(f) in known for f in tail):
        for finding in tail:
            finding.recovered = True


def _kind(finding: Finding) -> tuple[str, str]:
    return finding.cause, _NUMBERS.sub("#", finding.line.own)[:200]


def _settled(parsed: ParsedInput, timeline: Timeline, finding: Finding, progress: int) -> bool:
    then, now = finding.clock, timeline.clock_at(progress)
    line = parsed.lines[progress]
    if not timeline.same_server(finding.line, line):
        return False
    timed = line.header.clock is not None or line.record.time is not None
    if then is not None and now is not None and (timed or now > then):
        return now - then >= _SETTLED_SECONDS
    return line.record.line - finding.end >= _SETTLED_LINES

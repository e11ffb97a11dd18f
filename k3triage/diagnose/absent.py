"""Missing witnesses: ranks that fell silent, ranks and nodes that the others point to but no input holds."""

from collections.abc import Iterable, Sequence

from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.diagnose.timeline import Timeline, line_clocks
from k3triage.model.lazy import lazy
from k3triage.model.report import Missing
from k3triage.model.shapes import dataclass, field

_PEER = lazy(
    r"(?:peer|from|to|remote|address of|connect to) \(?(?:\[(?:::ffff:)?)?((?:\d{1,3}\.){3}\d{1,3})\b"
    r"|remote=\[?(?:::ffff:)?((?:\d{1,3}\.){3}\d{1,3})\b|Socket\w*\(.{0,120}?remote=\[([\w.-]+)\]"
)
_FROM_RANK = lazy(
    r"\b(?:from|to|for|waiting for|key '?\w*/?) ?rank (\d{1,6})\b"
    r"|\b[Rr]ank (\d{1,6}) (?:failed to|did not|never|timed out)"
    r"|Ranks? (\d{1,6}(?:, ?\d{1,6}){0,63}) failed to pass"
)
_LOOPBACK = ("127.", "0.")
# Seconds by which a log ends before the failure, for its end to mean something.
_EARLY = 5.0
_MOST = 8


@dataclass
class Absent:
    """silent: ranks in the inputs that say nothing of a failure that others report; stopped: their log ends early too.

    unheard: ranks of the world in no input. peers: addresses and hosts named by failures, in no input.
    """

    silent: list[int] = field(default_factory=list)
    stopped: dict[int, str] = field(default_factory=dict)
    unheard: list[int] = field(default_factory=list)
    peers: list[str] = field(default_factory=list)
    quiet_inputs: list[str] = field(default_factory=list)
    no_kernel_log: bool = True

    def __bool__(self) -> bool:
        return bool(self.silent or self.unheard or self.peers or self.quiet_inputs)


def absent(
    inputs: Sequence[ParsedInput],
    timelines: Sequence[Timeline],
    cast: Cast,
    pool: Sequence[Finding],
) -> Absent:
    """Who is missing, judged by the findings of the failed attempts."""
    found = Absent(no_kernel_log=not any(who.kernel for who in cast.inputs))
    if not pool:
        return found
    heard = cast.ranks
    blamed = {who.rank for f in pool if (who := cast.who(f.input, f.line)).rank is not None}
    if cast.world and cast.world > 1:
        # Files of one rank each, or prefixes, tell ranks apart; where no rank is heard, nothing is known of any.
        found.unheard = sorted(set(range(cast.world)) - heard) if heard and cast.world <= 65536 else []
    found.unheard = sorted({*found.unheard, *(_named_ranks(pool) - heard)})
    if blamed and (quiet := heard - blamed) and len(quiet) * 2 <= len(heard):
        found.silent = sorted(quiet)
    found.stopped = _stopped(inputs, timelines, cast, pool, quiet=set(found.silent) or (heard - blamed))
    failing = {f.input for f in pool}
    if not found.silent:
        ends = _ends(inputs, timelines)
        first = min((f.clock for f in pool if f.clock is not None), default=None)
        found.quiet_inputs = [
            inputs[number].name
            for number in cast.speaking
            if number not in failing
            and len(cast.speaking) > 1
            and (cast.inputs[number].pids or cast.inputs[number].ranks)
            and first is not None
            and (end := ends[number]) is not None
            and end < first - _EARLY
        ]
    known = cast.nodes
    complete = cast.world is not None and not found.unheard and heard
    if not complete:  # where every rank is heard, the peers are among them under another name
        found.peers = sorted({peer for f in pool for peer in _peers(f) if peer not in known})[:_MOST]
    return found


def _ends(inputs: Sequence[ParsedInput], timelines: Sequence[Timeline]) -> list[float | None]:
    """Clock of the last line of every input."""
    ends = []
    for parsed, timeline in zip(inputs, timelines, strict=True):
        clocks = [c for c in timeline.clocks[-1:] if c is not None]
        clocks += [c + timeline.added for c in line_clocks(parsed.tail)[0][-1:] if c is not None]
        ends.append(max(clocks, default=None))
    return ends


def _stopped(
    inputs: Sequence[ParsedInput], timelines: Sequence[Timeline], cast: Cast, pool: Sequence[Finding], quiet: set[int]
) -> dict[int, str]:
    """Ranks alone in their file whose log ends before the others' failure."""
    first = min((f.clock for f in pool if f.clock is not None), default=None)
    ends = _ends(inputs, timelines)
    return {
        who.rank: inputs[number].name
        for number, who in enumerate(cast.inputs)
        if who.rank in quiet
        and who.rank is not None
        and (first is None or (end := ends[number]) is None or end < first - _EARLY)
    }


def _named_ranks(pool: Iterable[Finding]) -> set[int]:
    named: set[int] = set()
    for finding in pool:
        for match in _FROM_RANK.finditer(finding.line.header.message[:2000]):
            text = next(group for group in match.groups() if group)
            named.update(int(part) for part in text.split(","))
    return named


def _peers(finding: Finding) -> Iterable[str]:
    lines = [finding.line, *(finding.block.lines if finding.block else [])]
    for line in lines[-40:]:
        for match in _PEER.finditer(line.header.message[:2000]):
            peer = next(group for group in match.groups() if group)
            if not peer.startswith(_LOOPBACK):
                yield peer


def wanted(found: Absent) -> list[Missing]:
    """What to bring, the most telling first."""
    missing: list[Missing] = []
    if found.unheard:
        missing.append(
            Missing(
                what=f"the log of {some_ranks(found.unheard)}, which no input holds",
                command="docker logs CONTAINER > node.log 2>&1   # on each node; or kubectl logs POD --timestamps",
                because="the others only report that they lost a peer; the one that failed first may be among these",
            )
        )
    if found.peers:
        missing.append(
            Missing(
                what=f"the log of {', '.join(found.peers)}, which the failing lines name and no input comes from",
                command=f"ssh {found.peers[0]} 'docker logs CONTAINER' > {found.peers[0]}.log 2>&1",
                because="connections to it broke, so it may have failed first",
            )
        )
    if found.silent and found.no_kernel_log:
        who = some_ranks(found.silent)
        missing.append(
            Missing(
                what=f"the kernel log of the node of {who}, and how its process ended",
                command="dmesg -T | tail -200; docker inspect CONTAINER --format '{{json .State}}'",
                because=f"{who} stopped without a word while the others report the failure",
            )
        )
    for name in found.quiet_inputs[:_MOST]:
        missing.append(
            Missing(
                what=f"the kernel log of the node that wrote {name}, and how its process ended",
                command="dmesg -T | tail -200; docker inspect CONTAINER --format '{{json .State}}'",
                because=f"{name} ends before the others report the failure, without a word",
            )
        )
    return missing


def told(found: Absent) -> list[str]:
    """Sentences for the reasons of the verdict."""
    lines: list[str] = []
    if found.silent:
        stopped = [f"{name}" for rank, name in sorted(found.stopped.items()) if rank in found.silent]
        where = f" ({', '.join(stopped[:4])} ends before the others fail)" if stopped else ""
        lines.append(f"{some_ranks(found.silent)[:1].upper()}{some_ranks(found.silent)[1:]} fell silent{where}.")
    if found.unheard:
        lines.append(f"Not among the inputs: {some_ranks(found.unheard)}.")
    if found.quiet_inputs:
        lines.append(f"{', '.join(found.quiet_inputs[:4])} ends before the others report the failure.")
    return lines


def some_ranks(ranks: Sequence[int]) -> str:
    """`rank 3` or `ranks 0 to 3, 7`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    more = f" and {len(parts) - 12} more groups" if len(parts) > 12 else ""
    return f"ranks {', '.join(parts[:12])}{more}"

"""One collective as all ranks tell of it: different operations or sizes, one rank late, or nothing to see.

A rank that waits in vain reports the collective's number, operation and size when it gives up. Compared over the ranks
these tell a mismatch (same number, other operation or size) and a straggler (one rank had not yet got there, and lives)
from a peer that crashed.
"""

from collections.abc import Sequence

from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.grammar.sentences import collective
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass, field
from k3triage.rules.pack import Pack

_DUMP = lazy(r"Last enqueued NCCL work: (-?\d{1,18}), last completed NCCL work: (-?\d{1,18})")
_GROUP = lazy(r"\[PG (?:ID )?(\S{1,20}) PG GUID (\S{1,60}) Rank \d+\]")
# Operations that two ranks of one sequence may run with other sizes, or other halves of.
_PAIRED = frozenset({"SEND", "RECV", "COALESCED", "UNKNOWN", "SCATTER", "GATHER"})
Shape = tuple[str, int]


@dataclass
class Comparison:
    """What came of it: outcome is "mismatch", "straggler" or "", why says it in a sentence, ranks are the odd ones."""

    outcome: str = ""
    why: str = ""
    ranks: tuple[int, ...] = ()


@dataclass
class _Ranks:
    """shapes: sequence number -> rank -> operation and size; ahead: rank -> last enqueued work at its first report."""

    shapes: dict[int, dict[int, Shape]] = field(default_factory=dict)
    ahead: dict[int, int] = field(default_factory=dict)


def compare(inputs: Sequence[ParsedInput], cast: Cast, findings: Sequence[Finding], pack: Pack) -> Comparison:
    """Compare the ranks' reports and, where they settle it, name the cause on the findings of the time-out."""
    names = pack.links.collective
    waiting = [f for f in findings if f.cause in names.timeouts and not f.recovered]
    if not waiting:
        return Comparison()
    ranks = _read(inputs, cast)
    result = _mismatch(ranks) or _straggler(ranks, findings, cast)
    if result is None:
        return Comparison()
    cause = names.mismatch if result.outcome == "mismatch" else names.straggler
    for finding in waiting:
        if finding.signature is not None and finding.cause == names.timeouts[0]:
            finding.cause, finding.layer, finding.role = cause, pack.infos[cause].layer, "root"
            finding.tier = 30
    return result


def _read(inputs: Sequence[ParsedInput], cast: Cast) -> _Ranks:
    found = _Ranks()
    for number, parsed in enumerate(inputs):
        for line in parsed.lines:
            message = line.header.message
            if "WorkNCCL(" not in message and "atchdog at work" not in message and "enqueued NCCL work" not in message:
                continue
            rank = cast.who(number, line).rank
            group = _GROUP.search(message)
            if rank is None or (group is not None and group[1] not in ("0", "default_pg")):
                continue  # other groups count their work on their own
            told = collective(message)
            sequence, operation = told.get("sequence"), told.get("operation")
            if isinstance(sequence, int) and isinstance(operation, str) and operation not in _PAIRED:
                shape = (operation, int(told.get("numel_in", 0)))
                found.shapes.setdefault(sequence, {}).setdefault(rank, shape)
            enqueued = told.get("enqueued")
            if enqueued is None and (dump := _DUMP.search(message)):
                enqueued = int(dump[1])
            if isinstance(enqueued, int):
                found.ahead.setdefault(rank, enqueued)
    return found


def _mismatch(ranks: _Ranks) -> Comparison | None:
    for sequence in sorted(ranks.shapes):
        by_shape: dict[Shape, list[int]] = {}
        for rank, shape in sorted(ranks.shapes[sequence].items()):
            by_shape.setdefault(shape, []).append(rank)
        if len(by_shape) < 2:
            continue
        groups = sorted(by_shape.items(), key=lambda item: (-len(item[1]), item[1]))
        parts = [f"{_some(members)} ran {shape[0]} of {shape[1]} elements" for shape, members in groups[:3]]
        odd = tuple(rank for _, members in groups[1:] for rank in members)
        return Comparison("mismatch", f"In collective {sequence} {', '.join(parts)}.", odd)
    return None


def _straggler(ranks: _Ranks, findings: Sequence[Finding], cast: Cast) -> Comparison | None:
    if not ranks.shapes:
        return None
    first = min(ranks.shapes)
    late = sorted(rank for rank, enqueued in ranks.ahead.items() if enqueued < first)
    if not late or len(late) * 2 > len(ranks.ahead):
        return None
    failed = {cast.who(f.input, f.line).rank for f in findings if f.role in ("root", "generic") and not f.recovered}
    if failed.intersection(late):
        return None  # it did not come because it failed
    work = min(ranks.ahead[rank] for rank in late)
    why = f"{_some(late)} had only reached collective {work} when the others gave up waiting in {first}, and was alive."
    return Comparison("straggler", why[0].upper() + why[1:], tuple(late))


def _some(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(str(rank) for rank in ranks[:6])
    return f"ranks {shown}{f' and {len(ranks) - 6} more' if len(ranks) > 6 else ''}"

"""Turns hits and tracebacks of one input into findings, one a fault shown.

A traceback gives one finding for its whole chain: the cause is the first that a rule knows, from the deepest exception
outwards; the line is the deepest exception's unless that is mere control flow.
"""

import re
from collections.abc import Iterable

from k3triage.diagnose.conditions import given
from k3triage.diagnose.facts import Facts
from k3triage.diagnose.parsed import Finding, ParsedInput, Place
from k3triage.diagnose.timeline import Timeline
from k3triage.model.conditions import version_key
from k3triage.model.enums import Phase
from k3triage.model.records import Line, Raised, TracebackBlock
from k3triage.rules.match import Hit, Matches
from k3triage.rules.pack import Pack, Signature

UNHANDLED = "unknown.unhandled_exception"
ERROR_LINE = "unknown.error_line"
TIERS = {"root": 30, "generic": 20, "suspect": 20, "error_line": 10, "cascade": 5}
_CONTROL_FLOW = frozenset({"StopIteration", "StopAsyncIteration", "KeyError", "AttributeError", "Empty", "queue.Empty"})
# A build from sources without tags calls itself 0.1.devN, which tells nothing about its wordings.
_UNTAGGED = (0, 1, 1 << 30)
STARTUP = frozenset(
    {
        Phase.CONTAINER_START,
        Phase.IMPORT,
        Phase.ENGINE_INIT,
        Phase.WEIGHT_LOAD,
        Phase.MEMORY_PROFILE,
        Phase.GRAPH_CAPTURE,
    }
)
# Rules up to this precedence know a kind of fault by its general shape, not the fault itself.
_GENERAL = 25
_LOUD = frozenset({"ERROR", "CRITICAL"})
_QUIET = frozenset({"DEBUG", "INFO", "WARNING"})


def places(blocks: Iterable[TracebackBlock]) -> dict[int, Place]:
    """Place of every line of every traceback, by the identity of the line."""
    table: dict[int, Place] = {}
    for block in blocks:
        for line in block.lines:
            table[id(line)] = Place(block, None, False)
        for raised in block.chain:
            for line in raised.more:
                table[id(line)] = Place(block, raised, False)
            table[id(raised.line)] = Place(block, raised, True)
    return table


class FindingBuilder:
    """Builds the findings of one input."""

    def __init__(
        self, number: int, parsed: ParsedInput, matches: Matches, timeline: Timeline, pack: Pack, facts: Facts
    ) -> None:
        self._number = number
        self._parsed = parsed
        self._matches = matches
        self._timeline = timeline
        self._pack = pack
        self._facts = facts
        self._index = {id(line): index for index, line in enumerate(parsed.lines)}
        self._places = places(parsed.blocks)
        self._seen: dict[int, set[str]] = {}
        for index, hits in matches.hits.items():
            attempt = timeline.attempt_of(index)
            self._seen.setdefault(attempt, set()).update(hit.signature.cause for hit in hits)

    def build(self) -> list[Finding]:
        """Findings in the order of their lines."""
        found = [finding for block in self._parsed.blocks if (finding := self._of_block(block)) is not None]
        for index, line in enumerate(self._parsed.lines):
            if id(line) in self._places:
                continue
            finding = self._of_line(index, line)
            if finding is not None:
                found.append(finding)
        found.sort(key=lambda finding: (finding.index, -finding.tier))
        return found

    def _of_line(self, index: int, line: Line) -> Finding | None:
        hit = self._best(self._matches.hits.get(index, ()), index, None)
        if hit is not None:
            return self._make(index, line, hit, None)
        if line.header.level in _LOUD and line.own.strip():
            return self._make(index, line, None, None, role="error_line")
        return None

    def _of_block(self, block: TracebackBlock) -> Finding | None:
        best: tuple[Raised, Hit, Line] | None = None
        unknown: Raised | None = None
        settled = False
        for raised in block.chain:
            choice = self._of_raised(raised)
            if choice is None and not raised.type:
                continue  # cut off before its exception
            if choice is None:
                if unknown is None or _is_lookup(unknown):
                    unknown = raised
                continue
            hit, line = choice
            settled = True
            if hit.signature.role in ("benign", "context"):
                continue
            if best is None or _weight(hit, raised) > _weight(best[1], best[0]):
                best = (raised, hit, line)
        if best is None:
            if unknown is None or (settled and unknown.link == "context"):
                return None
            line = _statement(unknown)
            return self._make(self._index_of(line), line, None, block, role="generic")
        raised, hit, line = best
        if hit.signature.role == "root" and line is raised.line:
            line = self._deepest(block, raised).line
        elif unknown is not None and hit.signature.role != "root" and not _is_lookup(unknown):
            line = _statement(unknown)
            return self._make(self._index_of(line), line, None, block, role="generic")
        return self._make(self._index_of(line), line, hit, block)

    def _deepest(self, block: TracebackBlock, known: Raised) -> Raised:
        """The exception printed first in the chain, passing over control flow and what a rule calls harmless."""
        for raised in block.chain:
            if raised is known:
                return known
            choice = self._of_raised(raised)
            if choice is not None and choice[0].signature.role != "root":
                continue
            if _is_lookup(raised):
                continue
            return raised
        return known

    def _of_raised(self, raised: Raised) -> tuple[Hit, Line] | None:
        """Best hit on an exception's message and the line that it makes the reported one."""
        best: tuple[Hit, Line] | None = None
        for line in (raised.line, *raised.more):
            index = self._index_of(line)
            hit = self._best(self._matches.hits.get(index, ()), index, raised)
            if hit is not None and hit.signature.role == "benign" and line is not raised.line:
                continue  # a harmless hint below a message does not make the exception harmless
            if hit is not None and (best is None or hit.rank > best[0].rank):
                best = (hit, line if hit.signature.at == "match" else raised.line)
        return best

    def _index_of(self, line: Line) -> int:
        return self._index[id(line)]

    def _best(self, hits: Iterable[Hit], index: int, raised: Raised | None) -> Hit | None:
        fitting = [hit for hit in hits if self._fits(hit.signature, index, raised)]
        shown = [hit for hit in fitting if hit.signature.role != "context"]
        return max(shown, key=lambda hit: hit.rank, default=None)

    def _fits(self, signature: Signature, index: int, raised: Raised | None) -> bool:
        harmless = signature.raised or signature.frames is not None or signature.raised_in is not None
        if raised is not None and signature.role == "benign" and not harmless:
            return False
        if signature.frames is not None and not _frames_fit(signature.frames, raised):
            return False
        if signature.raised_in is not None and not _raised_fits(signature.raised_in, raised):
            return False
        if signature.phases and not _phase_fits(signature.phases, self._phase(index, raised)):
            return False
        if signature.since or signature.until:
            version = self._timeline.version
            if version is not None and version > _UNTAGGED and not _in_range(version, signature.since, signature.until):
                return False
        seen = self._seen.get(self._timeline.attempt_of(index), set())
        return all(self._holds(need, seen) for need in signature.needs) and not any(
            self._holds(bar, seen) for bar in signature.unless
        )

    def _holds(self, condition: str, seen: set[str]) -> bool:
        """Whether a cause was seen in the attempt, or what is no cause's id holds as a condition on a fact."""
        return condition in seen or (condition not in self._pack.infos and given(condition, self._facts) is True)

    def _phase(self, index: int, raised: Raised | None) -> Phase:
        marked = self._timeline.phase_at(index)
        if raised is None:
            return marked
        shown = phase_of_frames(raised, self._pack)
        if shown is None or (shown is Phase.SERVING and marked is not Phase.UNKNOWN):
            return marked
        return shown

    def _make(
        self, index: int, line: Line, hit: Hit | None, block: TracebackBlock | None, *, role: str | None = None
    ) -> Finding:
        signature = hit.signature if hit else None
        if signature is not None:
            cause, layer, kind = signature.cause, signature.layer, signature.role
        else:
            kind = role or "error_line"
            cause, layer = (UNHANDLED if kind == "generic" else ERROR_LINE), "unknown"
        raised = None
        if block is not None:
            place = self._places.get(id(line))
            raised = place.raised if place else None
        start, end = (block.start, block.end) if block else (line.record.line, line.record.line)
        finding = Finding(
            cause=cause,
            layer=layer,
            role=kind,
            input=self._number,
            index=index,
            line=line,
            start=min(start, line.record.line),
            end=max(end, line.record.line),
            tier=_tier(kind, line, block),
            attempt=self._timeline.attempt_of(index),
            phase=self._phase(index, raised),
            clock=self._timeline.clock_at(index),
            signature=signature,
            captures=hit.captures if hit else {},
            block=block,
        )
        finding.last = finding.end
        finding.quiet = finding.tier < TIERS.get(kind, 0)
        return finding


def _statement(raised: Raised) -> Line:
    """The line that states the fault: pydantic's indented message, else the exception's own line."""
    if raised.type.endswith("ValidationError") and "validation error" in raised.message.split("\n", 1)[0]:
        return next((line for line in raised.more if line.own.startswith("  ") and line.own.strip()), raised.line)
    return raised.line


def _tier(role: str, line: Line, block: TracebackBlock | None) -> int:
    tier = TIERS.get(role, 0)
    if line.header.level in _QUIET and line.header.kind != "nccl":
        # A program that logs its own crash does not call it information; who logs what others write does.
        if role == "root" and (block is None or line.header.level != "WARNING"):
            return tier - 5
        if role == "generic":
            return 8
    return tier


def _is_lookup(raised: Raised) -> bool:
    """Whether it may be the failed lookup of a fallback rather than a fault."""
    return raised.type.rpartition(".")[2] in _CONTROL_FLOW


def _weight(hit: Hit, raised: Raised) -> tuple[int, bool]:
    """How much a hit says of a chain's cause: a rule that only knows the kind of fault says less than one that does."""
    if hit.signature.role == "root":
        return 3 if hit.signature.precedence <= _GENERAL else 4, not _is_lookup(raised)
    return {"suspect": 2, "cascade": 1}.get(hit.signature.role, 0), not _is_lookup(raised)


def _frames_fit(pattern: str, raised: Raised | None) -> bool:
    if raised is None:
        return False
    search = re.compile(pattern).search
    return any(search(frame_name(frame)) for frame in raised.frames)


def _raised_fits(pattern: str, raised: Raised | None) -> bool:
    if raised is None or not raised.frames:
        return False
    file, _, function = raised.frames[-1]
    return re.search(pattern, f"{file.replace(chr(92), '/')}:{function}") is not None


def frame_name(frame: tuple[str, int, str]) -> str:
    """A stack frame as rules see it: "file.py:function", without the folder."""
    return f"{frame[0].replace(chr(92), '/').rpartition('/')[2]}:{frame[2]}"


def phase_of_frames(raised: Raised, pack: Pack) -> Phase | None:
    """Phase that the stack gives away, by the rule of the highest priority that any frame fits."""
    names = "\n".join(frame_name(frame) for frame in raised.frames)
    if not names:
        return None
    for rule in pack.frames:
        if re.search(rule.pattern, names):
            return Phase(rule.phase)
    return None


def _phase_fits(wanted: tuple[str, ...], phase: Phase) -> bool:
    if phase is Phase.UNKNOWN or phase in wanted:
        return True
    return "startup" in wanted and phase in STARTUP


def _in_range(version: tuple[int, ...], since: str | None, until: str | None) -> bool:
    if since is not None and version < version_key(since):
        return False
    return until is None or version[: len(version_key(until))] <= version_key(until)

"""What only all inputs together tell: clocks, silent and missing witnesses, collectives compared."""

from collections.abc import Sequence

from k3triage.diagnose.absent import Absent, absent, told, wanted
from k3triage.diagnose.choose import Choice
from k3triage.diagnose.clocks import Offset
from k3triage.diagnose.collectives import Comparison
from k3triage.diagnose.diary import clock_refs, clock_sentence, history
from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import Finding, ParsedInput
from k3triage.diagnose.timeline import Timeline
from k3triage.diagnose.witness import victim_sentence
from k3triage.model.report import AttemptRef, ClockRef, Missing
from k3triage.model.shapes import dataclass

# Roles of a finding that does not state its own cause.
_ECHOES = ("suspect", "cascade", "generic", "error_line")


@dataclass
class Incident:
    """The witnesses as a whole."""

    absent: Absent
    comparison: Comparison
    clocks: list[ClockRef]
    cast: Cast

    @classmethod
    def of(
        cls,
        inputs: Sequence[ParsedInput],
        timelines: Sequence[Timeline],
        cast: Cast,
        offsets: Sequence[Offset],
        choice: Choice,
        comparison: Comparison,
    ) -> "Incident":
        """Look for who is missing among the findings of the failed attempts."""
        pool = [member for node in choice.explanation.nodes for member in node.members]
        return cls(absent(inputs, timelines, cast, pool), comparison, clock_refs(offsets, inputs), cast)

    def reasons(
        self, attempts: Sequence[AttemptRef], chosen: Finding | None, inputs: Sequence[ParsedInput]
    ) -> list[str]:
        """Sentences for the verdict's reasons."""
        lines = [self.comparison.why] if self.comparison.why else []
        if chosen is not None:
            lines += told(self.absent) if chosen.role in _ECHOES else victim_sentence(chosen, self.cast)
        return [*lines, *clock_sentence(self.clocks), *history(attempts, chosen, inputs)]

    def missing(self, chosen: Finding | None) -> list[Missing]:
        """What to bring where the verdict rests on echoes alone."""
        return wanted(self.absent) if chosen is not None and chosen.role in _ECHOES else []

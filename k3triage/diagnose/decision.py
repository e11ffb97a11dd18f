"""The road back to service, with its reasons, and what not to do although the evidence tempts to it."""

import re
from collections.abc import Iterable, Sequence

from k3triage.diagnose.conditions import holds
from k3triage.diagnose.facts import Facts
from k3triage.diagnose.parsed import ParsedInput
from k3triage.model.enums import Decision, Role, Status
from k3triage.model.evidence import EvidenceFact
from k3triage.model.lazy import lazy
from k3triage.model.report import Avoid, Report, Verdict
from k3triage.rules.policy import DecisionPolicy, Road, decision_policy

# The longest road last: what asks for a rebuild is not done by a repair.
_LENGTH = {
    Decision.REPAIR_IN_PLACE: 0,
    Decision.REBUILD_ON_OFFICIAL_IMAGE: 1,
    Decision.USE_VERIFIED_ENVIRONMENT: 2,
}
_BESIDE = (Role.BENIGN, Role.CONTEXT, Role.RECOVERED)
_WHEEL = lazy(r"-cu(1[1-9])$")
_REASONS = 3


def decide(report: Report, facts: Facts, inputs: Sequence[ParsedInput]) -> None:
    """Set the decision of a report's verdict, and add its reasons and the warnings that the evidence calls for."""
    verdict = report.verdict
    if verdict is None:
        return
    _add_wheels(facts, inputs)
    policy = decision_policy()
    seen = frozenset(finding.cause for finding in report.findings if finding.role not in _BESIDE)

    def known(text: str) -> bool | None:
        return holds(text, facts)

    if report.status is Status.DIAGNOSED:
        roads = [road for road in policy.road if road.fits(verdict.cause, verdict.layer, seen, known)]
        _take(verdict, roads, policy)
    said = [item.action for item in verdict.avoid]
    for item in policy.avoid:
        if item.fits(verdict.cause, verdict.layer, seen, known) and not _says(said, item.said):
            verdict.avoid.append(Avoid(action=item.action, because=item.because))
            said.append(item.action)


def _take(verdict: Verdict, roads: Sequence[Road], policy: DecisionPolicy) -> None:
    """The longest of the cause's own road and those that the facts ask for, with the reasons for that one."""
    decision = max([verdict.decision, *(road.decision for road in roads)], key=_LENGTH.__getitem__)
    reasons = [road.because for road in roads if road.decision is decision][:_REASONS]
    verdict.decision = decision
    name = decision.value.replace("_", " ")
    verdict.why.append(f"Decision: {name}, because {'; '.join(reasons or [policy.reason[decision]])}.")


def _says(actions: Iterable[str], pattern: str) -> bool:
    return any(re.search(pattern, action) for action in actions)


def _add_wheels(facts: Facts, inputs: Sequence[ParsedInput]) -> None:
    """The fact `cuda_wheels`: "mixed" where packages for two CUDA versions are installed in one environment."""
    for parsed in inputs:
        builds: dict[str, EvidenceFact] = {}
        for fact in parsed.evidence:
            if (
                fact.name == "package"
                and isinstance(fact.value, tuple)
                and (found := _WHEEL.search(str(fact.value[0])))
            ):
                builds.setdefault(found[1], fact)
        if len(builds) > 1:
            first = min(builds.values(), key=lambda fact: fact.line)
            facts.stated["cuda_wheels"] = EvidenceFact("cuda_wheels", "mixed", first.source, first.line, first.kind)

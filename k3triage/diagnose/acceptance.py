"""The acceptance ladder: five rungs, each passed, failed, unknown or not applicable, with the evidence for it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from k3triage.diagnose.facts import Fact, Facts
from k3triage.diagnose.parsed import ParsedInput, process_of
from k3triage.diagnose.prefix import HITS, UNEVEN, PrefixCache
from k3triage.diagnose.prefix_setting import OFF_ON_PURPOSE
from k3triage.diagnose.samples import Answer, Engine, Sample, span
from k3triage.diagnose.timeline import Timeline
from k3triage.model.enums import Layer, Outcome, Role, Status
from k3triage.model.globs import fits as matches
from k3triage.model.report import AcceptanceStep, FindingRef, Report
from k3triage.model.shapes import dataclass
from k3triage.rules.policy import Rung, acceptance_policy

PASSED, FAILED, UNKNOWN, NOT_APPLICABLE = "passed", "failed", "unknown", "not_applicable"
_SAID = frozenset({Role.BENIGN, Role.CONTEXT})


@dataclass
class _Ladder:
    inputs: Sequence[ParsedInput]
    timelines: Sequence[Timeline]
    facts: Facts
    cache: PrefixCache
    report: Report

    def place(self, number: int, index: int) -> dict[str, Any]:
        """Where a piece of evidence stands."""
        return {"source": self.inputs[number].name, "line": self.inputs[number].lines[index].record.line}

    def samples(self) -> Iterator[tuple[Engine, Sample]]:
        for item in self.cache.counted:
            for engine in item.engines:
                for sample in engine.samples:
                    yield engine, sample

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """Answered requests that ran the model."""
        paths = tuple(acceptance_policy().paths)
        for number, item in enumerate(self.cache.counted):
            for answer in item.answers:
                if answer.posted and answer.path.startswith(paths):
                    yield number, answer

    def answered_metrics(self) -> float:
        return sum(metrics.answered() for item in self.cache.counted for metrics in item.metrics)

    def seen(self, patterns: Sequence[str], passing: frozenset[Role]) -> FindingRef | None:
        """First finding whose cause fits one of the patterns; the roles `passing` do not count."""
        for finding in self.report.findings:
            if finding.role not in passing and any(matches(finding.cause, pattern) for pattern in patterns):
                return finding
        return None

    def served_seconds(self) -> float | None:
        """Longest time between the first and the last sign of work of one input, after it was ready."""
        longest: float | None = None
        for number, timeline in enumerate(self.timelines):
            start, end = span(timeline)
            attempt = timeline.attempts[timeline.attempt_of(start)]
            marks = [at for at in (attempt.ready, *attempt.progress) if at is not None]
            item = self.cache.counted[number]
            marks += [sample.index for engine in item.engines for sample in engine.samples]
            marks += [answer.index for answer in item.answers]
            clocks = [clock for at in marks if start <= at < end and (clock := timeline.clock_at(at)) is not None]
            if clocks:
                longest = max(longest or 0.0, max(clocks) - min(clocks))
        return longest


def climb(
    inputs: Sequence[ParsedInput], timelines: Sequence[Timeline], facts: Facts, cache: PrefixCache, report: Report
) -> list[AcceptanceStep]:
    """State and evidence of the five rungs, from the logs, the metrics and the verdict."""
    ladder = _Ladder(inputs, timelines, facts, cache, report)
    rungs: dict[int, Callable[[_Ladder, Rung], tuple[str, dict[str, Any]]]] = {
        1: _up,
        2: _single,
        3: _reuse,
        4: _load,
        5: _nodes,
    }
    steps = []
    for rung in acceptance_policy().rung:
        state, evidence = rungs[rung.step](ladder, rung)
        steps.append(AcceptanceStep(step=rung.step, name=rung.name, state=state, evidence=evidence))
    return steps


def _up(ladder: _Ladder, rung: Rung) -> tuple[str, dict[str, Any]]:
    report = ladder.report
    if report.status not in (Status.HEALTHY,) and not _advisory(report):
        verdict = report.verdict
        evidence: dict[str, Any] = {"because": "a failure was found"}
        if verdict is not None:
            evidence |= {
                "cause": verdict.cause,
                "source": verdict.first_anomaly.source,
                "line": verdict.first_anomaly.line,
            }
        return FAILED, evidence
    ready = next(
        (
            (number, attempt.ready)
            for number, timeline in enumerate(ladder.timelines)
            for attempt in timeline.attempts[-1:]
            if attempt.ready is not None
        ),
        None,
    )
    seconds = ladder.served_seconds()
    if ready is None:
        if ladder.answered_metrics() > 0:
            return UNKNOWN, {"because": "metrics show answered requests, no log shows the start"}
        return UNKNOWN, {"because": "no line shows that the server got ready"}
    evidence = {**ladder.place(*ready), "seconds_up": round(seconds) if seconds is not None else None}
    starts = sum(attempt.outcome is Outcome.FAILED for attempt in report.attempts)
    if starts:
        evidence["failed_attempts_before"] = starts
    if seconds is None or seconds < rung.seconds:
        return UNKNOWN, evidence | {"because": f"it was not seen up for {rung.seconds:.0f} s after it was ready"}
    return PASSED, evidence


def _advisory(report: Report) -> bool:
    """Whether the verdict is a fault without a failure."""
    return report.verdict is not None and report.verdict.layer is Layer.PREFIX_CACHE


def _single(ladder: _Ladder, rung: Rung) -> tuple[str, dict[str, Any]]:
    answers = list(ladder.answers())
    good = [(number, answer) for number, answer in answers if answer.status == 200]
    if len(good) >= rung.requests:
        number, first = good[0]
        return PASSED, {"answers_seen": len(good), **ladder.place(number, first.index)}
    if (count := ladder.answered_metrics()) >= rung.requests:
        return PASSED, {"answered": round(count), "because": "request_success of /metrics"}
    for engine, sample in ladder.samples():
        if float(sample.values.get("generation_rate", 0.0)) > 0:
            return PASSED, {"because": "tokens were generated", **ladder.place(engine.input, sample.index)}
    broken = [(number, answer) for number, answer in answers if answer.status >= 500]
    if broken:
        number, first = broken[0]
        return FAILED, {
            "because": f"every request failed, the first with {first.status}",
            **ladder.place(number, first.index),
        }
    return UNKNOWN, {"because": "no answered request is seen"}


def _reuse(ladder: _Ladder, rung: Rung) -> tuple[str, dict[str, Any]]:
    setting, state = ladder.cache.setting, ladder.facts.known.get("prefix_cache.state")
    if state is not None:
        evidence: dict[str, Any] = {"best_hit_rate": round(ladder.facts.value("prefix_cache.rate") or 0.0, 1)}
        if (unit := ladder.facts.value("prefix_cache.unit")) is not None:
            evidence["hit_unit_tokens"] = unit
        evidence |= ladder.place(state.input, state.index)
        if state.value in (HITS, UNEVEN):
            return PASSED, evidence
        return FAILED, evidence | {"because": str(state.value)}
    if setting is not None and setting.off:
        place = ladder.place(setting.at.input, setting.at.index) if isinstance(setting.at, Fact) else {}
        state_ = NOT_APPLICABLE if setting.value == OFF_ON_PURPOSE else FAILED
        return state_, {"setting": setting.value, "because": setting.because, **place}
    if setting is not None and setting.role == "decode":
        return NOT_APPLICABLE, {"because": "a decode worker gets its prefixes from prefill workers"}
    return UNKNOWN, {"because": "no hit is seen, and too few prompts to say that there are none"}


def _load(ladder: _Ladder, rung: Rung) -> tuple[str, dict[str, Any]]:
    oom = ladder.seen(rung.fails_on, _SAID)
    if oom is not None:
        return FAILED, {"cause": oom.cause, "source": oom.first.source, "line": oom.first.line}
    wanted = rung.requests
    allowed = ladder.facts.value("flags.max_num_seqs")
    if isinstance(allowed, int) and 0 < allowed < wanted:
        wanted = allowed
    running = [(int(sample.values.get("running", 0)), engine, sample) for engine, sample in ladder.samples()]
    gauges = [
        int(reading.value)
        for item in ladder.cache.counted
        for metrics in item.metrics
        for reading in metrics.readings.get("num_requests_running", ())
    ]
    busy = [item for item in running if item[0] >= wanted]
    most = max([item[0] for item in running] + gauges, default=0)
    evidence: dict[str, Any] = {"most_at_a_time": most, "wanted": wanted}
    preemptions = sum(reuse.preemptions for reuse in ladder.cache.engines)
    if preemptions:
        evidence["preemptions"] = preemptions
    if len(busy) + sum(gauge >= wanted for gauge in gauges) >= rung.samples and most > 1:
        if busy:
            evidence |= ladder.place(busy[0][1].input, busy[0][2].index)
        if ladder.report.status is not Status.HEALTHY and not _advisory(ladder.report):
            return UNKNOWN, evidence | {"because": "the server failed of something else"}
        return PASSED, evidence
    return UNKNOWN, evidence | {"because": f"fewer than {wanted} requests ran at a time"}


def _nodes(ladder: _Ladder, rung: Rung) -> tuple[str, dict[str, Any]]:
    nodes = _count_nodes(ladder)
    fault = ladder.seen(rung.fails_on, _SAID | {Role.RECOVERED})
    if fault is not None and nodes != 1:
        return FAILED, {"cause": fault.cause, "source": fault.first.source, "line": fault.first.line}
    if nodes == 1:
        return NOT_APPLICABLE, {"nodes": 1, "because": "the launch is for one node"}
    if nodes is None:
        return UNKNOWN, {"because": "the launch arguments do not show, so the number of nodes is not known"}
    seconds = ladder.served_seconds()
    evidence = {"nodes": nodes, "seconds_served": round(seconds) if seconds is not None else None}
    if ladder.report.status is not Status.HEALTHY and not _advisory(ladder.report):
        return FAILED, evidence | {"because": "a failure was found"}
    worked = ladder.answered_metrics() > 0 or any(True for _ in ladder.answers()) or any(True for _ in ladder.samples())
    if seconds is None or seconds < rung.seconds or not worked:
        return UNKNOWN, evidence | {"because": f"requests were not seen for {rung.seconds:.0f} s"}
    return PASSED, evidence


def _count_nodes(ladder: _Ladder) -> int | None:
    """Nodes of the deployment: from launch arguments, evidence or the nodes that speak; None where nothing tells."""
    facts = ladder.facts
    flags = facts.flags()
    told = flags.get("nnodes")
    names = {
        node for parsed in ladder.inputs for line in parsed.lines[:50] if (node := process_of(line).node) is not None
    }
    if isinstance(told, int) and told > 0:
        return max(told, len(names))
    if len(names) > 1:
        return len(names)
    size, local = flags.get("data_parallel_size"), flags.get("data_parallel_size_local")
    if isinstance(size, int) and isinstance(local, int) and 0 < local < size:
        return -(-size // local)
    if facts.value("multi_node") is True:
        return 2
    spread = flags.get("distributed_executor_backend") == "ray" or flags.get("data_parallel_address") is not None
    if spread or "headless" in flags or facts.value("launch") is None:
        return None
    return 1

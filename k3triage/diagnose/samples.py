"""What the server counted: its periodic statistics lines and `/metrics` texts, an engine at a time."""

from itertools import pairwise
from typing import Any

from k3triage.diagnose.parsed import ParsedInput, process_of
from k3triage.diagnose.timeline import Timeline
from k3triage.grammar.sentences import access, engine_stats
from k3triage.model.lazy import lazy
from k3triage.model.records import Line
from k3triage.model.shapes import dataclass, field
from k3triage.rules.policy import prefix_policy

# "vllm:prefix_cache_hits_total{engine="0",model_name="m"} 512.0"; a time stamp may follow.
_METRIC = lazy(r"vllm:(\w{1,80})(?:\{(.{0,2000})\})? (-?[\d.]{1,30}(?:[eE][-+]?\d{1,3})?)(?: \d{1,20})?$")
_LABEL = lazy(r'(\w{1,60})="((?:[^"\\]|\\.){0,500})"')
_LONGEST_PERIOD = 600.0
_ANSWERED = "request_success"


@dataclass(slots=True)
class Sample:
    """One statistics line. tokens: prompt tokens of its period. values: see `grammar.sentences.engine_stats`."""

    index: int
    line: Line
    clock: float | None
    tokens: float
    values: dict[str, Any]

    @property
    def rate(self) -> float | None:
        """Hit rate in per cent, None where the line does not print one."""
        value = self.values.get("prefix_cache_hit_rate")
        return None if value is None else float(value)


@dataclass(slots=True)
class Engine:
    """The statistics lines of one engine in one input, in order."""

    input: int
    name: str
    samples: list[Sample] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """One value of a metric and where it stands."""

    value: float
    index: int
    line: Line


@dataclass(slots=True)
class Metrics:
    """Metrics of one engine, every scrape in the input, by name without `vllm:` and `_total`.

    labels: those of `cache_config_info`.
    """

    input: int
    name: str
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    labels_at: Reading | None = None

    def last(self, *names: str) -> float | None:
        """Latest value of the first of these metrics that is there."""
        for name in names:
            if name in self.readings:
                return self.readings[name][-1].value
        return None

    def answered(self) -> float:
        """Requests that ended well, whatever ended them."""
        return sum(series[-1].value for name, series in self.readings.items() if name.startswith(f"{_ANSWERED}:"))

    def where(self, *names: str) -> Reading | None:
        """Where the latest value of the first of these metrics stands."""
        return next((self.readings[name][-1] for name in names if name in self.readings), None)


@dataclass(slots=True)
class Answer:
    """One answered request, from the access log."""

    index: int
    line: Line
    path: str
    status: int
    posted: bool


@dataclass(slots=True)
class Counted:
    """All that one input counts within one attempt."""

    engines: list[Engine]
    metrics: list[Metrics]
    answers: list[Answer]


def span(timeline: Timeline) -> tuple[int, int]:
    """Lines of the attempt that counts: the last that served, else the last."""
    attempts = timeline.attempts
    served = [attempt for attempt in attempts if attempt.ready is not None or attempt.progress]
    attempt = (served or attempts)[-1]
    return attempt.start, attempt.end


def count(number: int, parsed: ParsedInput, timeline: Timeline) -> Counted:
    """Statistics, metrics and answered requests of the attempt that counts."""
    start, end = span(timeline)
    engines: dict[str, Engine] = {}
    metrics: dict[str, Metrics] = {}
    answers: list[Answer] = []
    for index in range(start, end):
        line = parsed.lines[index]
        message = line.header.message
        if "hit rate: " in message or "Avg prompt throughput: " in message:
            values = engine_stats(message)
            if values is not None:
                _add(engines, number, index, line, timeline.clock_at(index), values)
        elif "vllm:" in line.record.text:
            _metric(metrics, number, index, line)
        elif " HTTP/" in message and (found := access(message)) is not None:
            answers.append(Answer(index, line, str(found["path"]), int(found["status"]), found["method"] == "POST"))
    for engine in engines.values():
        _weigh(engine)
    return Counted(list(engines.values()), list(metrics.values()), answers)


def _add(
    engines: dict[str, Engine], number: int, index: int, line: Line, clock: float | None, values: dict[str, Any]
) -> None:
    process = process_of(line)
    who = f"{values['engines']} engines" if "engines" in values else f"engine {values.get('engine', 0)}"
    name = " ".join(filter(None, (who, process.node, f"pid {process.pid}" if process.pid is not None else None)))
    engine = engines.setdefault(name, Engine(number, name))
    if "prompt_rate" not in values:
        # V0 prints the hit rate on a line of its own, after the one with the throughput.
        if engine.samples and engine.samples[-1].rate is None:
            last = engine.samples[-1]
            last.values |= values
            last.index, last.line = index, line
        return
    engine.samples.append(Sample(index, line, clock, 0.0, values))


def _weigh(engine: Engine) -> None:
    """Prompt tokens a line: its rate times the period, which is the shortest time between two lines."""
    clocks = [sample.clock for sample in engine.samples if sample.clock is not None]
    steps = [later - earlier for earlier, later in pairwise(clocks) if later - earlier >= 1.0]
    period = min(steps, default=prefix_policy().limits.period)
    if period > _LONGEST_PERIOD:
        period = prefix_policy().limits.period
    for sample in engine.samples:
        sample.tokens = float(sample.values["prompt_rate"]) * period


def _metric(metrics: dict[str, Metrics], number: int, index: int, line: Line) -> None:
    found = _METRIC.match(line.record.text.strip()[:4000])
    if found is None:
        return
    try:
        value = float(found[3])
    except ValueError:
        return
    labels = dict(_LABEL.findall(found[2] or ""))
    name = found[1].removesuffix("_total")
    if name == _ANSWERED:
        name += ":" + labels.get("finished_reason", "")
    engine = "engine " + labels.get("engine", "0")
    series = metrics.setdefault(engine, Metrics(number, engine))
    reading = Reading(value, index, line)
    if name == "cache_config_info":
        series.labels, series.labels_at = labels, reading
    else:
        series.readings.setdefault(name, []).append(reading)

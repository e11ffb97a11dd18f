"""Prefix caching: is it on, is it hit, and if not, is that the setting, the prompts, or routing and state.

Facts: prefix_cache.setting (see `prefix_setting`), prefix_cache.state, prefix_cache.external; with the numbers they
rest on in prefix_cache.unit, .mean_prompt, .rate and so on. Nothing is judged by a latency or by a few short prompts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k3triage.diagnose.facts import Fact, Facts
from k3triage.diagnose.parsed import ParsedInput
from k3triage.diagnose.prefix_setting import OFF_ON_PURPOSE, ON, Setting, find_setting
from k3triage.diagnose.samples import Counted, Engine, Metrics, Reading, Sample, count, span
from k3triage.diagnose.timeline import Timeline
from k3triage.model.shapes import dataclass, field
from k3triage.rules.policy import prefix_policy

HITS = "hits"
NEVER_HITS = "never_hits"
PROMPTS_TOO_SHORT = "prompts_too_short"
RESET = "reset"
EVICTED = "evicted"
UNEVEN = "uneven"
UNKNOWN_SETTING = "no_hits_setting_unknown"
# A worker that takes most prefixes from its connector is on the receiving side.
_FETCHED = 50.0
_COUNTABLE = 3
_RESET_WORDS = "Successfully reset prefix cache"
_QUERIES = ("prefix_cache_queries", "gpu_prefix_cache_queries")
_HITS = ("prefix_cache_hits", "gpu_prefix_cache_hits")


@dataclass(slots=True)
class Reuse:
    """What one engine's numbers say.

    verdict: "hits", "never", "lost" (hit, then no more), "little" (too little to tell), None (no rate was printed).
    tokens: prompt tokens without a hit. periods: printed lines behind that. peak: best rate in per cent. at: the line
    to report. full: share of those lines with a full KV cache. preemptions: what they count.
    """

    input: int
    name: str
    verdict: str | None = None
    tokens: float = 0.0
    periods: int = 0
    peak: float = 0.0
    best: float = 0.0
    at: Fact | None = None
    full: float = 0.0
    preemptions: int = 0
    external: str | None = None
    external_at: Fact | None = None
    external_peak: float = 0.0


@dataclass
class PrefixCache:
    """The judgement over all inputs; numbers of inputs are those of the diagnosis."""

    settings: list[Setting]
    counted: list[Counted]
    engines: list[Reuse] = field(default_factory=list)
    resets: int = 0
    mean_prompt: float | None = None
    state: str | None = None
    setting: Setting | None = None

    @property
    def served(self) -> bool:
        """Whether metrics show that requests were answered."""
        return any(metrics.answered() > 0 for item in self.counted for metrics in item.metrics)

    def busiest_period(self) -> float | None:
        """Most prompt tokens between two statistics lines: no prompt was longer."""
        samples = [sample for item in self.counted for engine in item.engines for sample in engine.samples]
        return max((sample.tokens for sample in samples), default=None)

    def own(self, number: int) -> Setting:
        """An input's setting; where it tells none (metrics, a cut log), that of the others if they agree."""
        if self.settings[number].value is not None:
            return self.settings[number]
        told = [setting for setting in self.settings if setting.value is not None]
        if len({setting.value for setting in told}) == 1:
            return told[0]
        return self.settings[number]


def assess(inputs: Sequence[ParsedInput], timelines: Sequence[Timeline], facts: Facts) -> PrefixCache:
    """Judge prefix caching and put its facts."""
    counted = [count(n, parsed, timelines[n]) for n, parsed in enumerate(inputs)]
    settings = [find_setting(n, parsed, timelines[n], counted[n], facts) for n, parsed in enumerate(inputs)]
    cache = PrefixCache(settings, counted)
    cache.setting = _most_telling(settings)
    for number, item in enumerate(counted):
        if not cache.own(number).off:
            cache.engines += [_of_engine(engine) for engine in item.engines]
            cache.engines += [_of_metrics(metrics) for metrics in item.metrics]
    cache.resets = sum(_resets(parsed, timelines[n]) for n, parsed in enumerate(inputs))
    cache.mean_prompt = _mean_prompt(inputs, counted)
    _judge(cache, facts)
    _put(cache, facts)
    return cache


def _most_telling(settings: Sequence[Setting]) -> Setting | None:
    """The first setting that is off and not meant so, else any that is known, on ones first."""
    known = [setting for setting in settings if setting.value is not None]
    wrong = [setting for setting in known if setting.off and setting.value != OFF_ON_PURPOSE]
    on = [setting for setting in known if setting.value == ON]
    return next(iter([*wrong, *on, *known]), None)


def _of_engine(engine: Engine) -> Reuse:
    limits = prefix_policy().limits
    reuse = Reuse(engine.input, engine.name)
    reuse.preemptions = sum(int(sample.values.get("preemptions", 0)) for sample in engine.samples)
    first: Sample | None = None
    full = 0
    lost = False
    for sample in engine.samples:
        if sample.rate is None:
            continue
        reuse.verdict = reuse.verdict or "little"
        reuse.best = max(reuse.best, sample.rate)
        if sample.rate > limits.none:
            reuse.peak = max(reuse.peak, sample.rate)
            first, reuse.tokens, reuse.periods, full = None, 0.0, 0, 0
            continue
        lost = lost or reuse.peak >= limits.good
        if sample.tokens > 0:
            first = first or sample
            reuse.tokens += sample.tokens
            reuse.periods += 1
            full += float(sample.values.get("kv_cache_usage", 0.0)) >= limits.full
    if reuse.verdict is None:
        return reuse
    reuse.full = full / max(reuse.periods, 1)
    telling = reuse.tokens >= limits.telling_tokens and reuse.periods >= limits.telling_periods
    if first is not None and telling and (reuse.peak == 0.0 or lost):
        reuse.verdict = "lost" if reuse.peak else "never"
        reuse.at = Fact(reuse.verdict, engine.input, first.index, first.line)
    elif reuse.peak:
        reuse.verdict = "hits"
        best = max(engine.samples, key=lambda sample: sample.rate or 0.0)
        reuse.at = Fact("hits", engine.input, best.index, best.line)
    _external_of_engine(engine, reuse)
    return reuse


def _external_of_engine(engine: Engine, reuse: Reuse) -> None:
    limits = prefix_policy().limits
    asked = [sample for sample in engine.samples if "external_hit_rate" in sample.values and sample.tokens > 0]
    if not asked:
        return
    reuse.external_peak = max(float(sample.values["external_hit_rate"]) for sample in asked)
    if reuse.external_peak > limits.none:
        reuse.external = "hits"
    elif sum(sample.tokens for sample in asked) >= limits.telling_tokens and len(asked) >= limits.telling_periods:
        reuse.external = "never"
        reuse.external_at = Fact("never", engine.input, asked[0].index, asked[0].line)


def _of_metrics(metrics: Metrics) -> Reuse:
    """Counters run since the start of the process, so that one scrape tells; later ones replace it."""
    limits = prefix_policy().limits
    reuse = Reuse(metrics.input, metrics.name)
    reuse.preemptions = int(metrics.last("num_preemptions") or 0)
    usage = metrics.last("kv_cache_usage_perc", "gpu_cache_usage_perc") or 0.0
    reuse.full = float(usage * 100.0 >= limits.full)
    reuse.verdict, reuse.peak, reuse.tokens, reuse.at = _ratio(metrics, _QUERIES, _HITS)
    external, reuse.external_peak, _, reuse.external_at = _ratio(
        metrics, ("external_prefix_cache_queries",), ("external_prefix_cache_hits",)
    )
    reuse.best = reuse.peak
    reuse.external = external if external in ("hits", "never") else None
    reuse.periods = limits.telling_periods
    return reuse


def _ratio(
    metrics: Metrics, queries: Sequence[str], hits: Sequence[str]
) -> tuple[str | None, float, float, Fact | None]:
    """Verdict, rate, queried tokens and line of a pair of counters."""
    limits = prefix_policy().limits
    asked, found = metrics.where(*queries), metrics.where(*hits)
    if asked is None or found is None:
        return None, 0.0, 0.0, None
    rate = 100.0 * found.value / asked.value if asked.value > 0 else 0.0
    if rate > limits.none:
        return "hits", rate, 0.0, _at(metrics, found)
    if asked.value >= limits.telling_tokens:
        return "never", 0.0, asked.value, _at(metrics, found)
    return "little", 0.0, asked.value, _at(metrics, found)


def _at(metrics: Metrics, reading: Reading) -> Fact:
    return Fact(reading.value, metrics.input, reading.index, reading.line)


def _resets(parsed: ParsedInput, timeline: Timeline) -> int:
    start, end = span(timeline)
    ready = timeline.attempts[timeline.attempt_of(start)].ready or start
    return sum(_RESET_WORDS in line.own for line in parsed.lines[ready:end])


def _mean_prompt(inputs: Sequence[ParsedInput], counted: Sequence[Counted]) -> float | None:
    """Prompt tokens a request: from metrics, else throughput by answered requests; None where not all are seen."""
    tokens = requests = 0.0
    for item in counted:
        for metrics in item.metrics:
            tokens += metrics.last("request_prompt_tokens_sum") or 0.0
            requests += metrics.last("request_prompt_tokens_count") or 0.0
    if requests >= 1:
        return tokens / requests
    for number, item in enumerate(counted):
        places = [sample.index for engine in item.engines for sample in engine.samples]
        places += [answer.index for answer in item.answers]
        if places and any(line.record.gap for line in inputs[number].lines[min(places) + 1 : max(places) + 1]):
            return None  # the scan passes over most access lines of a busy server
        tokens += sum(sample.tokens for engine in item.engines for sample in engine.samples)
        requests += sum(answer.status == 200 and answer.posted for answer in item.answers)
    return tokens / requests if requests >= _COUNTABLE and tokens > 0 else None


def _judge(cache: PrefixCache, facts: Facts) -> None:
    """The state over all engines: each has a cache of its own."""
    limits = prefix_policy().limits
    never = _in_order(
        reuse for reuse in cache.engines if reuse.verdict in ("never", "lost") and not _decodes(cache, reuse)
    )
    hitting = [reuse for reuse in cache.engines if reuse.verdict == "hits"]
    if never and not any(reuse.peak >= limits.good for reuse in hitting):
        first = never[0]
        setting = cache.own(first.input)
        if setting.value is None and not any(reuse.peak for reuse in cache.engines):
            cache.state = UNKNOWN_SETTING
        elif first.verdict == "lost" or _pushed_out(first):
            # A rate that fell to zero without any sign of eviction or reset may as well be another load.
            cache.state = EVICTED if _pushed_out(first) else RESET if cache.resets else HITS
        elif cache.resets >= 2:
            cache.state = RESET
        else:
            cache.state = PROMPTS_TOO_SHORT if _too_short(cache, setting) else NEVER_HITS
        facts.put("prefix_cache.state", _fact(cache.state, first.at))
    elif never and hitting:
        cache.state = UNEVEN
        facts.put("prefix_cache.state", _fact(UNEVEN, never[0].at))
    elif hitting:
        cache.state = HITS
        facts.put("prefix_cache.state", _fact(HITS, hitting[0].at))
    _judge_external(cache, facts)


def _in_order(engines: Iterable[Reuse]) -> list[Reuse]:
    return sorted((e for e in engines if e.at is not None), key=lambda e: (e.at.input, e.at.index) if e.at else (0, 0))


def _decodes(cache: PrefixCache, reuse: Reuse) -> bool:
    """A decode worker gets its prefixes from prefill workers and need not hit its own cache."""
    role = cache.own(reuse.input).role
    return role == "decode" or (role == "transfer" and reuse.external_peak >= _FETCHED)


def _pushed_out(reuse: Reuse) -> bool:
    return reuse.full >= 0.5 and (reuse.preemptions > 0 or reuse.verdict == "lost")


def _too_short(cache: PrefixCache, setting: Setting) -> bool:
    """Whether the prompts cannot fill one hit unit."""
    if setting.unit is None:
        return False
    if setting.longest is not None and setting.longest <= setting.unit:
        return True
    if cache.mean_prompt is not None:
        return cache.mean_prompt < setting.unit
    most = cache.busiest_period()
    return most is not None and most < setting.unit


def _judge_external(cache: PrefixCache, facts: Facts) -> None:
    """A store that never hits is a fault only where the local cache could not serve the prefixes itself."""
    policy = prefix_policy().connectors
    never = [reuse for reuse in cache.engines if reuse.external == "never"]
    if any(reuse.external == "hits" for reuse in cache.engines):
        facts.put("prefix_cache.external", _fact("hits", next(r.at for r in cache.engines if r.external == "hits")))
        return
    for reuse in never:
        connectors = set(cache.own(reuse.input).connectors)
        transfers_only = bool(connectors) and connectors <= set(policy.transfer)
        if not transfers_only and cache.state in (EVICTED, UNEVEN):
            facts.put("prefix_cache.external", _fact(NEVER_HITS, reuse.external_at))
            return


def _fact(value: Any, at: Fact | None) -> Fact:
    """The value with the place of another fact."""
    if at is None:
        raise ValueError("a judgement rests on a line")
    return Fact(value, at.input, at.index, at.line)


def _put(cache: PrefixCache, facts: Facts) -> None:
    """Facts that rules, conditions and reports refer to, each with the line it rests on."""
    setting = cache.setting
    if setting is not None and setting.at is not None:
        told = {"setting": setting.value, "setting_by": setting.by, "role": setting.role, "unit": setting.unit}
        _put_all(facts, told, setting.at)
        if setting.role in ("decode", "prefill") and facts.value("role") is None:
            facts.put("role", _fact(setting.role, setting.at))
    state = facts.known.get("prefix_cache.state")
    if state is None:
        return
    own = cache.own(state.input)
    numbers = {
        "unit": own.unit,
        "mean_prompt": round(cache.mean_prompt) if cache.mean_prompt else None,
        "rate": max((reuse.best for reuse in cache.engines), default=0.0),
        "resets": cache.resets,
        "preemptions": sum(reuse.preemptions for reuse in cache.engines),
        "engines": len(cache.engines),
    }
    _put_all(facts, numbers, state)


def _put_all(facts: Facts, values: Mapping[str, Any], at: Fact) -> None:
    for name, value in values.items():
        if value is not None:
            facts.put(f"prefix_cache.{name}", _fact(value, at))

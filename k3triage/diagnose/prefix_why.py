"""The reasons that a verdict on prefix caching gives: setting, input, routing and state apart, with their numbers."""

from k3triage.diagnose.prefix import PrefixCache, Reuse
from k3triage.diagnose.prefix_setting import Setting
from k3triage.model.enums import Layer
from k3triage.model.report import Report

_BY = {
    "engine_config": "the engine's configuration line",
    "metrics": "the metric cache_config_info",
    "log": "the log's own word",
    "flag": "the launch arguments",
    "version": "the default of this version",
}
_UNIT_BY = {
    "log": "attention block size",
    "flag": "--prefix-match-unit",
    "config": "block size",
    "model": "this model's",
}


def explain(report: Report, cache: PrefixCache) -> None:
    """Add what a verdict of the layer prefix_cache rests on, after what its cause means."""
    verdict = report.verdict
    if verdict is not None and verdict.layer is Layer.PREFIX_CACHE:
        verdict.why[1:1] = _reasons(cache, verdict.cause, report.environment.vllm)


def _reasons(cache: PrefixCache, cause: str, version: str | None) -> list[str]:
    if cause.endswith((".off_by_flag", ".off_by_default", ".disabled_by_other_feature")):
        return [_setting(cache.setting, version)] if cache.setting is not None else []
    first = next((reuse for reuse in cache.engines if reuse.verdict in ("never", "lost")), None)
    if first is None:
        return []
    own = cache.own(first.input)
    return [_setting(own, version), *_input(cache, own), _state(cache, first), *_routing(cache)]


def _setting(setting: Setting, version: str | None) -> str:
    if setting.value is None:
        return "Setting: not told by these inputs; the line 'Initializing a ... LLM engine' would tell."
    state = "off" if setting.off else "on"
    kind = " hybrid model," if setting.hybrid else ""
    text = f"Setting: {state} by {_BY[setting.by]}" + (f" (vLLM {version},{kind}" if version else f" ({kind}")
    place = f" line {setting.at.line.record.line})" if setting.at is not None else ")"
    return text + place + (f": {setting.because}." if setting.because else ".")


def _input(cache: PrefixCache, setting: Setting) -> list[str]:
    parts = []
    if cache.mean_prompt is not None:
        parts.append(f"prompts have about {cache.mean_prompt:,.0f} tokens on average")
    elif (most := cache.busiest_period()) is not None and setting.unit is not None and most < setting.unit:
        parts.append(f"no prompt had more than about {most:,.0f} tokens, as no period between two lines had")
    if setting.longest is not None and setting.unit is not None and setting.longest <= setting.unit:
        parts.append(f"no prompt can be longer than {setting.longest:,} tokens (max_model_len)")
    if setting.unit is not None:
        parts.append(f"one hit takes {setting.unit:,} equal tokens ({_UNIT_BY[setting.unit_by]})")
    return [f"Input: {', '.join(parts)}."] if parts else []


def _state(cache: PrefixCache, first: Reuse) -> str:
    text = (
        f"State: {first.name} hit at most {first.best:.1f} % while about {first.tokens:,.0f} prompt tokens went through"
        if first.verdict == "never"
        else f"State: {first.name} once hit {first.peak:.1f} %, then nothing for {first.tokens:,.0f} prompt tokens"
    )
    if first.full:
        text += f"; the KV cache was full for {first.full:.0%} of it"
    preemptions = sum(reuse.preemptions for reuse in cache.engines)
    if preemptions:
        text += f"; {preemptions:,} preemptions"
    if cache.resets:
        text += f"; the cache was reset {cache.resets:,} times"
    return text + "."


def _routing(cache: PrefixCache) -> list[str]:
    told = [reuse for reuse in cache.engines if reuse.verdict is not None]
    if len(told) < 2:
        return []
    rates = ", ".join(f"{reuse.name} {reuse.best:.1f} %" for reuse in told[:6])
    return [f"Routing: {len(told)} engines, each with a cache of its own, best rates {rates}."]

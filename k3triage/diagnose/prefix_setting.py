"""Whether prefix caching is on in one input, by whose word, and whether that was meant so."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from k3triage.diagnose.facts import Fact, Facts, engine_settings, launch_arguments
from k3triage.diagnose.parsed import ParsedInput
from k3triage.diagnose.samples import Counted, span
from k3triage.diagnose.timeline import Timeline
from k3triage.model.conditions import version_key
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass
from k3triage.rules.policy import Default, prefix_policy

ON = "on"
OFF_BY_FLAG = "off_by_flag"
OFF_BY_DEFAULT = "off_by_default"
OFF_AS_USUAL = "off_as_usual"
OFF_BY_FEATURE = "off_by_feature"
OFF_ON_PURPOSE = "off_on_purpose"

_FLAG = "enable_prefix_caching"
_RADIX_ARGS = "server_args=ServerArgs("
_VERSION = lazy(r"(?:LLM engine \(v|API server version v?|\bversion v?)(\d+\.\d+[\w.+]*)")
_HYBRID_WORDS = ("attention block size to ", "Mamba cache mode is set to", "Hybrid or mamba-based model detected")
_UNIT = lazy(r"Setting attention block size to (\d{1,9}) tokens")
_DROPPED = lazy(
    r"Prefix caching has been disabled|not supported .{0,80}has been disabled|prefix caching; disabling both"
    r"|Prefix caching is not supported on CPU, disable it|Disabling prefix caching: model has"
)
_HYBRID_DROPPED = "disabling prefix caching since it is not yet supported"
_COARSE = "Disabling fine-grained prefix-cache hits"
# Lines that say that the flag itself was given and dropped.
_ASKED = lazy(r"--?enable-prefix-caching (?:and|is)|and --?enable-prefix-caching")
_CONNECTOR = lazy(r"kv_connector['\"]?\s{0,4}[:=]\s{0,4}['\"]?(\w{1,80})")
_ROLE = lazy(r"kv_role['\"]?\s{0,4}[:=]\s{0,4}['\"]?kv_(producer|consumer|both)")
_NAMED = lazy(r"(?:^|[^a-z])(decode|prefill)(?:r|er|s|worker|node)?(?:[^a-z]|$)", re.IGNORECASE)


@dataclass(slots=True)
class Setting:
    """What one input says.

    value: one of the constants of this module, None where nothing tells. by: "engine_config", "flag", "metrics",
    "log" (a line that says so), "version". at: the line it rests on. because: a reason to print.
    role: "decode", "prefill", "transfer" (one of both) or None. unit: tokens of one hit, None where not known.
    unit_by: "log", "flag", "config", "model". longest: longest prompt the server takes.
    """

    value: str | None = None
    by: str = ""
    at: Fact | None = None
    because: str = ""
    role: str | None = None
    connectors: tuple[str, ...] = ()
    hybrid: bool = False
    unit: int | None = None
    unit_by: str = ""
    longest: int | None = None

    @property
    def off(self) -> bool:
        """Whether the cache is known to be off."""
        return self.value is not None and self.value != ON


@dataclass(slots=True)
class _Stated:
    """Statements of one input's attempt; the first of each kind counts, as its line is the one to report."""

    version: str | None = None
    engine: str | None = None
    config: Mapping[str, Any] | None = None
    flags: Mapping[str, Any] | None = None
    config_at: Fact | None = None
    flags_at: Fact | None = None
    dropped_at: Fact | None = None
    asked: bool = False
    hybrid_at: Fact | None = None
    unit: int | None = None
    coarse: bool = False


def find_setting(number: int, parsed: ParsedInput, timeline: Timeline, counted: Counted, facts: Facts) -> Setting:
    """The setting of one input; facts serve where the input does not show its own launch."""
    stated = _read(number, parsed, timeline)
    flags = stated.flags if stated.flags is not None else _flags_of_others(facts)
    config = stated.config or {}
    model = str(flags.get("model") or flags.get("model_tag") or config.get("model") or facts.value("model") or "")
    served = str(flags.get("served_model_name") or config.get("served_model_name") or "")
    hybrid = next((h for h in prefix_policy().hybrid if re.search(h.model, f"{model} {served}")), None)
    setting = Setting(hybrid=stated.hybrid_at is not None or hybrid is not None)
    _find_unit(setting, stated, flags, config, hybrid.unit if hybrid else None)
    setting.longest = _number(config.get("max_seq_len")) or _number(flags.get("max_model_len"))
    setting.connectors, setting.role = _find_role(flags, parsed)
    asked = flags.get(_FLAG)
    on, setting.by, setting.at = _find_state(stated, counted, asked, facts)
    default = _default(stated, facts, setting.hybrid)
    if on is None and default is not None and stated.flags is not None and stated.flags_at is not None:
        # Without the engine's word the default is sure only where it does not hang on what the model is.
        if default.models == "hybrid":
            on, setting.by, setting.at = default.on, "version", stated.hybrid_at or stated.flags_at
        elif _same_for_hybrids(default, stated, facts):
            on, setting.by, setting.at = default.on, "version", stated.flags_at
    if on is None:
        return setting
    if on:
        setting.value = ON
    elif setting.role in ("decode", "transfer") and asked is False:
        setting.value, setting.because = OFF_ON_PURPOSE, "a worker of a prefill/decode pair was started with it off"
    elif setting.role == "decode":
        setting.value, setting.because = OFF_ON_PURPOSE, "a decode worker gets its prefixes from prefill workers"
    elif asked is not True and _not_for_it(config, stated):
        setting.value, setting.because = OFF_ON_PURPOSE, "models of this kind run without it"
    elif asked is True or (stated.dropped_at is not None and stated.asked):
        setting.value = OFF_BY_FEATURE
        if stated.dropped_at is not None:
            setting.by, setting.at = "log", stated.dropped_at
        setting.because = "it was asked for, and dropped"
    elif asked is False:
        setting.value = OFF_BY_FLAG
        setting.by = "flag"
        setting.at = stated.flags_at or facts.known.get(f"flags.{_FLAG}") or setting.at
        setting.because = "a launch argument switches it off"
    else:
        setting.value = OFF_BY_DEFAULT
        setting.at = _earlier(stated.dropped_at, setting.at)
        known = default is not None and not default.on
        setting.because = default.because if default is not None and known else "nobody asked for it"
        if default is not None and known and default.usual and stated.dropped_at is None:
            setting.value = OFF_AS_USUAL
    return setting


def _flags_of_others(facts: Facts) -> Mapping[str, Any]:
    """Launch arguments from other inputs, those of evidence (`docker inspect`) included."""
    stated = {name[6:]: fact.value for name, fact in facts.stated.items() if name.startswith("flags.")}
    return {**stated, **facts.flags()}


def _read(number: int, parsed: ParsedInput, timeline: Timeline) -> _Stated:
    stated = _Stated()
    start, end = span(timeline)
    for index in range(start, end):
        line = parsed.lines[index]
        message = line.header.message
        if " config: " in message and "LLM engine" in message:
            config = engine_settings(message)
            first = stated.config is None or (stated.config.get(_FLAG) and not config.get(_FLAG))
            if first and _FLAG in config:
                stated.config, stated.config_at = config, Fact(config[_FLAG], number, index, line)
                stated.engine = "V1" if " V1 LLM engine" in message else "V0"
                stated.version = str(config.get("engine_version") or stated.version or "") or None
        elif ("args: " in message[:60]) and ("non-default args: " in message or "args: Namespace(" in message):
            if stated.flags is None:
                stated.flags = launch_arguments(message)
                stated.flags_at = Fact(stated.flags.get(_FLAG), number, index, line)
        elif _RADIX_ARGS in message[:80]:
            _read_radix(stated, message, Fact(False, number, index, line))
        elif stated.version is None and "ersion" in message and (found := _VERSION.search(message[:400])):
            stated.version = found[1]
        else:
            _read_words(stated, message, Fact(True, number, index, line))
    return stated


def _read_radix(stated: _Stated, message: str, fact: Fact) -> None:
    """SGLang's arguments; a decode worker of a pair runs without its cache on purpose."""
    if stated.flags is None and "disable_radix_cache=True" in message and "disaggregation_mode='decode'" not in message:
        stated.flags, stated.flags_at = {_FLAG: False}, fact


def _read_words(stated: _Stated, message: str, fact: Fact) -> None:
    """Lines that tell of hybrid models and of features that switch the cache off."""
    own = fact.line.own
    if any(words in own for words in _HYBRID_WORDS):
        stated.hybrid_at = stated.hybrid_at or fact
        unit = _UNIT.search(message[:400])
        if unit is not None:
            stated.unit = int(unit[1])
    if _HYBRID_DROPPED in own or ("isabl" in own and _DROPPED.search(own[:2000])):
        stated.dropped_at = stated.dropped_at or fact
        stated.asked = stated.asked or _ASKED.search(own[:2000]) is not None
    elif _COARSE in own:
        stated.coarse = True


def _find_state(stated: _Stated, counted: Counted, asked: Any, facts: Facts) -> tuple[bool | None, str, Fact | None]:
    """On, off or not told; by whom; and where."""
    if stated.config is not None and stated.config_at is not None:
        # 0.8 declares the setting optional: None means off.
        return bool(stated.config[_FLAG]), "engine_config", stated.config_at
    for metrics in counted.metrics:
        if _FLAG in metrics.labels and metrics.labels_at is not None:
            on = metrics.labels[_FLAG] == "True"
            return on, "metrics", Fact(on, metrics.input, metrics.labels_at.index, metrics.labels_at.line)
    if stated.dropped_at is not None:
        return False, "log", stated.dropped_at
    if isinstance(asked, bool):
        return asked, "flag", stated.flags_at or facts.known.get(f"flags.{_FLAG}")
    return None, "", None


def _version_key(stated: _Stated, facts: Facts) -> tuple[int, ...]:
    """Empty where the version is not known, and for builds without tags, which call themselves 0.1."""
    version = stated.version or facts.value("vllm")
    key = version_key(str(version)) if version else ()
    return () if key[:2] == (0, 1) else key


def _default(stated: _Stated, facts: Facts, hybrid: bool) -> Default | None:
    """The rule of the version, None where no rule is known to hold."""
    key = _version_key(stated, facts)
    for rule in prefix_policy().default:
        if rule.engine is not None:
            if rule.engine == stated.engine:
                return rule
            continue
        if not key or (rule.models == "hybrid" and not hybrid):
            continue
        if rule.since is not None and key < version_key(rule.since):
            continue
        if rule.until is not None and key[: len(version_key(rule.until))] > version_key(rule.until):
            continue
        return rule
    return None


def _same_for_hybrids(default: Default, stated: _Stated, facts: Facts) -> bool:
    """Whether the version's rule for hybrid models comes to the same as the one for all others."""
    rule = _default(stated, facts, hybrid=True)
    return rule is not None and rule.models == "hybrid" and rule.on == default.on


def _not_for_it(config: Mapping[str, Any], stated: _Stated) -> bool:
    """Pooling models, encoder-decoder models and the like never had it."""
    if config.get("pooler_config") not in (None, "None"):
        return True
    if stated.dropped_at is None or stated.asked:
        return False
    own = stated.dropped_at.line.own
    return "model has" in own or "disabling both" in own


def _find_unit(
    setting: Setting, stated: _Stated, flags: Mapping[str, Any], config: Mapping[str, Any], by_model: int | None
) -> None:
    match_unit = _number(flags.get("prefix_match_unit"))
    block = _number(flags.get("block_size")) or _number(config.get("block_size"))
    if match_unit and not stated.coarse:
        setting.unit, setting.unit_by = match_unit, "flag"
    elif stated.unit:
        setting.unit, setting.unit_by = stated.unit, "log"
    elif by_model:
        setting.unit, setting.unit_by = by_model, "model"
    elif block:
        setting.unit, setting.unit_by = block, "config"


def _find_role(flags: Mapping[str, Any], parsed: ParsedInput) -> tuple[tuple[str, ...], str | None]:
    """KV connectors in use, and which half of a prefill/decode pair this is."""
    text = str(flags.get("kv_transfer_config") or "")[:4000]
    connectors = tuple(dict.fromkeys(name for name in _CONNECTOR.findall(text) if name != "MultiConnector"))
    role = _ROLE.search(text)
    if role is not None and role[1] != "both":
        return connectors, "decode" if role[1] == "consumer" else "prefill"
    if not set(connectors) & set(prefix_policy().connectors.transfer):
        return connectors, None
    for name in _names(parsed):
        named = _NAMED.search(name)
        if named is not None:
            return connectors, named[1].lower()
    return connectors, "transfer"


def _names(parsed: ParsedInput) -> Iterator[str]:
    """What the input, the node and the container are called."""
    yield re.split(r"[/\\]", parsed.name)[-1]
    for line in parsed.lines[:20]:
        yield from filter(None, (line.record.process.node, line.record.process.container))


def _earlier(one: Fact | None, other: Fact | None) -> Fact | None:
    known = [fact for fact in (one, other) if fact is not None]
    return min(known, key=lambda fact: (fact.input, fact.index), default=None)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

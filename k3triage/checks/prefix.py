"""Prefix caching comes last: it matters only once the service runs."""

from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.model.checks import Check, Group, State
from k3triage.model.conditions import UNSET, version_key

_GROUP = Group.PREFIX_CACHING
_COMMAND = "docker logs <container> 2>&1 | grep -m1 -o 'enable_prefix_caching=[A-Za-z]*'"


def prefix_checks(context: Context) -> Iterator[Check]:
    """Whether prefix caching is on, and from how many shared tokens it can hit."""
    if context.profile.prefix_cache is None:
        return
    yield _enabled(context)
    yield from _unit(context)


def _enabled(context: Context) -> Check:
    cache = context.profile.prefix_cache
    assert cache is not None
    setting, flag = context.value("config.enable_prefix_caching"), context.value("flags.enable_prefix_caching")
    on = setting if isinstance(setting, bool) else flag if isinstance(flag, bool) else None
    of, note = ["config.enable_prefix_caching", "flags.enable_prefix_caching", "launch"], None
    fact = f"enable_prefix_caching is {on}" if on is not None else None
    if on is None and flag == UNSET:
        on, fact = _default(context)
    state = State.UNKNOWN if on is None else State.OK if on else State.VIOLATED
    if on is False and context.role() == "decode":
        state, note = State.OK, "off on purpose: a decode worker gets its state from the prefill side"
    elif on is False and context.value("gpu_arch") in cache.off_on:
        state, note = (
            State.OK,
            "off as in the source's settings for this hardware; pass --enable-prefix-caching to try it",
        )
    elif state is State.VIOLATED:
        note = "the service is stable without it; only reuse of long prefixes is lost"
    return context.answer(
        "prefix.enabled",
        _GROUP,
        "prefix caching is on where prefixes are to be reused",
        state,
        of=of,
        fact=fact,
        source=cache,
        command=_COMMAND,
        fix=cache.fix,
        note=note,
    )


def _default(context: Context) -> tuple[bool | None, str | None]:
    """What the version does without the flag. A development version says nothing, but the preview builds are known."""
    cache, version = context.profile.prefix_cache, context.value("vllm")
    assert cache is not None
    if version is None and str(context.value("image") or "").endswith(":kimi-k3"):
        return False, "the flag is not given, and this image leaves it off"
    if version is None:
        return None, "the flag is not given"
    text = str(version)
    if ".dev" in text:
        preview = context.profile.vllm is not None and version_key(text) < version_key(context.profile.vllm.minimum)
        return (
            (False, f"the flag is not given, and {text} leaves it off") if preview else (None, "the flag is not given")
        )
    on = version_key(text) >= version_key(cache.default_on)
    return on, f"the flag is not given, and {text} switches it {'on' if on else 'off'} by default"


def _unit(context: Context) -> Iterator[Check]:
    cache = context.profile.prefix_cache
    assert cache is not None
    if not context.launched:
        return
    given = context.value("flags.prefix_match_unit")
    unit = given if isinstance(given, int) else cache.unit
    finer = f"; --prefix-match-unit {cache.fine_unit} makes it {cache.fine_unit}" if cache.fine_unit else ""
    yield context.answer(
        "prefix.unit",
        _GROUP,
        f"shared prefixes are longer than one hit unit ({unit} tokens)",
        State.UNKNOWN,
        of=["flags.prefix_match_unit", "launch"],
        fact=f"hit unit {unit} tokens",
        source=cache,
        command="curl -s localhost:8000/metrics | grep -E 'prefix_cache_(queries|hits)'",
        note=f"a shorter one can never hit{'' if given == cache.fine_unit else finer}",
    )

"""Launch arguments, environment variables and known issues, as the profile lists them."""

import re
from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.model.checks import Check, Group, State
from k3triage.model.conditions import UNSET, holds
from k3triage.profiles.schema import Issue, Setting

_MOST = 8
_TEXT = 500


def setting_checks(context: Context, group: Group) -> Iterator[Check]:
    """Required settings one by one, recommended ones together, and the issues that strike here."""
    settings = [setting for setting in context.profile.setting if setting.group == group]
    for setting in settings:
        if setting.level == "required" and _all(setting.when, context):
            yield _required(setting, context)
    yield from _recommended([s for s in settings if s.level == "recommended"], context, group)
    for issue in context.profile.issue:
        if issue.group == group and _all(issue.when, context):
            yield _issue(issue, context)


def _all(conditions: list[str], context: Context) -> bool:
    return all(holds(condition, context.value) is True for condition in conditions)


def _name(setting: Setting) -> str:
    return setting.env or "--" + str(setting.flag).replace("_", "-")


def _found(setting: Setting, context: Context) -> str | None:
    """The setting's value as text, UNSET where it is known not to be given, None where that is not known."""
    if setting.flag is not None:
        value = context.value("flags." + setting.flag)
        return None if value is None else str(value)[:_TEXT]
    value = context.value(f"env.{setting.env}")
    if value is None:
        value = context.value(f"image_env.{setting.env}")
    if value is None:
        return UNSET if context.unset(str(setting.env)) else None
    return str(value)[:_TEXT]


def _fits(setting: Setting, found: str) -> bool:
    return re.fullmatch(setting.value, found, re.IGNORECASE) is not None


def _required(setting: Setting, context: Context) -> Check:
    found = _found(setting, context)
    state = State.UNKNOWN if found is None else State.OK if _fits(setting, found) else State.VIOLATED
    name = _name(setting)
    key = f"env.{setting.env}" if setting.env else f"flags.{setting.flag}"
    because = f": {setting.because}" if setting.because else ""
    return context.answer(
        f"setting.{(setting.env or str(setting.flag)).lower()}",
        setting.group,
        f"{name} is {setting.shown or setting.value}{because}",
        state,
        of=[key, "launch"] if setting.flag else [key],
        fact=f"{name} is {found}" if found is not None else None,
        source=setting,
        command="env | grep -E 'VLLM|NCCL|UCX'" if setting.env else "the launch command",
        fix=f"Set {name} to {setting.shown or setting.value}",
    )


def _recommended(settings: list[Setting], context: Context, group: Group) -> Iterator[Check]:
    """One check that is ok or unknown: to differ from a recommendation is no fault."""
    known = [(setting, found) for setting in settings if (found := _found(setting, context)) is not None]
    known = [(setting, found) for setting, found in known if _all(setting.when, context)]
    if not known:
        return
    odd = [f"{_name(s)} is {found}, not {s.shown or s.value}" for s, found in known if not _fits(s, found)]
    yield context.answer(
        f"setting.{group.value}_recommended",
        group,
        "settings that the source recommends for this hardware (to differ is no fault)",
        State.OK,
        of="launch",
        fact=f"{len(known) - len(odd)} of {len(known)} are as recommended",
        source=known[0][0],
        note="differs, which may be on purpose: " + "; ".join(odd[:_MOST]) if odd else None,
    )


def _issue(issue: Issue, context: Context) -> Check:
    state = State.VIOLATED if issue.certain else State.UNKNOWN
    names = [condition.split()[0] for condition in issue.when]
    return context.answer(
        f"issue.{issue.id}",
        issue.group,
        f"no known issue strikes: {issue.title}",
        state,
        of=names,
        fact=" and ".join(f"{name} is {str(context.value(name))[:60]}" for name in names),
        source=issue,
        command=issue.fix,
        fix=issue.fix,
    )

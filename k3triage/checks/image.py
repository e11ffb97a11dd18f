"""Image, version of vLLM and wheels."""

import re
from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.model.checks import Check, Group, State
from k3triage.model.conditions import version_key

_GROUP = Group.IMAGE_WHEELS
_VERSION = "docker run --rm --entrypoint vllm <image> --version"
_LONGEST = 300


def image_checks(context: Context) -> Iterator[Check]:
    """Image and tag, version of vLLM, wheels of one CUDA."""
    if context.profile.image:
        yield _image(context)
    if context.profile.vllm is not None:
        yield _vllm(context)
    yield from _wheels(context)


def _image(context: Context) -> Check:
    requirement = f"the image is one that serves {context.profile.title.partition(' on ')[0]}"
    missing = context.value("image_missing")
    if missing is not None and "image" not in context.facts:
        return context.answer(
            "image.tag",
            _GROUP,
            requirement,
            State.UNKNOWN,
            of="image_missing",
            fact=f"{missing} is not on this host",
            source=context.profile.image[0],
            command="docker image ls --digests",
        )
    image = context.value("image")
    if image is None:
        return context.answer(
            "image.tag",
            _GROUP,
            requirement,
            State.UNKNOWN,
            source=context.profile.image[0],
            command="docker inspect --format '{{.Config.Image}}' <container>",
        )
    text = str(image)[:_LONGEST]
    for rule in context.profile.image:
        found = re.fullmatch(rule.pattern, text, re.IGNORECASE)
        if found is None:
            continue
        state = _STATES.get(rule.state, State.UNKNOWN)
        because = rule.because
        if rule.state == "version" and context.profile.vllm is not None:
            minimum = context.profile.vllm.minimum
            enough = version_key(found.group("version")) >= version_key(minimum)
            state = State.OK if enough else State.VIOLATED
            because = rule.because if enough else f"{found.group('version')} is older than {minimum}"
        vendor = context.value("gpu_vendor")
        if rule.vendor is not None and vendor is not None and vendor != rule.vendor:
            state, because = State.VIOLATED, f"this image is for {rule.vendor} GPUs, the host has {vendor} ones"
        return context.answer(
            "image.tag",
            _GROUP,
            requirement,
            state,
            of="image",
            fact=f"{text}: {because}",
            source=rule,
            command=_VERSION,
            fix=_fix(context),
        )
    return context.answer(
        "image.tag",
        _GROUP,
        requirement,
        State.UNKNOWN,
        of="image",
        fact=text,
        source=context.profile.image[0],
        command=_VERSION,
    )


_STATES = {"ok": State.OK, "violated": State.VIOLATED}


def _fix(context: Context) -> str:
    vendor = context.value("gpu_vendor") or "nvidia"
    official = [rule for rule in context.profile.image if rule.state == "ok" and rule.vendor == vendor]
    name = re.sub(r"\(\?:[^()]*\)\?|\\", "", official[0].pattern) if official else "the official image"
    minimum = f", or a release image from {context.profile.vllm.minimum} on" if context.profile.vllm else ""
    return f"Use {name}{minimum}"


def _vllm(context: Context) -> Check:
    need = context.profile.vllm
    assert need is not None
    version = context.value("vllm")
    requirement = f"vLLM is {need.minimum} or newer, or the preview build of the official image"
    state, fact, note = State.UNKNOWN, f"vLLM {version}" if version else None, None
    if version is not None:
        state, note = _judge(context, str(version))
    elif official(context):
        fact = f"{context.value('image')} carries a build that has the model"
        state = State.OK
    return context.answer(
        "vllm.version",
        _GROUP,
        requirement,
        state,
        of=["vllm", "image"] if version or state is State.OK else "vllm",
        fact=fact,
        source=need,
        command=_VERSION,
        fix=_fix(context),
        note=note,
    )


def _judge(context: Context, version: str) -> tuple[State, str | None]:
    need = context.profile.vllm
    assert need is not None
    if any(re.search(pattern, version[:_LONGEST]) for pattern in need.previews):
        return State.OK, "a preview build of the official image; its number does not count"
    own, least = version_key(version), version_key(need.minimum)
    if ".dev" in version or re.search(r"\drc\d", version):
        if own > least and not version.startswith("0.1."):
            return State.OK, "a development build on the way to a later release"
        if official(context):
            return State.OK, "the official image's own build; its number does not count"
        return State.UNKNOWN, "a development build: its number does not tell whether it has the model"
    if own >= least:
        return State.OK, None
    earlier = [step for step in need.earlier if own >= version_key(step.minimum)]
    note = f"the source asked for {earlier[0].minimum} until {earlier[0].until}" if earlier else None
    return State.VIOLATED, note


def official(context: Context) -> bool:
    """Whether the image is one that the profile names as right whatever it holds."""
    image = str(context.value("image") or "")[:_LONGEST]
    rules = [rule for rule in context.profile.image if re.fullmatch(rule.pattern, image, re.IGNORECASE)]
    return bool(rules) and rules[0].state == "ok"


def _wheels(context: Context) -> Iterator[Check]:
    """Wheels of two CUDA majors beside each other, or of a CUDA that the profile rules out."""
    packages = context.value("packages")
    if not isinstance(packages, dict):
        return
    majors: dict[int, list[str]] = {}
    for name, version in packages.items():
        found = re.fullmatch(r"nvidia-[a-z0-9-]+-cu(\d{2})", name) or re.search(r"\+cu(\d{2})\d{1,2}$", version)
        if found is not None:
            majors.setdefault(int(found.group(1)), []).append(f"{name} {version}")
    if not majors:
        return
    wanted = context.profile.cuda.major if context.profile.cuda is not None else max(majors)
    odd = [name for major, names in sorted(majors.items()) if major != wanted for name in names]
    source = context.profile.cuda or ("https://docs.vllm.ai/en/latest/getting_started/installation/gpu/", "2026-12-01")
    yield context.answer(
        "wheels.one_cuda",
        _GROUP,
        f"all GPU wheels are built for CUDA {wanted}",
        State.VIOLATED if odd else State.OK,
        of="packages",
        fact=f"for another CUDA: {', '.join(odd[:4])}"
        if odd
        else f"{len(majors[wanted])} wheels, all for CUDA {wanted}",
        source=source,
        fix=_fix(context) if context.profile.image else "Install all wheels anew for one CUDA",
    )

"""GPUs: type, number, memory, and the launch arguments that go with them."""

from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.model.checks import Check, Group, State
from k3triage.profiles.schema import Gpu

_GROUP = Group.GPU_MEMORY
_QUERY = "nvidia-smi --query-gpu=name,memory.total,uuid --format=csv   # on every node"
_MIB, _GB = 1 << 20, 10**9
_MIG = ("https://docs.nvidia.com/datacenter/tesla/mig-user-guide/", "2026-12-01")


def memory_checks(context: Context) -> Iterator[Check]:
    """Type of GPU, one type only, whole GPUs, and memory in all against the need."""
    need = _need(context)
    if context.profile.gpu:
        yield _type(context, need)
    yield from _alike(context)
    yield from _whole(context)
    if context.profile.memory is not None:
        yield _enough(context, need)


def _need(context: Context) -> Gpu | None:
    kind = context.value("gpu_type")
    return next((gpu for gpu in context.profile.gpu if gpu.type == kind), None)


def _type(context: Context, need: Gpu | None) -> Check:
    names = ", ".join(gpu.type.upper() for gpu in context.profile.gpu if gpu.supported)
    generation = context.value("gpu_arch")
    state, note = State.UNKNOWN, None
    if need is not None:
        state = State.OK if need.supported else State.VIOLATED
        note = need.because if not need.supported else None
    elif generation in ("ampere", "turing", "volta", "pascal"):
        state, note = State.VIOLATED, "older than Hopper: the recipe's kernels are not built for it"
    elif context.value("gpu") is not None:
        note = "the source names no layout for this GPU"
    return context.answer(
        "gpu.type",
        _GROUP,
        f"the GPUs are of a type that was verified ({names})",
        state,
        of="gpu",
        fact=f"{context.value('gpu')}" if context.value("gpu") else None,
        source=need or context.profile.gpu[0],
        command=_QUERY,
        fix="Move to a verified environment; no setting makes up for missing kernels",
        note=note,
    )


def _alike(context: Context) -> Iterator[Check]:
    if context.value("gpu_mixed") is None or (context.value("gpu_count") or 0) < 2:
        return
    names = sorted({gpu.name for gpu in context.value("gpus") if gpu.name})
    mixed = bool(context.value("gpu_mixed"))
    yield context.answer(
        "gpu.alike",
        _GROUP,
        "all GPUs are of one type",
        State.VIOLATED if mixed else State.OK,
        of="gpus",
        fact=", ".join(names)[:200],
        source=("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/", "2026-12-01"),
        fix="Use GPUs of one generation for one deployment",
    )


def _whole(context: Context) -> Iterator[Check]:
    if context.value("mig") is None:
        return
    state = State.VIOLATED if context.value("mig") else State.OK
    fact = "MIG is on for a GPU" if context.value("mig") else "MIG is off"
    yield context.answer(
        "gpu.whole",
        _GROUP,
        "the GPUs are not partitioned (MIG)",
        state,
        of="mig",
        fact=fact,
        source=_MIG,
        fix="Switch MIG off: a slice neither joins tensor parallelism over NVLink nor holds its share of the weights",
    )


def _enough(context: Context, need: Gpu | None) -> Check:
    memory = context.profile.memory
    assert memory is not None
    model = str(context.value("model") or context.value("flags.model") or "").lower()
    form = next((name for name in memory.formats if name in model), None)
    wanted = memory.formats[form] if form else memory.gb
    world, seen = context.world(), context.value("gpu_count")
    count = max(world or 0, seen or 0) or None
    least = need.minimum if need is not None else 1
    requirement = f"the GPUs hold {wanted} GB in all ({(form or memory.format).upper()} weights and engine)"
    if need is not None and least > 1:
        requirement += f", at least {least} of {need.type.upper()}"
    each = _each(context, need)
    if count is None or each is None or (need is not None and not need.supported):
        what = f"{count} GPUs" if count else None
        return context.answer(
            "gpu.memory",
            _GROUP,
            requirement,
            State.UNKNOWN,
            of=["gpu_count", "gpus"],
            fact=what,
            source=need or memory,
            command=_QUERY,
        )
    total = each * count
    fact = f"{count} x {each:.0f} GB = {total:.0f} GB"
    short = total < wanted or count < least
    if world is not None and seen is not None and world < seen and (world * each < wanted or world < least):
        short, fact = True, f"the launch uses {world} of {seen} GPUs: {world * each:.0f} GB"
    state = State.VIOLATED if short else State.OK
    note = None
    if short and world is None:
        if context.log:
            state = State.UNKNOWN
        note = "more nodes may take part: bring their nvidia-smi and the launch arguments too"
    fix = f"Add nodes up to {least} GPUs or more" if least > 1 else "Add GPUs"
    if need is not None and need.because:
        fix += f" ({need.because})"
    return context.answer(
        "gpu.memory",
        _GROUP,
        requirement,
        state,
        of=["gpu_count", "gpus", "launch"],
        fact=fact,
        source=need or memory,
        command="the launch command, and on every node: nvidia-smi -L",
        fix=fix + "; weights that do not fit are a matter of topology, not of tuning",
        note=note,
    )


def _each(context: Context, need: Gpu | None) -> float | None:
    """GB of one GPU: as measured, else nominal."""
    total, count = context.value("gpu_memory"), context.value("gpu_count")
    if total and count:
        return float(total) * _MIB / _GB / int(count)
    return float(need.gb) if need is not None else None

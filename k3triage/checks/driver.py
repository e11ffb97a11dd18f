"""Driver and CUDA: the host's side of the boundary first."""

from collections.abc import Iterator

from k3triage.checks.context import Context
from k3triage.checks.image import official
from k3triage.model.checks import Check, Group, State
from k3triage.model.conditions import version_key

_GROUP = Group.DRIVER_CUDA
_QUERY = "nvidia-smi --query-gpu=driver_version,name,memory.total --format=csv"
_COMPAT = ("https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html", "2026-12-01")
_MINOR = ("https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html", "2026-12-01")
_TOOLKIT = (
    "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html",
    "2026-12-01",
)
_REQUIRES = ("https://github.com/NVIDIA/nvidia-container-toolkit/issues/152", "2026-12-01")


def driver_checks(context: Context) -> Iterator[Check]:
    """GPUs answer, driver branch, CUDA of the driver and of torch, compatibility libraries, kernel modules."""
    if context.value("gpu_vendor") == "amd":
        return
    yield _answers(context)
    yield _branch(context)
    yield _cuda(context)
    yield from _compat(context)
    yield from _modules(context)
    yield from _disabled(context)


def _answers(context: Context) -> Check:
    fault = next((name for name in ("nvml_fault", "gpu_fault") if name in context.facts), None)
    seen = "gpus" in context.facts or "attached_gpus" in context.facts
    ecc = [gpu for gpu in context.value("gpus") or () if gpu.ecc]
    state = State.VIOLATED if fault or ecc else State.OK if seen else State.UNKNOWN
    text = str(context.value(fault)) if fault else None
    if ecc:
        text = f"{len(ecc)} GPUs count uncorrected ECC errors"
    elif text is None and seen:
        text = f"{context.value('gpu_count') or context.value('attached_gpus')} GPUs answer"
    return context.answer(
        "driver.gpus_answer",
        _GROUP,
        "nvidia-smi sees every GPU without an error",
        state,
        of=[fault] if fault else ["gpus", "attached_gpus"],
        fact=text,
        source=_TOOLKIT,
        command="nvidia-smi",
        fix="Mend what nvidia-smi names on the host before anything else; nothing above it can work",
        note="this clears neither libcuda nor the runtime: errors 802 to 804 come with a healthy table"
        if seen
        else None,
    )


def _needed(context: Context) -> tuple[str, object, str] | None:
    """(lowest driver, source, fix)."""
    profile = context.profile
    if profile.driver is not None:
        return profile.driver.minimum, profile.driver, profile.driver.fix
    major = (version_key(str(context.value("torch_cuda") or "")) or (0,))[0]
    for toolkit in profile.toolkit:
        if toolkit.major == major:
            fix = f"Upgrade the host's driver to {toolkit.driver} or newer, or use wheels for an older CUDA"
            return toolkit.driver, toolkit, fix
    return None


def _branch(context: Context) -> Check:
    driver = context.value("driver")
    needed = _needed(context)
    if needed is None:
        return context.answer(
            "driver.branch",
            _GROUP,
            "the driver serves the CUDA that torch was built with",
            State.UNKNOWN,
            of="driver",
            source=_MINOR,
            command='python -c "import torch; print(torch.__version__); print(torch.version.cuda)"',
        )
    minimum, source, fix = needed
    state = State.UNKNOWN
    if driver is not None:
        state = State.OK if version_key(str(driver)) >= version_key(minimum) else State.VIOLATED
    elif context.value("cuda_ceiling") is not None and context.profile.cuda is not None:
        # The level that the driver serves tells its branch: 13.0 came with 580.
        served = version_key(str(context.value("cuda_ceiling")))[0]
        state = State.VIOLATED if served < context.profile.cuda.major else State.UNKNOWN
    return context.answer(
        "driver.branch",
        _GROUP,
        f"the host's driver is {minimum} or newer",
        state,
        of=["driver", "cuda_ceiling"],
        fact=f"driver {driver}" if driver else None,
        source=source,
        command=_QUERY,
        fix=fix,
    )


def _cuda(context: Context) -> Check:
    built, ceiling = context.value("torch_cuda"), context.value("cuda_ceiling")
    wanted = context.profile.cuda.major if context.profile.cuda is not None else None
    names = ["torch_cuda"]
    state = State.UNKNOWN
    fact = f"torch is built for CUDA {built}" if built else None
    note = None
    if built == "none":
        state, fact = State.VIOLATED, "this torch is built without CUDA"
    elif built is not None:
        major = version_key(str(built))[:1]
        state = State.OK if wanted is None or major >= (wanted,) else State.VIOLATED
        if state is State.OK and ceiling is not None and wanted is None and major > version_key(str(ceiling))[:1]:
            state, fact = State.VIOLATED, f"torch is built for CUDA {built}, the driver serves up to {ceiling}"
    elif context.value("image_cuda") is not None:
        names = ["image_cuda"]
        fact = f"the image holds CUDA {context.value('image_cuda')}"
        state = (
            State.OK
            if wanted is None or version_key(str(context.value("image_cuda")))[:1] >= (wanted,)
            else State.VIOLATED
        )
    elif official(context):
        names = ["image"]
        state, fact = State.OK, f"{context.value('image')} is built for CUDA {wanted}"
    if context.value("nvcc") is not None and state is State.UNKNOWN:
        note = f"nvcc {context.value('nvcc')} is an installed toolkit; it does not tell what torch was built with"
    if state is State.UNKNOWN and ceiling is not None:
        note = f"CUDA {ceiling} in nvidia-smi's header is what the driver serves, not what the container holds"
    return context.answer(
        "cuda.build",
        _GROUP,
        f"torch and the image are built for CUDA {wanted}"
        if wanted
        else "torch is built for a CUDA that the driver serves",
        state,
        of=names,
        fact=fact,
        source=context.profile.cuda or _MINOR,
        command='python -c "import torch; print(torch.__version__); print(torch.version.cuda)"',
        fix=f"Use the image and wheels for CUDA {wanted}; do not install another toolkit into the container"
        if wanted
        else "Use wheels for the CUDA that the driver serves, or upgrade the driver",
        note=note,
    )


def _compat(context: Context) -> Iterator[Check]:
    libraries = [entry for entry in context.value("libraries") or () if entry.name == "libcuda.so.1"]
    known = bool(libraries) or "libraries_listed" in context.facts
    if not known:
        return
    first = libraries[0].path if libraries else None
    state = State.VIOLATED if first is None or "/compat/" in first else State.OK
    yield context.answer(
        "cuda.libcuda",
        _GROUP,
        "the loader finds the driver's own libcuda first",
        state,
        of=["libraries", "libraries_listed"],
        fact=f"libcuda.so.1 is {first}" if first else "the loader's cache holds no libcuda.so.1",
        source=_COMPAT,
        fix="Take the cuda-compat folder off the loader's path"
        if first
        else "Start the container with --gpus all; on GKE put /usr/local/nvidia/lib64 on LD_LIBRARY_PATH",
        note="a compatibility copy in front of the driver's gives errors 803 and 804"
        if first and state is State.VIOLATED
        else None,
    )


def _modules(context: Context) -> Iterator[Check]:
    modules = context.value("modules")
    if modules is None:
        return
    listed = str(context.value("modules_listed") or "").split()
    complete = "all" in listed or "nvidia" in listed
    absent = [name for name in ("nvidia", "nvidia_uvm") if name not in modules]
    state = State.OK if not absent else State.VIOLATED if complete else State.UNKNOWN
    if "nouveau" in modules and "nvidia" not in modules:
        state = State.VIOLATED
    yield context.answer(
        "driver.modules",
        _GROUP,
        "the kernel modules nvidia and nvidia_uvm are loaded",
        state,
        of="modules",
        fact=f"not loaded: {', '.join(absent)}" if absent else "both are loaded",
        source=_TOOLKIT,
        command="lsmod | grep -E 'nvidia|mlx5'",
        fix=f"modprobe {' '.join(absent)} on the host, and find out why it was not loaded at boot",
    )


def _disabled(context: Context) -> Iterator[Check]:
    for prefix in ("env.", "image_env."):
        name = prefix + "NVIDIA_DISABLE_REQUIRES"
        if str(context.value(name) or "").lower() in ("1", "true"):
            yield context.answer(
                "driver.requirement_not_hidden",
                _GROUP,
                "the image's driver requirement is not switched off",
                State.VIOLATED,
                of=name,
                source=_REQUIRES,
                fix="Unset NVIDIA_DISABLE_REQUIRES: it only hides the message, and the run fails later with 35 or 803",
            )
            return

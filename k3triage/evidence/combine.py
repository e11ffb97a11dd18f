"""Joins the facts of all evidence inputs into one picture: one value a name, GPUs counted over hosts."""

from collections.abc import Iterable, Sequence
from typing import Any

from k3triage.evidence.gpus import gpu_type, vendor
from k3triage.model.conditions import version_key
from k3triage.model.evidence import EvidenceFact, Gpu, RdmaPort
from k3triage.model.lazy import lazy
from k3triage.model.shapes import replace

# Where hosts differ, the one that falls behind decides.
_LOWEST = frozenset({"driver", "cuda_ceiling", "dev_shm", "host_memory", "shm_size"})
# The first fault is nearest to the cause.
_FIRST = frozenset({"gpu_fault", "nvml_fault", "image_missing", "rdma_absent", "missing_module"})
_MANY = frozenset(
    {"gpu", "module", "modules_listed", "interface", "rdma_port", "library", "disk", "package", "gpu_process", "nic"}
)
_ARCHIVE = lazy(r"(.{1,4000}?\.(?:tgz|zip|tar(?:\.\w{2,4})?))/")
_PARTS = lazy(r"(.{0,4000}/|)(?:host|container|(?:docker|pod|process)-[^/]{1,200})/[^/]+$")
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")


def combine(facts: Sequence[EvidenceFact]) -> dict[str, EvidenceFact]:
    """Facts by name.

    Beside the parsers' own names: gpus (tuple of Gpu), gpu, gpu_type, gpu_arch, gpu_vendor, gpu_count, gpus_per_host,
    gpu_memory (MiB of all), gpu_mixed, mig, modules (frozenset), rdma, nvidia_peermem, and the tuples interfaces,
    rdma_ports, libraries, disks, packages (dict).
    """
    known: dict[str, EvidenceFact] = {}
    for fact in facts:
        if fact.name in _MANY:
            continue
        before = known.get(fact.name)
        if before is None or fact.name not in _LOWEST | _FIRST or (fact.name in _LOWEST and _lower(fact, before)):
            known[fact.name] = fact
    known.update(_gpus([fact for fact in facts if fact.name == "gpu"], known.get("attached_gpus")))
    known.update(_modules(facts))
    known.update(_rdma(facts, known.get("rdma_absent")))
    for name, plural in (("interface", "interfaces"), ("library", "libraries"), ("disk", "disks")):
        found = [fact for fact in facts if fact.name == name]
        if found:
            known[plural] = replace(found[0], name=plural, value=tuple(fact.value for fact in found))
    listed = [fact for fact in facts if fact.name == "environment_listed"]
    if listed:
        known["environment_listed"] = replace(listed[0], value=" ".join(fact.value for fact in listed))
    packages = [fact for fact in facts if fact.name == "package"]
    if packages:
        known["packages"] = replace(packages[0], name="packages", value=dict(fact.value for fact in packages))
    return known


def _lower(one: EvidenceFact, other: EvidenceFact) -> bool:
    if isinstance(one.value, int) and isinstance(other.value, int):
        return one.value < other.value
    return version_key(str(one.value)) < version_key(str(other.value))


def _hosts(facts: Iterable[EvidenceFact]) -> dict[str, list[EvidenceFact]]:
    """GPUs by host. The same host printed by several commands or twice by one counts once, by UUID or index."""
    hosts: dict[str, dict[str, list[EvidenceFact]]] = {}
    for fact in facts:
        hosts.setdefault(fact.host or _host_of(fact.source), {}).setdefault(fact.kind, []).append(fact)
    best: dict[str, list[EvidenceFact]] = {}
    for host, kinds in hosts.items():
        best[host] = max(
            (_distinct(listed) for listed in kinds.values()), key=lambda chosen: (len(chosen), _told(chosen))
        )
    return best


def _host_of(source: str) -> str:
    """The host that an input is about: a bundle is of one, and so are the folders that it holds."""
    archive = _ARCHIVE.match(source)
    if archive is not None:
        return archive.group(1)
    part = _PARTS.match(source)
    return part.group(1) if part is not None else source


def _told(facts: Sequence[EvidenceFact]) -> int:
    return sum(fact.value.memory is not None for fact in facts)


def _distinct(facts: Sequence[EvidenceFact]) -> list[EvidenceFact]:
    """GPUs of one command on one host; a later print of the same GPU replaces an earlier one."""
    chosen: dict[object, EvidenceFact] = {}
    for position, fact in enumerate(facts):
        gpu: Gpu = fact.value
        chosen[gpu.uuid or (gpu.index if gpu.index is not None else f"row {position}")] = fact
    return list(chosen.values())


def _gpus(facts: Sequence[EvidenceFact], attached: EvidenceFact | None) -> dict[str, EvidenceFact]:
    hosts = _hosts(facts)
    seen: set[str] = set()
    gpus: list[EvidenceFact] = []
    largest = 0
    kinds: dict[str, list[EvidenceFact]] = {}
    for listed in hosts.values():
        fresh = [fact for fact in listed if not (fact.value.uuid and fact.value.uuid in seen)]
        seen |= {fact.value.uuid for fact in fresh if fact.value.uuid}
        if fresh:
            kinds.setdefault(fresh[0].kind, []).extend(fresh)
            largest = max(largest, len(fresh))
    # Files of different commands without UUIDs may show one host: only those of the same command are added up.
    with_uuid = [fact for listed in kinds.values() for fact in listed if fact.value.uuid]
    gpus = max([*kinds.values(), with_uuid], key=lambda listed: (len(listed), _told(listed)), default=[])
    if not gpus:
        return {}
    first = next((fact for fact in gpus if fact.value.name), gpus[0])
    types = {(gpu_type(fact.value.name) or (fact.value.name, ""))[0] for fact in gpus if fact.value.name}
    kind = gpu_type(first.value.name)
    count = len(gpus)
    if attached is not None and attached.value > count and len(hosts) == 1:
        count = largest = attached.value
    values: dict[str, Any] = {
        "gpus": tuple(fact.value for fact in gpus),
        "gpu": first.value.name or None,
        "gpu_type": kind[0] if kind else None,
        "gpu_arch": kind[1] if kind else None,
        "gpu_vendor": vendor(first.value.name, kind[1] if kind else None) if first.value.name else None,
        "gpu_count": count,
        "gpus_per_host": largest,
        "gpu_mixed": len(types) > 1,
        "mig": any(fact.value.mig for fact in gpus) if any(fact.value.mig is not None for fact in gpus) else None,
        "gpu_memory": _memory(gpus, count),
    }
    return {name: replace(first, name=name, value=value) for name, value in values.items() if value is not None}


def _memory(gpus: Sequence[EvidenceFact], count: int) -> int | None:
    sizes: list[int] = [fact.value.memory for fact in gpus if fact.value.memory is not None]
    return sum(sizes) + (count - len(sizes)) * min(sizes) if len(sizes) == len(gpus) else None


def _modules(facts: Sequence[EvidenceFact]) -> dict[str, EvidenceFact]:
    loaded = [fact for fact in facts if fact.name == "module"]
    lists = [fact for fact in facts if fact.name == "modules_listed"]
    if not lists:
        return {}
    origin = lists[0]
    names = frozenset(fact.value for fact in loaded)
    found = {
        "modules": replace(origin, name="modules", value=names),
        "modules_listed": replace(origin, value=" ".join(fact.value for fact in lists)),
    }
    present = next((fact for fact in loaded if fact.value in _PEERMEM), None)
    if present is not None:
        found["nvidia_peermem"] = replace(present, name="nvidia_peermem", value=True)
    elif any(word in _words(lists) for word in ("all", "nvidia", "peermem", "nvidia_peermem")):
        found["nvidia_peermem"] = replace(origin, name="nvidia_peermem", value=False)
    return found


def _words(lists: Sequence[EvidenceFact]) -> set[str]:
    return {word for fact in lists for word in fact.value.split()}


def _rdma(facts: Sequence[EvidenceFact], absent: EvidenceFact | None) -> dict[str, EvidenceFact]:
    ports = [fact for fact in facts if fact.name == "rdma_port"]
    found: dict[str, EvidenceFact] = {}
    if ports:
        found["rdma_ports"] = replace(ports[0], name="rdma_ports", value=tuple(fact.value for fact in ports))
        active = next((fact for fact in ports if isinstance(fact.value, RdmaPort) and fact.value.active), None)
        found["rdma"] = replace(active or ports[0], name="rdma", value=active is not None)
    elif absent is not None:
        found["rdma"] = replace(absent, name="rdma", value=False)
    return found

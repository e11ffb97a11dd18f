"""What evidence files state: output of nvidia-smi, docker, pip and the like, as typed facts with their origin."""

from typing import Any

from k3triage.model.shapes import dataclass


@dataclass(slots=True, frozen=True)
class EvidenceFact:
    """One fact and where it stands.

    name: see `k3triage.model.conditions.FACTS` and the parsers of `k3triage.evidence`; several facts may share a name
        (one "gpu" for each GPU). value: a str, bool, int, or one of the types below.
    source, line: input and physical 1-based line. kind: the command that printed it ("nvidia-smi", "docker inspect").
    host: machine, as far as a prompt or a section's heading names it.
    """

    name: str
    value: Any
    source: str
    line: int
    kind: str
    host: str | None = None


@dataclass(slots=True, frozen=True)
class Gpu:
    """One GPU. Memory in MiB; None where the output does not say. ecc: uncorrected errors. mig: MIG mode is on."""

    index: int | None
    name: str
    uuid: str | None = None
    memory: int | None = None
    used: int | None = None
    ecc: int | None = None
    mig: bool | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True, frozen=True)
class Interface:
    """One network interface. up: the link is there, not only the switch on this side."""

    name: str
    up: bool
    mtu: int | None = None
    infiniband: bool = False


@dataclass(slots=True, frozen=True)
class RdmaPort:
    """One port of an RDMA device. link: "InfiniBand" or "Ethernet"."""

    device: str
    port: int
    active: bool
    state: str
    link: str | None = None


@dataclass(slots=True, frozen=True)
class Library:
    """One entry of the loader's cache, in its order."""

    name: str
    path: str


@dataclass(slots=True, frozen=True)
class Disk:
    """One mounted file system, in bytes."""

    mount: str
    size: int
    free: int

"""`ibv_devinfo`, `ibv_devices` and `ibstat`."""

from collections.abc import Iterator

from k3triage.evidence.sections import Section
from k3triage.model.evidence import RdmaPort
from k3triage.model.lazy import lazy

KIND = "ibv_devinfo"
_DEVICE = lazy(r"hca_id:\s+(\S{1,40})|CA '(\S{1,40})'$")
_PORT = lazy(r"\s+(?:port:\s+(\d{1,3})|Port (\d{1,3}):)$")
_STATE = lazy(r"\s+(?:state|State):\s+(\S{1,30})")
_LINK = lazy(r"\s+(?:link_layer|Link layer):\s+(\S{1,20})")
_NONE = lazy(
    r"(?:Failed to get IB devices list|No IB devices found|0 HCAs found)|ibpanic: .{0,80}No such file or directory"
)


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """rdma_port: each port; rdma_absent where the tools say that there is no device."""
    device = ""
    port: tuple[int, int] | None = None
    state = ""
    for number, row in section.rows:
        if _NONE.match(row):
            yield number, "rdma_absent", row[:120]
        elif (found := _DEVICE.match(row)) is not None:
            if port is not None and state:
                yield _port(device, port, state, None)
            device, port, state = found.group(1) or found.group(2), None, ""
        elif device and (found := _PORT.match(row)) is not None:
            if port is not None and state:
                yield _port(device, port, state, None)
            port, state = (number, int(found.group(1) or found.group(2))), ""
        elif port is not None and (found := _STATE.match(row)) is not None:
            state = state or found.group(1)
        elif port is not None and state and (found := _LINK.match(row)) is not None:
            yield _port(device, port, state, found.group(1))
            port = None
    if port is not None and state:
        yield _port(device, port, state, None)


def _port(device: str, port: tuple[int, int], state: str, link: str | None) -> tuple[int, str, object]:
    return port[0], "rdma_port", RdmaPort(device, port[1], state.upper().removeprefix("PORT_") == "ACTIVE", state, link)

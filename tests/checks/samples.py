"""Evidence as an operator would paste it, made to measure."""

import json
from typing import Any

PREVIEW = "0.1.dev19262+gb6bbf29dd.d20260727"
MIB = {
    "NVIDIA B300 SXM6 AC": 275040,
    "NVIDIA GB300": 284208,
    "NVIDIA B200": 183359,
    "NVIDIA GB200": 189471,
    "NVIDIA H200": 143771,
    "NVIDIA H100 80GB HBM3": 81559,
    "NVIDIA A100-SXM4-80GB": 81920,
    "NVIDIA L40S": 46068,
    "NVIDIA GeForce RTX 4090": 24564,
    "Tesla V100-SXM2-32GB": 32768,
}


def smi(driver: str, name: str, count: int, node: int = 0) -> list[str]:
    """`nvidia-smi --query-gpu=...` of one node."""
    rows = [
        f"{index}, {name}, GPU-{node:04d}{index:04d}-1111-2222-3333-444444444444, {driver}, {MIB[name]} MiB"
        for index in range(count)
    ]
    return ["index, name, uuid, driver_version, memory.total [MiB]", *rows]


def nodes(driver: str, name: str, per_node: int, number: int) -> list[list[str]]:
    """One input a node."""
    return [smi(driver, name, per_node, node) for node in range(number)]


def table(driver: str, cuda: str, name: str = "NVIDIA H200", ecc: str = "0", mig: str = "Disabled") -> list[str]:
    """The table of plain nvidia-smi with one GPU."""
    return [
        "Tue Nov 17 08:15:00 2026",
        "+-----------------------------------------------------------------------------------------+",
        f"| NVIDIA-SMI {driver:18} Driver Version: {driver:14} CUDA Version: {cuda:8} |",
        "+-----------------------------------------+------------------------+----------------------+",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|=========================================+========================+======================|",
        f"|   0  {name:27}     On  |   00000000:1B:00.0 Off | {ecc:>20} |",
        f"| N/A   31C    P0             75W /  700W |       4MiB / {MIB[name]:6}MiB |      0%      Default |",
        f"|                                         |                        | {mig:>20} |",
        "+-----------------------------------------+------------------------+----------------------+",
    ]


def torch(version: str, cuda: str) -> list[str]:
    return ['$ python -c "import torch; print(torch.__version__); print(torch.version.cuda)"', version, cuda]


def vllm(version: str) -> list[str]:
    return ["$ vllm --version", "INFO 11-17 08:00:00 [__init__.py:216] Automatically detected platform cuda.", version]


def container(image: str = "", args: str = "", env: dict[str, str] | None = None, **host: Any) -> list[str]:
    """`docker inspect` of a container, pretty printed."""
    item = {
        "Id": "4f1d",
        "Path": "vllm",
        "Args": ["serve", *args.split()] if args else [],
        "State": {"Status": "exited", "OOMKilled": False, "ExitCode": 1, "Error": ""},
        "HostConfig": {"IpcMode": "host", "ShmSize": 67108864, **host},
        "Config": {"Image": image, "Env": [f"{k}={v}" for k, v in (env or {}).items()]},
    }
    return json.dumps([item], indent=4).split("\n")


def image(tag: str, cuda: str) -> list[str]:
    """`docker image inspect`, pretty printed."""
    item = {
        "Id": "sha256:77",
        "RepoTags": [tag],
        "RepoDigests": ["vllm/vllm-openai@sha256:" + "5" * 64],
        "Architecture": "amd64",
        "Config": {"Env": ["PATH=/usr/bin", f"CUDA_VERSION={cuda}"], "Entrypoint": ["vllm", "serve"]},
    }
    return json.dumps([item], indent=4).split("\n")


def log(version: str, model: str, **arguments: Any) -> list[str]:
    """The first lines of a server's log."""
    given = {"model": model, **arguments}
    on = arguments.get("enable_prefix_caching")
    lines = [
        f"INFO 11-17 08:00:01 [api_server.py:1839] vLLM API server version {version}",
        f"INFO 11-17 08:00:01 [utils.py:233] non-default args: {given!r}",
    ]
    if on is not None:
        lines.append(
            f"INFO 11-17 08:00:09 [core.py:93] Initializing a V1 LLM engine (v{version}) with config: "
            f"model='{model}', enable_prefix_caching={on}, enable_chunked_prefill=True"
        )
    return lines


def lsmod(*modules: str) -> list[str]:
    return ["Module                  Size  Used by", *(f"{name:22} 16384  0" for name in modules)]


def ports(*states: str) -> list[str]:
    """`ibv_devinfo`, one device a state."""
    lines = []
    for number, state in enumerate(states):
        lines += [
            f"hca_id:\tmlx5_{number}",
            "\ttransport:\t\t\tInfiniBand (0)",
            "\t\tport:\t1",
            f"\t\t\tstate:\t\t\t{state} ({4 if state == 'PORT_ACTIVE' else 1})",
            "\t\t\tlink_layer:\t\tInfiniBand",
        ]
    return lines


def environment(**variables: str) -> list[str]:
    return ["$ env", "PATH=/usr/bin", "HOME=/root", *(f"{name}={value}" for name, value in variables.items())]

"""Combinations of evidence with the checks that the recipe's facts give."""

from collections.abc import Callable
from typing import Any

import pytest

from k3triage import check
from k3triage.model.checks import CheckReport
from tests.checks.samples import (
    PREVIEW,
    container,
    environment,
    image,
    log,
    lsmod,
    nodes,
    ports,
    smi,
    table,
    torch,
    vllm,
)

K3 = "moonshotai/Kimi-K3"
OFFICIAL = "vllm/vllm-openai:kimi-k3"
OK, BAD, OPEN = "ok", "violated", "unknown"
B300, B200, H200 = "NVIDIA B300 SXM6 AC", "NVIDIA B200", "NVIDIA H200"
BASE = "moonshotai/Kimi-K3 --tensor-parallel-size 8"

# What is given, and the checks that must come out so. Checks that are not named are not compared.
Case = tuple[list[list[str]], dict[str, str]]
CASES: dict[str, Case] = {
    # driver against r580
    "driver 580": ([smi("580.65.06", B300, 8)], {"driver.branch": OK, "gpu.memory": OK, "gpu.type": OK}),
    "driver 590": ([smi("590.44.01", B300, 8)], {"driver.branch": OK}),
    "driver 595 above": ([smi("595.10", B300, 8)], {"driver.branch": OK}),
    "driver 575 is not enough for CUDA 13": ([smi("575.57.08", B300, 8)], {"driver.branch": BAD, "gpu.memory": OK}),
    "driver 570": ([smi("570.172.08", H200, 8)], {"driver.branch": BAD}),
    "driver 550": ([smi("550.90.07", H200, 8)], {"driver.branch": BAD}),
    "driver 535 starts the container all the same": ([smi("535.171.04", H200, 8)], {"driver.branch": BAD}),
    "one node behind": (
        [smi("580.65.06", B200, 8, 0), smi("570.172.08", B200, 8, 1)],
        {"driver.branch": BAD, "gpu.memory": OK},
    ),
    "table 580": ([table("580.126.20", "13.0")], {"driver.branch": OK, "driver.gpus_answer": OK, "cuda.build": OPEN}),
    "table 535": ([table("535.171.04", "12.2")], {"driver.branch": BAD, "cuda.build": OPEN}),
    "the header's CUDA is not the container's": ([table("580.126.20", "13.0"), torch("2.8.0+cu128", "12.8")], {"driver.branch": OK, "cuda.build": BAD}),
    "torch says 12080: CUDA 12.8, so an old driver": (
        [["UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12080). Please update"]],
        {"driver.branch": BAD},
    ),
    "no driver seen": ([torch("2.11.0+cu130", "13.0")], {"driver.branch": OPEN, "driver.gpus_answer": OPEN, "cuda.build": OK}),
    # nvidia-smi in trouble
    "NVML mismatch": ([["Failed to initialize NVML: Driver/library version mismatch", "NVML library version: 580.65"]], {"driver.gpus_answer": BAD}),
    "no driver loaded": (
        [["NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."]],
        {"driver.gpus_answer": BAD, "driver.branch": OPEN},
    ),
    "no GPU": ([["$ nvidia-smi", "No devices were found"]], {"driver.gpus_answer": BAD}),
    "no nvidia-smi in the container": ([["bash: nvidia-smi: command not found"]], {"driver.gpus_answer": BAD}),
    "uncorrected ECC": ([table("580.126.20", "13.0", ecc="3")], {"driver.gpus_answer": BAD, "driver.branch": OK}),
    "MIG": ([table("580.126.20", "13.0", mig="Enabled")], {"gpu.whole": BAD}),
    # CUDA of torch
    "cu130": ([torch("2.11.0+cu130", "13.0")], {"cuda.build": OK}),
    "cu129 is not CUDA 13": ([torch("2.11.0+cu129", "12.9")], {"cuda.build": BAD}),
    "cpu build": ([torch("2.11.0+cpu", "None")], {"cuda.build": BAD}),
    "image for CUDA 13": ([image(OFFICIAL, "13.0.1")], {"cuda.build": OK, "image.tag": OK, "vllm.version": OK}),
    "image for CUDA 12": ([image("vllm/vllm-openai:v0.27.1-cu129", "12.9.1")], {"cuda.build": BAD, "image.tag": BAD}),
    "wheels of two CUDAs": ([["torch==2.11.0+cu130", "nvidia-nccl-cu13==2.28.9", "nvidia-cublas-cu12==12.9.1.4"]], {"wheels.one_cuda": BAD}),
    "wheels of CUDA 13": ([["torch==2.11.0+cu130", "nvidia-nccl-cu13==2.28.9", "vllm==0.28.0"]], {"wheels.one_cuda": OK, "vllm.version": OK}),
    "wheels of CUDA 12": ([["torch==2.9.0+cu128", "nvidia-nccl-cu12==2.27.5"]], {"wheels.one_cuda": BAD, "cuda.build": BAD}),
    "compat copy first": (
        [["\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcuda.so.1", "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1"]],
        {"cuda.libcuda": BAD},
    ),
    "driver's libcuda first": ([["\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1"]], {"cuda.libcuda": OK}),
    "nvidia_uvm not loaded": ([lsmod("nvidia", "nvidia_modeset")], {"driver.modules": BAD}),
    "modules loaded": ([lsmod("nvidia", "nvidia_uvm")], {"driver.modules": OK}),
    "requirement switched off": ([container(OFFICIAL, env={"NVIDIA_DISABLE_REQUIRES": "1"})], {"driver.requirement_not_hidden": BAD, "image.tag": OK}),
    # image tags
    "official image": ([container(OFFICIAL)], {"image.tag": OK, "vllm.version": OK, "cuda.build": OK}),
    "launch script for two B200 nodes": (
        [[f"docker run --gpus all --ipc=host {OFFICIAL} {K3} -tp 8 -pp 2 --nnodes 2 --gpu-memory-utilization 0.95"], smi("580.65.06", B200, 8)],
        {"image.tag": OK, "gpu.memory": OK, "comm.shm": OK, "issue.b200_first_pass_oom": BAD, "comm.rdma": OPEN, "prefix.enabled": BAD},
    ),
    "official image by digest": ([container(OFFICIAL + "@sha256:" + "a" * 64)], {"image.tag": OK}),
    "kimi-k3-cu129 does not exist": ([container(OFFICIAL + "-cu129")], {"image.tag": BAD}),
    "release 0.27.1": ([container("vllm/vllm-openai:v0.27.1")], {"image.tag": OK}),
    "release 0.28.0": ([container("vllm/vllm-openai:v0.28.0")], {"image.tag": OK}),
    "release 0.33.0": ([container("docker.io/vllm/vllm-openai:v0.33.0")], {"image.tag": OK}),
    "release 0.27.0": ([container("vllm/vllm-openai:v0.27.0")], {"image.tag": BAD}),
    "release 0.11.0": ([container("vllm/vllm-openai:v0.11.0")], {"image.tag": BAD}),
    "latest moves": ([container("vllm/vllm-openai:latest")], {"image.tag": OPEN, "vllm.version": OPEN}),
    "nightly moves": ([container("vllm/vllm-openai:nightly-abc")], {"image.tag": OPEN}),
    "own registry": ([container("registry.local:5000/llm/serve:7")], {"image.tag": OPEN}),
    "AMD image": ([container("vllm/vllm-openai-rocm:kimi-k3")], {"image.tag": OK}),
    "AMD image with an underscore": ([container("vllm/vllm-openai_rocm:kimi-k3")], {"image.tag": BAD}),
    "AMD image on NVIDIA GPUs": ([container("vllm/vllm-openai-rocm:kimi-k3"), smi("580.65.06", B300, 8)], {"image.tag": BAD}),
    # versions of vLLM
    "vLLM 0.27.1": ([vllm("0.27.1")], {"vllm.version": OK}),
    "vLLM 0.33.0": ([vllm("0.33.0")], {"vllm.version": OK}),
    "vLLM 0.27.0 was once enough": ([vllm("0.27.0")], {"vllm.version": BAD}),
    "vLLM 0.26.0": ([vllm("0.26.0")], {"vllm.version": BAD}),
    "vLLM 0.9.2": ([vllm("0.9.2")], {"vllm.version": BAD}),
    "preview build is not too old": ([vllm(PREVIEW)], {"vllm.version": OK}),
    "other preview build": ([vllm("0.23.1rc1.dev1042+g8e981630c")], {"vllm.version": OK}),
    "unknown development build": ([vllm("0.1.dev4711+gabcdef012")], {"vllm.version": OPEN}),
    "development build in the official image": ([vllm("0.1.dev4711+gabcdef012"), container(OFFICIAL)], {"vllm.version": OK}),
    "development build after the minimum": ([vllm("0.28.1.dev5+g0123456")], {"vllm.version": OK}),
    "version from the log": ([log("0.26.0", K3)], {"vllm.version": BAD}),
    "version from the log 0.28": ([log("0.28.0", K3)], {"vllm.version": OK}),
    # GPUs: type, number, memory
    "8 B300": ([smi("580.65.06", B300, 8)], {"gpu.memory": OK}),
    "4 B300": ([smi("580.65.06", B300, 4)], {"gpu.memory": BAD}),
    "8 B200 cannot hold the weights": ([smi("580.65.06", B200, 8)], {"gpu.type": OK, "gpu.memory": BAD}),
    "16 B200 on two nodes": (nodes("580.65.06", B200, 8, 2), {"gpu.memory": OK, "gpu.alike": OK}),
    "8 H200": ([smi("580.65.06", H200, 8)], {"gpu.type": OK, "gpu.memory": BAD}),
    "16 H200": (nodes("580.65.06", H200, 8, 2), {"gpu.memory": OK}),
    "8 H100": ([smi("580.65.06", "NVIDIA H100 80GB HBM3", 8)], {"gpu.type": OK, "gpu.memory": BAD}),
    "24 H100 would hold it, the layout needs 32": (nodes("580.65.06", "NVIDIA H100 80GB HBM3", 8, 3), {"gpu.memory": BAD}),
    "32 H100": (nodes("580.65.06", "NVIDIA H100 80GB HBM3", 8, 4), {"gpu.memory": OK}),
    "4 trays of GB200": (nodes("580.65.06", "NVIDIA GB200", 4, 4), {"gpu.memory": OK}),
    "2 trays of GB200": (nodes("580.65.06", "NVIDIA GB200", 4, 2), {"gpu.memory": BAD}),
    "2 trays of GB300": (nodes("580.65.06", "NVIDIA GB300", 4, 2), {"gpu.memory": OK}),
    "A100 has no kernels": (nodes("580.65.06", "NVIDIA A100-SXM4-80GB", 8, 3), {"gpu.type": BAD}),
    "V100": ([smi("580.65.06", "Tesla V100-SXM2-32GB", 8)], {"gpu.type": BAD}),
    "L40S is in no recipe": ([smi("580.65.06", "NVIDIA L40S", 8)], {"gpu.type": OPEN, "gpu.memory": BAD}),
    "two types": ([smi("580.65.06", B200, 8, 0), smi("580.65.06", H200, 8, 1)], {"gpu.alike": BAD}),
    "one node seen, the launch spans two": (
        [smi("580.65.06", B200, 8), log("0.28.0", K3, tensor_parallel_size=8, pipeline_parallel_size=2, gpu_memory_utilization=0.9)],
        {"gpu.memory": OK},
    ),
    "the launch uses one node": ([smi("580.65.06", B200, 8), log("0.28.0", K3, tensor_parallel_size=8)], {"gpu.memory": BAD}),
    "16 GPUs there, 8 used": ([*nodes("580.65.06", B200, 8, 2), log("0.28.0", K3, tensor_parallel_size=8)], {"gpu.memory": BAD}),
    "NVFP4 weights": ([smi("580.65.06", B300, 8), log("0.28.0", "RedHatAI/Kimi-K3-NVFP4", tensor_parallel_size=8)], {"gpu.memory": OK}),
    # flags and known issues
    "0.95 on two B200 nodes": (
        [smi("580.65.06", B200, 8), log("0.28.0", K3, tensor_parallel_size=8, pipeline_parallel_size=2, gpu_memory_utilization=0.95)],
        {"issue.b200_first_pass_oom": BAD},
    ),
    "fp8 KV without attention config": ([smi("580.65.06", B300, 8), log("0.28.0", K3, kv_cache_dtype="fp8")], {"issue.fp8_kv_without_attention_config": BAD}),
    "mega MoE over RDMA": ([*nodes("580.65.06", B200, 8, 2), log("0.28.0", K3, tensor_parallel_size=16, moe_backend="deep_gemm_mega_moe")], {"issue.mega_moe_over_rdma": BAD, "issue.mega_moe_tp16": BAD}),
    "DSpark with pipeline parallelism may fail": (
        [log("0.28.0", K3, tensor_parallel_size=8, pipeline_parallel_size=2, speculative_config={"method": "dspark"})],
        {"issue.dspark_with_pipeline_parallel": OPEN},
    ),
    # communication
    "default /dev/shm": ([container(OFFICIAL, BASE, IpcMode="private")], {"comm.shm": BAD}),
    "16 GiB /dev/shm": ([container(OFFICIAL, BASE, IpcMode="private", ShmSize=16 << 30)], {"comm.shm": OK}),
    "ports down on two nodes": ([*nodes("580.65.06", B200, 8, 2), ports("PORT_DOWN", "PORT_DOWN")], {"comm.rdma": BAD}),
    "a port active on two nodes": ([*nodes("580.65.06", B200, 8, 2), ports("PORT_DOWN", "PORT_ACTIVE")], {"comm.rdma": OK}),
    "RDMA unknown on two nodes": (nodes("580.65.06", B200, 8, 2), {"comm.rdma": OPEN}),
    "dmabuf off without peermem": (
        [*nodes("580.65.06", B200, 8, 2), environment(NCCL_DMABUF_ENABLE="0"), lsmod("nvidia", "nvidia_uvm", "mlx5_ib")],
        {"issue.dmabuf_off_without_peermem": BAD},
    ),
    "RDMA switched off although there": ([*nodes("580.65.06", B200, 8, 2), environment(NCCL_IB_DISABLE="1"), ports("PORT_ACTIVE")], {"comm.rdma_in_use": BAD}),
    "both peer memory modules": ([*nodes("580.65.06", B200, 8, 2), lsmod("nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem")], {"comm.one_peermem": BAD}),
    # prefix caching
    "on by flag": ([log("0.27.1", K3, enable_prefix_caching=True)], {"prefix.enabled": OK}),
    "off by default to 0.27.1": ([log("0.27.1", K3)], {"prefix.enabled": BAD}),
    "on by default from 0.28.0": ([log("0.28.0", K3)], {"prefix.enabled": OK}),
    "off by flag": ([log("0.33.0", K3, enable_prefix_caching=False)], {"prefix.enabled": BAD}),
    "preview image without the flag": ([container(OFFICIAL, BASE)], {"prefix.enabled": BAD}),
    "Hopper recipe leaves it off": ([log("0.27.1", K3), smi("580.65.06", H200, 8)], {"prefix.enabled": OK}),
    "decode worker": (
        [log("0.28.0", K3, enable_prefix_caching=False, kv_transfer_config={"kv_connector": "NixlConnector", "kv_role": "kv_consumer"})],
        {"prefix.enabled": OK},
    ),
    "flags not seen": ([smi("580.65.06", B300, 8)], {"prefix.enabled": OPEN}),
}  # fmt: skip


def states(report: CheckReport) -> dict[str, str]:
    return {item.id: item.state.value for item in report.checks}


@pytest.mark.parametrize("name", CASES)
def test_checks_of_kimi_k3(name: str) -> None:
    inputs, wanted = CASES[name]
    report = check(*inputs, profile="kimi-k3")
    found = states(report)
    assert {key: found.get(key) for key in wanted} == wanted
    for item in report.checks:
        assert item.source and item.as_of, item.id
        assert item.state != "unknown" or item.command, f"{item.id} does not say how to find out"
        assert item.state != "violated" or (item.fix and item.fact), item.id


def test_there_are_enough_combinations() -> None:
    assert len(CASES) >= 60


def test_groups_come_in_the_order_in_which_to_settle_them() -> None:
    report = check(*nodes("570.1.1", B200, 8, 2), container(OFFICIAL, BASE), profile="kimi-k3")
    order = ["driver_cuda", "image_wheels", "gpu_memory", "communication", "prefix_caching"]
    groups = [order.index(item.group) for item in report.checks]
    assert groups == sorted(groups) and set(groups) == set(range(5))


def test_every_fact_has_its_line() -> None:
    report = check(smi("570.1.1", B200, 8), profile="kimi-k3")
    driver = next(item for item in report.checks if item.id == "driver.branch")
    assert driver.origin is not None and (driver.origin.source, driver.origin.line) == ("-", 2)


GENERIC: list[tuple[list[list[str]], dict[str, Any]]] = [
    ([smi("535.1.1", H200, 8), torch("2.7.0+cu126", "12.6")], {"driver.branch": OK}),
    ([smi("535.1.1", H200, 8), torch("2.11.0+cu130", "13.0")], {"driver.branch": BAD}),
    ([smi("470.1.1", H200, 8), torch("2.7.0+cu126", "12.6")], {"driver.branch": BAD}),
    ([table("570.1.1", "12.8"), torch("2.11.0+cu130", "13.0")], {"cuda.build": BAD}),
    ([smi("535.1.1", H200, 8)], {"driver.branch": OPEN, "image.tag": None, "gpu.memory": None, "prefix.enabled": None}),
]


@pytest.mark.parametrize("number", range(len(GENERIC)))
def test_checks_of_any_model(number: int) -> None:
    inputs, wanted = GENERIC[number]
    found = states(check(*inputs, profile="generic"))
    assert {key: found.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("inputs", "profile"),
    [
        (lambda: [log("0.28.0", K3)], "kimi-k3"),
        (lambda: [log("0.28.0", "/models/kimi-k3-mxfp4")], "kimi-k3"),
        (lambda: [log("0.28.0", "moonshotai/Kimi-K2-Instruct")], "generic"),
        (lambda: [log("0.28.0", "moonshotai/Kimi-K30")], "generic"),
        (lambda: [container(OFFICIAL)], "kimi-k3"),
        (lambda: [smi("580.1.1", H200, 1)], "kimi-k3"),
    ],
)
def test_profile_is_chosen_by_the_model(inputs: Callable[[], list[list[str]]], profile: str) -> None:
    assert check(*inputs()).profile == profile

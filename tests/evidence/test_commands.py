"""The other commands that operators are told to run."""

import json

import pytest

from k3triage.model.evidence import Disk, Interface, Library, RdmaPort
from tests.evidence.helpers import facts, named, picture, values


def test_vllm_version_is_the_last_line() -> None:
    text = "INFO 11-18 09:00:00 [__init__.py:216] Automatically detected platform cuda.\n0.19.1\n"
    assert values(text) == [(2, "vllm", "0.19.1")]
    assert named("0.1.dev19262+gb6bbf29dd.d20260727\n", "vllm") == ["0.1.dev19262+gb6bbf29dd.d20260727"]
    assert named("$ docker run --rm --entrypoint vllm img:1 --version\n0.28.0\n", "vllm") == ["0.28.0"]


@pytest.mark.parametrize(
    "text", ["3.11\n", "Listening on port 8000\n1.2\n", "some words 0.19.1\n", "2026.11.18\nmore\n"]
)
def test_other_numbers_are_no_version(text: str) -> None:
    assert named(text, "vllm") == []


def test_python_prints() -> None:
    assert named("2.11.0+cu130\n13.0\n", "torch_cuda") == ["13.0"]
    assert named("2.9.1+cpu\nNone\n", "torch_cuda") == ["none"]
    text = '$ python -c "import vllm, torch; print(vllm.__version__, torch.__version__)"\n0.28.0 2.11.0+cu130\n'
    assert (named(text, "vllm"), named(text, "torch")) == (["0.28.0"], ["2.11.0+cu130"])
    broken = "$ python -c \"import vllm; print(vllm.__version__)\"\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'vllm'\n"
    assert named(broken, "missing_module") == ["vllm"] and named(broken, "vllm") == []


def test_nvcc_is_not_torchs_cuda() -> None:
    text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n"
    assert named(text, "nvcc") == ["12.4"] and named(text, "torch_cuda") == []


def test_collect_env() -> None:
    text = """
        Collecting environment information...
        PyTorch version: 2.11.0+cu130
        CUDA used to build PyTorch: 13.0
        Is CUDA available: True
        CUDA runtime version: 12.8.93
        GPU models and configuration:
        GPU 0: NVIDIA H200
        GPU 1: NVIDIA H200

        Nvidia driver version: 580.65.06
        vLLM Version: 0.28.0
        Versions of relevant libraries:
        [pip3] nvidia-nccl-cu13==2.28.9
        [pip3] torch==2.11.0
        [conda] Could not collect
    """
    found = picture(text)
    wanted = {
        "torch": "2.11.0", "torch_cuda": "13.0", "nvcc": "12.8", "driver": "580.65.06", "vllm": "0.28.0",
        "nccl": "2.28.9", "gpu_count": 2, "cuda_available": True,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_collect_env_without_gpu() -> None:
    text = "Collecting environment information...\nCUDA used to build PyTorch: None\nIs CUDA available: False\nCUDA runtime version: No CUDA\nNvidia driver version: No CUDA\nGPU models and configuration: No CUDA\n"
    found = picture(text)
    assert found["torch_cuda"] == "none" and found["cuda_available"] is False
    assert "driver" not in found and "gpu" not in found and "nvcc" not in found


def test_pip_list_and_freeze() -> None:
    table = "Package            Version\n------------------ ---------\ntorch              2.11.0+cu130\nnvidia-nccl-cu13   2.28.9\nvllm               0.28.0\n"
    assert picture(table)["torch_cuda"] == "13.0" and picture(table)["vllm"] == "0.28.0"
    frozen = "vllm @ https://files.example/vllm-0.27.1+cu130-cp38-abi3-manylinux_2_31_x86_64.whl\ntorch==2.9.0+cu128\ntransformers==5.1.0\n"
    found = picture(frozen)
    assert (found["vllm"], found["torch_cuda"], found["transformers"]) == ("0.27.1+cu130", "12.8", "5.1.0")


def test_env_keeps_no_secret() -> None:
    text = "$ env\nPATH=/bin\nHF_TOKEN=hf_abc\nVLLM_API_KEY=sk-1\nNCCL_IB_HCA=mlx5_0\nCUDA_VISIBLE_DEVICES=\nexport UCX_TLS='rc,cuda_copy'\n"
    found = {fact.name: fact.value for fact in facts(text)}
    assert found == {
        "environment_listed": "all",
        "env.NCCL_IB_HCA": "mlx5_0",
        "env.CUDA_VISIBLE_DEVICES": "",
        "env.UCX_TLS": "rc,cuda_copy",
    }


def test_what_a_filtered_env_can_show() -> None:
    text = "$ env | grep -E 'NCCL|UCX'\nNCCL_DEBUG=INFO\n"
    assert named(text, "environment_listed") == ["NCCL UCX"]


def test_lone_assignments_in_a_log_are_no_environment() -> None:
    assert facts("starting up\nNCCL_DEBUG=INFO\nloading\nserving\n") == []


def test_ip_link() -> None:
    text = """
        1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
            link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
        2: ens9f0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN mode DEFAULT group default
            link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
        3: ibs7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4092 qdisc mq state UP mode DEFAULT group default qlen 256
            link/infiniband 00:00:10:29 brd 00:ff
        4: eth0@if12: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP mode DEFAULT group default
    """
    assert named(text, "interface") == [
        Interface("lo", True, 65536), Interface("ens9f0", False, 1500), Interface("ibs7", True, 4092, True), Interface("eth0", True, 9000),
    ]  # fmt: skip


def test_ibv_devinfo_and_ibstat() -> None:
    devinfo = "hca_id:\tmlx5_3\n\ttransport:\t\t\tInfiniBand (0)\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tlink_layer:\t\tEthernet\n"
    assert named(devinfo, "rdma_port") == [RdmaPort("mlx5_3", 1, True, "PORT_ACTIVE", "Ethernet")]
    ibstat = "CA 'mlx5_0'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tLink layer: InfiniBand\n"
    assert named(ibstat, "rdma_port") == [RdmaPort("mlx5_0", 1, False, "Down", "InfiniBand")]


def test_ldconfig_keeps_its_order() -> None:
    text = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n\tlibcuda.so.1 (libc6,AArch64) => /usr/lib/libcuda.so.1\n\tlibz.so.1 (libc6) => /usr/lib/libz.so.1\n"
    assert named(text, "library") == [
        Library("libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1"), Library("libcuda.so.1", "/usr/lib/libcuda.so.1"),
    ]  # fmt: skip
    assert named(
        "1543 libs found in cache `/etc/ld.so.cache'\n\tlibz.so.1 (libc6) => /usr/lib/libz.so.1\n", "libraries_listed"
    ) == [True]


def test_limits() -> None:
    text = "open files                          (-n) 1048576\nmax locked memory           (kbytes, -l) 8192\nstack size                  (kbytes, -s) unlimited\n"
    assert named(text, "limit.nofile") == [1048576] and named(text, "limit.memlock") == [8192 * 1024]
    assert named(text, "limit.stack") == ["unlimited"]


def test_df_and_free() -> None:
    human = "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   20M   45M  31% /dev/shm\n/dev/nvme0n1    1.5T  1.1T  400G  74% /models\n"
    assert named(human, "dev_shm") == [64 << 20]
    assert named(human, "disk")[1] == Disk("/models", int(1.5 * 1024**4), 400 << 30)
    blocks = "Filesystem     1K-blocks      Used Available Use% Mounted on\ntmpfs              65536         0     65536   0% /dev/shm\n"
    assert named(blocks, "dev_shm") == [64 << 20]
    free = "               total        used        free      shared  buff/cache   available\nMem:           503Gi        12Gi       480Gi       1.0Gi        11Gi       488Gi\nSwap:             0B          0B          0B\n"
    assert named(free, "host_memory") == [503 << 30] and named(free, "host_available") == [488 << 30]


CONTAINER = {
    "Path": "vllm", "Args": ["serve", "moonshotai/Kimi-K3", "-tp", "8", "--no-enable-prefix-caching", "--kv-cache-dtype=fp8", "--trust-remote-code", "--port", "8001"],
    "State": {"Status": "exited", "OOMKilled": True, "ExitCode": 137, "Error": "", "StartedAt": "2026-11-18T00:00:00Z"},
    "HostConfig": {"ShmSize": 67108864, "IpcMode": "private", "DeviceRequests": None, "Ulimits": [{"Name": "memlock", "Hard": -1}]},
    "Config": {"Image": "vllm/vllm-openai:kimi-k3", "Env": ["NCCL_DEBUG=INFO", "HF_TOKEN=hf_x", "CUDA_VERSION=13.0.1"]},
}  # fmt: skip


def test_docker_inspect_of_a_container() -> None:
    text = "$ docker inspect k3\n" + json.dumps([CONTAINER], indent=4)
    found = {fact.name: fact.value for fact in facts(text)}
    wanted = {
        "image": "vllm/vllm-openai:kimi-k3", "flags.model": "moonshotai/Kimi-K3", "flags.tensor_parallel_size": 8,
        "flags.enable_prefix_caching": False, "flags.kv_cache_dtype": "fp8", "flags.trust_remote_code": True, "flags.port": 8001,
        "oom_killed": True, "exit_code": 137, "shm_size": 67108864, "gpus_requested": False, "limit.memlock": "unlimited",
        "env.NCCL_DEBUG": "INFO", "image_cuda": "13.0.1",
    }  # fmt: skip
    assert {name: found.get(name) for name in wanted} == wanted
    assert not any("TOKEN" in name for name in found)
    lines = {fact.name: fact.line for fact in facts(text)}
    rows = text.split("\n")
    assert '"Image"' in rows[lines["image"] - 1] and '"OOMKilled"' in rows[lines["oom_killed"] - 1]


def test_docker_inspect_on_one_line_and_state_alone() -> None:
    assert named(json.dumps([CONTAINER]), "image") == ["vllm/vllm-openai:kimi-k3"]
    assert named(json.dumps(CONTAINER["State"]), "exit_code") == [137]


def test_docker_image_inspect_and_its_refusal() -> None:
    item = {
        "RepoTags": ["vllm/vllm-openai:v0.28.0"],
        "RepoDigests": [],
        "Architecture": "arm64",
        "Config": {"Env": ["NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=535,driver<536"], "Entrypoint": None},
    }
    found = {fact.name: fact.value for fact in facts(json.dumps([item], indent=2))}
    assert (found["image"], found["require_cuda"], found["image_architecture"], found["entrypoint"]) == (
        "vllm/vllm-openai:v0.28.0",
        "13.0",
        "arm64",
        "",
    )
    assert named(
        "[]\nError response from daemon: No such image: vllm/vllm-openai:kimi-k3-cu129\n", "image_missing"
    ) == ["vllm/vllm-openai:kimi-k3-cu129"]


def test_several_outputs_in_one_file() -> None:
    text = """
        (venv) ops@gpu7:~$ nvidia-smi -L
        GPU 0: NVIDIA B300 SXM6 AC (UUID: GPU-0d0d0d0d-1111-2222-3333-444444444444)
        === vllm --version ===
        0.28.0
        ### lsmod | grep nvidia
        nvidia_uvm           1523712  0
        nvidia              56598528  147 nvidia_uvm
        + nvcc --version
        Cuda compilation tools, release 13.0, V13.0.88
    """
    found = facts(text)
    assert [(fact.line, fact.name) for fact in found if fact.name in ("gpu", "vllm", "nvcc")] == [
        (2, "gpu"),
        (4, "vllm"),
        (9, "nvcc"),
    ]
    assert found[0].host == "gpu7" and picture(text)["modules"] == {"nvidia", "nvidia_uvm"}


SCRIPT = """
    #!/bin/bash
    docker run --rm --gpus all --ipc=host -v /data/models:/models -p 8000:8000 \\
      -e NCCL_DEBUG=INFO -e HF_TOKEN=hf_secret --shm-size 16g \\
      vllm/vllm-openai:kimi-k3 moonshotai/Kimi-K3 \\
      --tensor-parallel-size 8 --gpu-memory-utilization 0.95 \\
      --attention-config '{"mla_prefill_backend": "flashinfer"}' --enable-prefix-caching
    echo done
"""


def test_launch_script() -> None:
    found = {fact.name: (fact.line, fact.value) for fact in facts(SCRIPT)}
    assert found["image"] == (2, "vllm/vllm-openai:kimi-k3") and found["env.NCCL_DEBUG"] == (2, "INFO")
    assert found["flags.model"] == (2, "moonshotai/Kimi-K3") and found["flags.tensor_parallel_size"] == (2, 8)
    assert found["flags.gpu_memory_utilization"] == (2, 0.95) and found["flags.enable_prefix_caching"] == (2, True)
    assert found["flags.attention_config"] == (2, {"mla_prefill_backend": "flashinfer"})
    assert found["shm_size"] == (2, 16 << 30) and found["ipc_mode"] == (2, "host")
    assert "flags.port" not in found and not any("secret" in str(value) for value in found.values())


@pytest.mark.parametrize(
    "text",
    [
        "root@n1:~# vllm serve moonshotai/Kimi-K3 -tp 8\nINFO 11-18 09:00:00 [x.py:1] start\n",
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve moonshotai/Kimi-K3 --tensor-parallel-size=8\n",
        "container: k3\nimage: vllm/vllm-openai:kimi-k3\ncommand: vllm serve moonshotai/Kimi-K3 --tensor-parallel-size 8\n",
        "python3 -m vllm.entrypoints.openai.api_server --model moonshotai/Kimi-K3 --tensor-parallel-size 8\n",
    ],
)
def test_launch_commands(text: str) -> None:
    assert named(text, "flags.model") == ["moonshotai/Kimi-K3"] and named(text, "flags.tensor_parallel_size") == [8]


def test_other_containers_are_no_launch() -> None:
    assert named("docker run --rm alpine:3.20 sh -c 'vllm-bench serve'\n", "launch") == []
    assert named("vllm serve is what you want, see the docs\n", "flags.tensor_parallel_size") == []

"""nvidia-smi in all its forms."""

import pytest

from k3triage.model.evidence import Gpu
from tests.evidence.helpers import facts, named, picture, values

NEW = """
    Wed Nov 18 09:31:07 2026
    +-----------------------------------------------------------------------------------------+
    | NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
    +-----------------------------------------+------------------------+----------------------+
    | GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
    | Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
    |                                         |                        |               MIG M. |
    |=========================================+========================+======================|
    |   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
    | N/A   33C    P0            115W /  700W |   61204MiB /  81559MiB |      0%      Default |
    |                                         |                        |             Disabled |
    +-----------------------------------------+------------------------+----------------------+
    |   1  NVIDIA H100 80GB HBM3          On  |   00000000:3B:00.0 Off |                    2 |
    | N/A   35C    P0            121W /  700W |       1MiB /  81559MiB |      0%      Default |
    |                                         |                        |              Enabled |
    +-----------------------------------------+------------------------+----------------------+

    +-----------------------------------------------------------------------------------------+
    | Processes:                                                                              |
    |  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
    |        ID   ID                                                               Usage      |
    |=========================================================================================|
    |    0   N/A  N/A           51880      C   python3                               61192MiB |
    +-----------------------------------------------------------------------------------------+
"""
OLD = """
    +-----------------------------------------------------------------------------+
    | NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
    |-------------------------------+----------------------+----------------------+
    | GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
    | Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
    |                               |                      |               MIG M. |
    |===============================+======================+======================|
    |   0  Tesla V100-SXM2...  Off  | 00000000:A1:00.0 Off |                    0 |
    | N/A   41C    P0    56W / 300W |      0MiB / 32768MiB |      0%      Default |
    |                               |                      |                  N/A |
    +-------------------------------+----------------------+----------------------+
"""


def test_table_of_today() -> None:
    found = values(NEW)
    assert (3, "driver", "580.82.07") in found and (3, "cuda_ceiling", "13.0") in found
    assert (9, "gpu", Gpu(0, "NVIDIA H100 80GB HBM3", None, 81559, 61204, 0, False)) in found
    assert (13, "gpu", Gpu(1, "NVIDIA H100 80GB HBM3", None, 81559, 1, 2, True)) in found
    assert named(NEW, "gpu_process") == [("python3", 61192)]


def test_table_of_old_drivers() -> None:
    assert named(OLD, "driver") == ["525.60.13"]
    assert named(OLD, "gpu") == [Gpu(0, "Tesla V100-SXM2...", None, 32768, 0, 0, None)]


@pytest.mark.parametrize("ceiling", ["N/A", "ERR!"])
def test_ceiling_that_is_none(ceiling: str) -> None:
    text = f"| NVIDIA-SMI 470.57.02   Driver Version: 470.57.02   CUDA Version: {ceiling}     |"
    assert named(text, "driver") == ["470.57.02"] and named(text, "cuda_ceiling") == []


def test_err_in_a_row_is_a_fault_of_that_gpu() -> None:
    text = NEW.replace("115W /  700W", "ERR! /  700W")
    assert named(text, "gpu_fault") == ["GPU 0: nvidia-smi shows ERR!"]


def test_csv_with_header() -> None:
    text = """
        driver_version, name, memory.total [MiB]
        580.95.05, NVIDIA B200, 183359 MiB
        570.172.08, NVIDIA B200, 183359 MiB
    """
    assert named(text, "driver") == ["580.95.05", "570.172.08"]
    assert named(text, "gpu") == [Gpu(None, "NVIDIA B200", None, 183359)] * 2
    assert picture(text)["driver"] == "570.172.08", "the host that lags behind decides"


def test_csv_without_header_and_units() -> None:
    assert named("580.95.05, NVIDIA B200, 183359 MiB\n", "driver") == ["580.95.05"]
    asked = "$ nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits\nNVIDIA H20, 97871\n"
    assert named(asked, "gpu") == [Gpu(None, "NVIDIA H20", None, 97871)]


def test_csv_of_several_nodes_repeats_the_header() -> None:
    text = "index, name\n0, NVIDIA H200\nindex, name\n0, NVIDIA H200\n"
    assert named(text, "gpu") == [Gpu(0, "NVIDIA H200")] * 2


@pytest.mark.parametrize("cell", ["[Unknown Error]", "[GPU requires reset]", "[GPU is lost]"])
def test_csv_of_a_gpu_in_trouble(cell: str) -> None:
    text = f"driver_version, name, memory.total [MiB]\n{cell}, NVIDIA H200, 143771 MiB\n"
    assert named(text, "gpu_fault") == [f"nvidia-smi answers {cell}"]
    assert named(text, "driver") == [] and named(text, "gpu") == []


def test_list_and_partitions() -> None:
    text = """
        GPU 0: NVIDIA A30 (UUID: GPU-0a0a0a0a-1111-2222-3333-444444444444)
          MIG 1g.6gb      Device  0: (UUID: MIG-5b5b5b5b-1111-2222-3333-444444444444)
        GPU 1: NVIDIA A30 (UUID: GPU-0b0b0b0b-1111-2222-3333-444444444444)
    """
    one, two = named(text, "gpu")
    assert (one.index, one.mig, two.index, two.mig) == (0, True, 1, None)
    assert picture(text)["mig"] is True


def test_long_listing() -> None:
    text = """
        ==============NVSMI LOG==============

        Timestamp                                 : Wed Nov 18 09:40:00 2026
        Driver Version                            : 580.82.07
        CUDA Version                              : 13.0

        Attached GPUs                             : 2
        GPU 00000000:19:00.0
            Product Name                          : NVIDIA B200
            GPU UUID                              : GPU-0c0c0c0c-1111-2222-3333-444444444444
            GPU Recovery Action                   : Reset
            MIG Mode
                Current                           : Disabled
                Pending                           : Enabled
            Fabric
                State                             : In Progress
                Status                            : N/A
            FB Memory Usage
                Total                             : 183359 MiB
                Used                              : 5 MiB
            ECC Errors
                Volatile
                    SRAM Uncorrectable Parity     : 0
                    DRAM Uncorrectable            : 7
        GPU 00000000:3B:00.0
            Product Name                          : NVIDIA B200
    """
    assert (4, "driver", "580.82.07") in values(text) and (5, "cuda_ceiling", "13.0") in values(text)
    uuid = "GPU-0c0c0c0c-1111-2222-3333-444444444444"
    assert named(text, "gpu") == [Gpu(0, "NVIDIA B200", uuid, 183359, 5, 7, False), Gpu(1, "NVIDIA B200")]
    assert named(text, "fabric") == ["In Progress"]
    assert named(text, "gpu_fault") == ["GPU 0 asks for recovery: Reset"]


def test_topology() -> None:
    text = (
        "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
        "GPU0\t X \tNV18\tPIX\t0-47\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t0-47\t0\t\tN/A\n"
        "NIC0\tPIX\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
    )
    assert named(text, "topology_gpus") == [2] and named(text, "nvlink") == [True, True]
    assert named(text, "nic") == ["mlx5_0"]
    assert named(text.replace("NV18", "SYS"), "nvlink") == [False, False]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n", "nvml_fault"),
        ("Failed to initialize NVML: Unknown Error\n", "nvml_fault"),
        ("Failed to initialize NVML: Insufficient Permissions\n", "nvml_fault"),
        ("Failed to initialize NVML: Function Not Found\n", "nvml_fault"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure\n", "nvml_fault"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure\n", "nvml_fault"),
        ("No devices were found\n", "nvml_fault"),
        ("bash: line 1: nvidia-smi: command not found\n", "nvml_fault"),
        (
            'OCI runtime exec failed: exec failed: exec: "nvidia-smi": executable file not found in $PATH\n',
            "nvml_fault",
        ),
        ("Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error\n", "gpu_fault"),
        (
            "Unable to determine the device handle for GPU0: 0000:3B:00.0: GPU is lost.  Reboot the system\n",
            "gpu_fault",
        ),
    ],
)
def test_broken_forms(text: str, name: str) -> None:
    assert [(fact.name, fact.line) for fact in facts(text) if fact.name != "nvml_library"] == [(name, 1)]


def test_the_library_version_of_a_mismatch() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n"
    assert named(text, "nvml_library") == ["550.54"]

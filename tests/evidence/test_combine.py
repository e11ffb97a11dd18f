"""Several outputs, one picture."""

import pytest

from k3triage.evidence import read_evidence
from k3triage.evidence.combine import combine
from tests.evidence.helpers import picture


def listing(node: int, count: int) -> str:
    rows = [f"GPU {i}: NVIDIA B200 (UUID: GPU-0000000{node}-000{i}-0000-0000-000000000000)" for i in range(count)]
    return "\n".join(rows) + "\n"


def query(count: int, header: bool = True) -> str:
    rows = [f"{i}, NVIDIA B200, 183359 MiB" for i in range(count)]
    return "\n".join((["index, name, memory.total [MiB]"] if header else []) + rows) + "\n"


def test_gpus_of_two_nodes_add_up() -> None:
    found = picture(listing(1, 8), listing(2, 8))
    assert (found["gpu_count"], found["gpus_per_host"], found["gpu_type"]) == (16, 8, "b200")


def test_the_same_node_twice_counts_once() -> None:
    assert picture(listing(1, 8), listing(1, 8))["gpu_count"] == 8


def test_two_commands_of_one_node_count_once() -> None:
    found = picture(listing(1, 8), query(8))
    assert found["gpu_count"] == 8


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("b.tar.gz/host/nvidia-smi.txt", "b.tar.gz/docker-k3/nvidia-smi.txt", 4),
        ("a.tar.gz/host/nvidia-smi.txt", "b.tar.gz/host/nvidia-smi.txt", 8),
        ("bundle/host/nvidia-smi.txt", "bundle/docker-k3/nvidia-smi.txt", 4),
        ("host/smi.txt", "container/smi.txt", 4),
        ("a/smi.txt", "b/smi.txt", 8),
    ],
)
def test_host_and_container_of_a_bundle_are_one_node(one: str, other: str, count: int) -> None:
    found = combine([fact for name in (one, other) for fact in read_evidence(name, query(4))])
    assert found["gpu_count"].value == count


def test_nodes_told_apart_by_prompts() -> None:
    text = f"root@n1:~# nvidia-smi -L\n{listing(1, 4)}root@n2:~# nvidia-smi -L\n{listing(2, 4)}"
    found = picture(text)
    assert (found["gpu_count"], found["gpus_per_host"]) == (8, 4)


def test_nodes_told_apart_by_file_headings() -> None:
    text = f"==> node1/smi.csv <==\n{query(4)}\n==> node2/smi.csv <==\n{query(4)}"
    found = picture(text)
    assert (found["gpu_count"], found["gpus_per_host"], found["gpu_memory"]) == (8, 4, 8 * 183359)


def test_mixed_types() -> None:
    other = listing(2, 8).replace("B200", "H200")
    assert picture(listing(1, 8), other)["gpu_mixed"] is True
    assert picture(listing(1, 8))["gpu_mixed"] is False


def test_types_that_contain_each_other() -> None:
    for name, kind, arch in (
        ("NVIDIA GB200", "gb200", "blackwell"),
        ("NVIDIA GH200 480GB", "gh200", "hopper"),
        ("Tesla T4", "t4", "turing"),
    ):
        found = picture(f"GPU 0: {name} (UUID: GPU-00000001-0000-0000-0000-000000000000)")
        assert (found["gpu_type"], found["gpu_arch"], found["gpu_vendor"]) == (kind, arch, "nvidia")


def test_peermem_is_absent_only_where_the_list_can_show_it() -> None:
    whole = "Module                  Size  Used by\nnvidia              56598528  1 nvidia_uvm\nmlx5_ib               434176  0\n"
    assert picture(whole)["nvidia_peermem"] is False
    assert picture(whole.replace("1 nvidia_uvm", "2 nvidia_uvm,nvidia_peermem"))["nvidia_peermem"] is True
    assert "nvidia_peermem" not in picture("$ lsmod | grep mlx5\nmlx5_ib               434176  0\n")
    assert picture("$ lsmod | grep -E 'mlx5|nvidia'\nnvidia 56598528 0\n")["nvidia_peermem"] is False


def test_rdma_needs_an_active_port() -> None:
    port = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_{} (1)\n\t\t\tlink_layer:\t\tEthernet\n"
    assert picture(port.format("DOWN"))["rdma"] is False
    assert picture(port.format("DOWN"), port.format("ACTIVE"))["rdma"] is True
    assert picture("No IB devices found\n")["rdma"] is False

"""Who said it: ranks, nodes, GPUs and containers of lines, from headers, rank lines, file names and evidence."""

import pytest

from k3triage.diagnose.identity import Cast
from k3triage.diagnose.parsed import ParsedInput
from k3triage.model.records import RawLine
from k3triage.pipeline import parse_lines


def parsed(name: str, text: str) -> ParsedInput:
    data = text.encode()
    lines: list[RawLine] = []
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        lines.append(RawLine(offset, number, line))
        offset += len(line) + 1
    return parse_lines(name, data[:4096], lines)


def test_vllms_rank_line_tells_all_ranks_of_a_process() -> None:
    text = (
        "(Worker_TP1 pid=91) INFO 11-20 10:00:00 [parallel_state.py:1923] rank 5 in world size 8 is assigned as DP rank 0, PP rank 1, TP rank 1, EP rank 1\n"
        "(Worker_TP1 pid=91) ERROR 11-20 10:00:09 [x.py:1] something\n"
    )
    one = parsed("node1.log", text)
    cast = Cast([one])
    who = cast.who(0, one.lines[1])
    assert (who.rank, who.node, who.process, who.pid) == (5, "node1", "Worker_TP1", 91)
    assert dict(who.groups) == {"dp": 0, "pp": 1, "tp": 1, "ep": 1}
    assert cast.world == 8
    assert cast.ranks == {5}


def test_nccls_lines_tell_rank_gpu_node_and_communicator() -> None:
    text = (
        "gpu-7:812:819 [3] NCCL INFO Bootstrap: Using eth0:10.24.0.17<0>\n"
        "gpu-7:812:819 [3] NCCL INFO ncclCommInitRank comm 0x55 rank 11 nranks 16 cudaDev 3 nvmlDev 3 busId 4b000 commId 0x9c1 - Init COMPLETE\n"
    )
    one = parsed("out.txt", text)
    cast = Cast([one])
    who = cast.who(0, one.lines[1])
    assert (who.rank, who.gpu, who.node) == (11, 3, "gpu-7")
    assert cast.inputs[0].communicators == {"0x9c1"}
    assert "10.24.0.17" in cast.nodes


@pytest.mark.parametrize(
    ("name", "node", "rank"),
    [
        ("logs/node3/vllm.log", "node3", None),
        ("rank12.log", None, 12),
        ("k3-worker-2-dmesg.log", "k3-worker-2", None),
        ("dmesg-node4.txt", "node4", None),
        ("k3-1.log", "k3-1", None),
        ("vllm.log", None, None),
        ("vllm-0.27.1.log", None, None),
    ],
)
def test_file_names_tell_node_or_rank(name: str, node: str | None, rank: int | None) -> None:
    one = parsed(name, "something\n")
    who = Cast([one]).who(0, one.lines[0])
    assert (who.node, who.rank) == (node, rank)


def test_a_kernel_log_has_a_node_and_no_rank() -> None:
    one = parsed(
        "node2-dmesg.log", "[   12.100001] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    cast = Cast([one])
    who = cast.who(0, one.lines[0])
    assert who.kernel
    assert who.name == "kernel on node2"
    assert cast.speaking == []


@pytest.mark.parametrize(
    "line",
    [
        '        "Id": "' + "ab" * 32 + '",',
        "    Container ID:  containerd://" + "ab" * 32,
        "ab" * 6 + '   vllm/vllm-openai:k3   "vllm serve"   2 hours ago   Up 2 hours   k3',
        "2026-11-02T03:04:05.1Z container die " + "ab" * 32 + " (exitCode=137)",
    ],
)
def test_evidence_names_the_container(line: str) -> None:
    one = parsed("state.txt", line + "\n")
    assert Cast([one]).inputs[0].containers == {"ab" * 6}


def test_two_files_of_one_node_share_a_name() -> None:
    log = parsed("node1.log", "gpu-b:5:6 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.12<0>\n")
    kernel = parsed("node1-dmesg.log", "[    1.000001] NVRM: loading\n")
    cast = Cast([log, kernel])
    assert cast.inputs[0].nodes & cast.inputs[1].nodes == {"node1"}

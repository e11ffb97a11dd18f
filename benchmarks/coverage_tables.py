"""Reads the tables of a folder of facts as rows of example log text for coverage.py."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from k3triage.grammar import event, to_line
from k3triage.ingest import Unwrapper
from k3triage.model.enums import Layer
from k3triage.model.records import RawLine

LAYERS = {layer.value for layer in Layer}
Samples = dict[str, Any]

# What a placeholder of a shape stands for; the first that fits is used.
_FILL: tuple[tuple[str, str], ...] = (
    (r"<BUS>", "0000:3b:00.0"),
    (r"<IMG>", "registry.example/vllm/vllm-openai:v0.27.1"),
    (r"<PATH>", "/models/m"),
    (r"<(?:SRC|DST|CMD)>", "/opt/start.sh"),
    (r"<HOME>", "/home/op"),
    (r"<IP>", "10.20.0.3"),
    (r"<P>", "8000"),
    (r"<ARCH>", "arm64"),
    (r"<(?:COMM)>", "VLLM::Worker"),
    (r"<(?:PID|N|M|UID)>", "4120"),
    (r"<port>", "<40211>"),
    (r"<V>", "13.0"),
    (r"<[A-Za-z][\w /,]*>", "abc123"),
    (r"\{\.\.\}|\{\}", "{'a': 1}"),
    (r"\{n\}", "1"),
    (r"\{[^}]{1,20}\}", "demo"),
    (r"0x\.\.", "0x7f3a"),
    (r"\bIP\b", "10.20.0.4"),
    (r"\bmlx5_N\b", "mlx5_1"),
    (r"\bnccl-X+\b", "nccl-Ab12Cd"),
    (r"\bVllmWorker-N\b", "VllmWorker-1"),
    (r"GPU N\b", "GPU 0"),
    (r"(?<=[:=( #])N(?=[\s,.)/:\]]|$)", "4"),
    (r"\bN\b", "4"),
    (r"\b(?:X|F|T|R|Y|B|A|M)(?= GiB|/T)", "12.5"),
    (r" \.\.\. | \.\. ", " and so on "),
    (r"\.\.(?=kB)", "1024"),
)
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|OutOfResources)\b(?:: |$)")
_VLLM = "(EngineCore_DP0 pid=512) "
_NCCL = "[2026-11-02 08:15:41] node7:4120:4388 [3] "


@dataclass
class Row:
    """One known message. role: root, cascade or benign. texts: log text of each wording.

    nccl_file: the source file that a NCCL line must name. reviewed: its text, layer or role was written by hand.
    """

    name: str
    role: str
    layers: set[str]
    texts: list[str]
    nccl_file: str | None = None
    reviewed: bool = False

    def event_problem(self, text: str) -> str | None:
        """What the typed event of a NCCL warning lacks."""
        if self.nccl_file is None:
            return None
        unwrapper = Unwrapper("example", text.encode())
        first = [*unwrapper.feed(RawLine(0, 1, text.split("\n", 1)[0].encode())), *unwrapper.close()][0]
        made = event(to_line(first)).model_dump()
        if made["kind"] != "nccl":
            return f"an event of kind {made['kind']}"
        if not (made.get("location") or "").startswith(f"{self.nccl_file}:") or made.get("function") != "someFunction":
            return f"location {made.get('location')}, function {made.get('function')}"
        return None


def fill(shape: str) -> str:
    """A shape with example values in place of its placeholders."""
    for pattern, value in _FILL:
        shape = re.sub(pattern, lambda _, value=value: value, shape)  # type: ignore[misc]
    return re.sub(r"\[([^\]\[]*[a-z,][^\]\[]*)\](?!\S)", r"\1", shape)


def framed(shape: str, *, nccl: bool = False) -> str:
    """Log text as the program that says it prints it."""
    text = shape.strip()
    if nccl:
        return f"{_NCCL}init.cc:77 NCCL WARN {text}\n"
    level = re.match(r"(DEBUG|INFO|WARNING|ERROR) (?!:)", text)
    if level:
        return f"{_VLLM}{level.group(1)} 11-02 08:15:41 [config.py:77] {text[level.end() :]}\n"
    place = re.match(r"\[(\w+\.py):\d+\] ", text)
    if place:
        return f"{_VLLM}ERROR 11-02 08:15:41 [{place.group(1)}:77] {text[place.end() :]}\n"
    if _EXCEPTION.match(text):
        file = "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py"
        head = (
            f'{_VLLM}Traceback (most recent call last):\n{_VLLM}  File "{file}", line 77, in run\n{_VLLM}    work()\n'
        )
        return f"{head}{_VLLM}{text}\n"
    return text + "\n"


def markdown_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Cells of the tables' rows with the number of their line; an escaped bar stands for itself."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("| ") and not set(line) <= set("|- "):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            yield number, [cell.strip().replace("\\|", "|") for cell in cells]


def sample(samples: Samples, table: str, shape: str) -> dict[str, Any] | None:
    """The written-out text of a row, found by how its shape begins."""
    plain = shape.strip("` ")
    return next((entry for entry in samples.get(table, []) if plain.startswith(entry["row"])), None)


def _layers(cell: str) -> set[str]:
    return {word for word in re.findall(r"[a-z_]+", cell) if word in LAYERS}


def _role(cell: str) -> str:
    word = cell.strip().lower()
    if word.startswith(("benign", "b ", "b,")) or word in ("b", "info", "variant"):
        return "benign"
    if word.startswith(("cascade", "header", "context", "c ", "c:", "undecided", "symptom")) or word == "c":
        return "cascade"
    return "root"


def _made(table: str, number: int, shape: str, role: str, layers: set[str], samples: Samples, nccl: bool) -> Row | None:
    own = sample(samples, table, shape)
    if own is not None:
        if own.get("skip"):
            return None
        role = own.get("role", role)
        layers = layers | set(own.get("layers", ()))
        texts = list(own["texts"])
    else:
        parts = re.findall(r"`([^`]+)`", shape) if "`" in shape and table != "vllm" else [shape]
        texts = [
            framed(fill(piece), nccl=nccl) for part in parts for piece in re.split(r" / | \| |(?<=\w)\|(?=\w)", part)
        ]
    return Row(f"{table} line {number} {shape[:90]}", role, layers, texts, reviewed=own is not None)


def vllm(facts: Path, samples: Samples) -> Iterator[Row]:
    """Messages of vLLM and of what it runs on."""
    for number, cells in markdown_rows(facts / "vllm_taxonomy.md"):
        if len(cells) < 6 or cells[0] == "message shape":
            continue
        row = _made("vllm", number, cells[0], _role(cells[5]), _layers(cells[2]), samples, False)
        if row is not None:
            yield row


def docker(facts: Path, samples: Samples) -> Iterator[Row]:
    """Messages of Docker, Kubernetes, the NVIDIA toolkit and the kernel's OOM killer."""
    for number, cells in markdown_rows(facts / "docker_taxonomy.md"):
        if len(cells) < 7 or not cells[0].isdigit():
            continue
        row = _made("docker", number, cells[1], _role(cells[5]), _layers(cells[2]), samples, False)
        if row is not None:
            yield row


def nccl(facts: Path, samples: Samples) -> Iterator[Row]:
    """Messages of NCCL, torch's process groups, NVSHMEM, UCX and NIXL."""
    for number, cells in markdown_rows(facts / "nccl_taxonomy.md"):
        if cells[0] == "signature" or number < 44:
            continue
        if len(cells) >= 7:
            layers, kind = _layers(cells[2]), cells[5]
        elif len(cells) == 3 and number < 106:
            layers, kind = _layers(cells[1]), cells[1]
        else:
            layers, kind = _layers(" ".join(cells[1:])), cells[-1]
        row = _made("nccl", number, cells[0], _role(kind), layers or {"nccl"}, samples, len(cells) >= 7)
        if row is not None:
            yield row


def driver(facts: Path, samples: Samples) -> Iterator[Row]:
    """What nvidia-smi and NVML say."""
    for number, cells in markdown_rows(facts / "driver_taxonomy.md"):
        if len(cells) == 4 and cells[0] != "output":
            row = _made("driver", number, cells[0], "root", _layers(cells[1]), samples, False)
            if row is not None:
                yield row


def kimi(facts: Path, samples: Samples) -> Iterator[Row]:
    """Rules for Kimi K3, each with its own text: the facts tell them in prose."""
    for entry in samples["kimi"]:
        yield Row(f"kimi {entry['row']}", entry.get("role", "root"), set(entry["layers"]), entry["texts"], None, True)


_PRINTF = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?([diuspxXfgceo])")
_NUMBERS = {"d": "3", "i": "3", "u": "3", "p": "0x7f3a10", "x": "1f", "X": "1F", "f": "1.5", "g": "1.5", "c": "c"}
# Layers that say the same as the table's own guess; the table was filled by patterns, row by row unread.
_SAME = {
    "gpu_or_host_alloc_failed": {"startup_oom", "inference_oom", "host_oom"},
    "p2p_unavailable": {"cuda", "nccl"},
}


def _printf(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        before, after = text[: match.start()], text[match.end() :]
        if match.group(1) != "s":
            return "28" if before.endswith("(") and "error: %s" in before else _NUMBERS.get(match.group(1), "3")
        if before.endswith("Error while "):
            return "creating"
        if re.search(r"(?:shm|shared memory|segment|extend|map) $", before):
            return "/dev/shm/nccl-Ab12Cd"
        if re.search(r"error:? $", before) and after.startswith((" (", "")) and "shm" in before + text.lower():
            return "No space left on device"
        return "mlx5_1"

    return _PRINTF.sub(value, text.replace("%%", "%"))


def warns(facts: Path, samples: Samples) -> Iterator[Row]:
    """NCCL's WARN formats: each gives an event with file, line and function, and a cause."""
    with (facts / "nccl_warns.csv").open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            role = {"depends": "root"}.get(record["kind"], record["kind"])
            layers = {record["layer"]} | _SAME.get(record["cause"], set())
            own = sample(samples, "warns", record["format"]) or {}
            text = _printf(record["format"]).replace("\\n", "\n")
            place = f"{record['file']}:{record['line_in_last_version'] or 1} (someFunction)"
            yield Row(
                f"{record['file']} {record['format'][:100]}",
                own.get("role", role),
                layers | set(own.get("layers", ())),
                [f"{_NCCL}{place} NCCL WARN {text}\n"],
                record["file"],
                bool(own),
            )


def xid(facts: Path, samples: Samples) -> Iterator[Row]:
    """Xid codes as the kernel prints them, with and without process."""
    with (facts / "xid.csv").open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            payload = record["example_payload"] or record["meaning"] or "unit 3"
            payload = re.sub(r"^pid='?[^,]*'?, name=[^,]*, ", "", payload)
            payload = _printf(re.sub(r"<[^>]*>", "0x1f", payload))
            head = f"[  163.401746] NVRM: Xid (PCI:0000:3b:00): {record['code']}, "
            role = {"info": "benign"}.get(record["role"], record["role"])
            own = sample(samples, "xid", record["code"] + ":") or {}
            yield Row(
                f"Xid {record['code']} {record['meaning']}",
                own.get("role", role),
                # The kernel log alone cannot tell a fault of a program's kernel from one of the board.
                {record["layer"], "hardware"},
                [f"{head}pid=1234, name=python3, {payload}\n", f"{head}{payload}\n"],
                reviewed=bool(own),
            )


def cuda(facts: Path, samples: Samples) -> Iterator[Row]:
    """CUDA errors as torch, NCCL and C code print them."""
    with (facts / "cuda_errors.csv").open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            text = record["runtime_string_cuda13.5"] or record["runtime_string_cuda12.9"]
            name = record["runtime_name"]
            if record["layer"] == "none" or not name or not text or text.startswith("unrecognized"):
                continue
            torch = framed(f"torch.AcceleratorError: CUDA error: {text}")
            own = sample(samples, "cuda", record["code"] + ":") or {}
            layers = set(record["layer"].split("|")) | set(own.get("layers", ()))
            yield Row(f"CUDA {record['code']} {name}", "root", layers, [torch], reviewed=bool(own))


TABLES: dict[str, Callable[[Path, Samples], Iterator[Row]]] = {
    "vllm_taxonomy": vllm,
    "docker_taxonomy": docker,
    "nccl_taxonomy": nccl,
    "driver_taxonomy": driver,
    "kimi_facts": kimi,
    "nccl_warns": warns,
    "xid": xid,
    "cuda_errors": cuda,
}

"""Cuts a text into the outputs of single commands, at prompts and headings."""

import re

from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass, field

# fmt: off
_TOOLS = (
    "nvidia-smi", "docker", "podman", "nerdctl", "kubectl", "vllm", "pip", "pip3", "uv", "conda", "python", "python3",
    "env", "printenv", "export", "lsmod", "ip", "ibv_devinfo", "ibv_devices", "ibstat", "ibstatus", "ldconfig", "nvcc",
    "ulimit", "df", "free", "uname", "cat", "echo", "dmesg", "journalctl",
)
# fmt: on
_COMMAND = (
    rf"(?P<command>(?:sudo\s+)?(?:/[\w./-]{{1,100}}/)?(?:{'|'.join(map(re.escape, _TOOLS))})(?:\s[^\n]{{0,1000}})?)$"
)
# "$ nvidia-smi", "root@node1:/work# nvidia-smi", "+ nvidia-smi" (bash -x), "(venv) me@host ~ % pip list"
_PROMPT = lazy(
    r"(?:\([\w.-]{1,40}\)\s*)?(?:\[?[\w.-]{1,64}@(?P<host>[\w.-]{1,64})[^$#%>\n]{0,200})?[$#%>+]\s+" + _COMMAND
)
# "=== nvidia-smi ===", "## node1: lsmod", "[nvcc --version]", "--- df -h ---"
_HEADING = lazy(r"(?:[=#*~-]{2,60}|\[|#)\s*(?:(?P<host>[\w.-]{1,64}):\s+)?" + _COMMAND.replace(r"{0,1000}", "{0,200}"))
_FILE = lazy(r"==> (?P<name>[^\n]{1,300}) <==$")
_TRAILER = lazy(r"[\s=#*~\]:-]+$")
_HOST_FOLDER = lazy(r"(?:^|/)((?:node|host|rank|worker)[\w.-]*)/")
_MARKS = frozenset("$#%>+=*~-[(")
_LONGEST = 4096


@dataclass(slots=True)
class Section:
    """Output of one command, or a text whose command is not known.

    rows: (physical line, text without CR and trailing blanks; very long lines are cut). command: as typed, or None.
    """

    rows: list[tuple[int, str]] = field(default_factory=list)
    command: str | None = None
    host: str | None = None

    def ran(self, *words: str) -> bool:
        """Whether the command is known and holds one of these words."""
        return self.command is not None and any(word in self.command for word in words)


def sections(text: str) -> list[Section]:
    """The text in order; its first section has no command unless the text begins with one."""
    current = Section()
    found = [current]
    for number, line in enumerate(text.split("\n"), 1):
        row = line[:_LONGEST].rstrip()
        heading = _heading(row.lstrip()) if row else None
        if heading is None:
            current.rows.append((number, row))
            continue
        command, host = heading
        current = Section([], command, host or (current.host if command is not None else None))
        found.append(current)
    for section in found:
        _dedent(section)
    return [section for section in found if section.rows or section.command]


def _dedent(section: Section) -> None:
    """Takes off what all rows are indented by, as in a block of an issue or a chat."""
    indent = min((len(row) - len(row.lstrip(" ")) for _, row in section.rows if row), default=0)
    if indent:
        section.rows = [(number, row[indent:]) for number, row in section.rows]


def _heading(row: str) -> tuple[str | None, str | None] | None:
    """(command, host) where the line begins a section."""
    first = row[:1]
    if first not in _MARKS and not ("@" in row[:80] and first.isalnum()):
        return None
    if first == "=" and (file := _FILE.match(row)) is not None:
        folder = _HOST_FOLDER.search(file.group("name"))
        return None, folder.group(1) if folder else None
    prompt = _PROMPT.match(row)
    if prompt is not None:
        return prompt.group("command"), prompt.group("host")
    if first in "=#*~-[":
        heading = _HEADING.match(_TRAILER.sub("", row))
        if heading is not None:
            return heading.group("command"), heading.group("host")
    return None


def covers(command: str | None, whole: bool) -> str:
    """What a list can prove absent: "all", else the words of its grep; without either, nothing ("")."""
    if whole or (command is not None and "grep" not in command):
        return "all"
    return " ".join(sorted(set(re.findall(r"[A-Za-z]\w+", (command or "").partition("grep")[2])))) if command else ""

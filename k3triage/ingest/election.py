"""Elects the envelopes that one line alone cannot prove, over the first lines of a file."""

from collections import Counter
from collections.abc import Sequence

from k3triage.ingest.draft import Draft
from k3triage.ingest.envelopes import compose, kubernetes, labels, stamps
from k3triage.model.lazy import lazy
from k3triage.model.shapes import dataclass, field

# fmt: off
_NO_HOST = frozenset(
    (
        "debug", "info", "warn", "warning", "error", "critical", "fatal", "trace", "traceback", "exception",
        "docker", "podman", "kernel", "systemd", "nohup", "bash", "sh", "python", "python3", "usage", "note",
        "hint", "status", "error:", "srun", "slurmstepd", "cat", "ls", "events", "message", "failures", "error",
        "from",
    )
)
# fmt: on


_HOST_MARK = lazy(r"[\d.-]")


@dataclass(slots=True)
class Elected:
    """What the file was found to be wrapped in.

    pairs: stern's pods and containers; hosts: names before a colon; tags: first words that label each line.
    """

    compose: bool = False
    slurm: bool = False
    desktop: bool = False
    pairs: set[tuple[str, str]] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)

    def any(self) -> bool:
        """Whether anything was elected."""
        return bool(self.compose or self.slurm or self.desktop or self.pairs or self.hosts or self.tags)


def elect(texts: Sequence[str], elected: Elected) -> bool:
    """Look at lines from which all else was taken off; add at most one kind to what is elected. True if one was."""
    lines = [text for text in texts if text.strip()]
    if not lines:
        return False
    half = max(2, (len(lines) + 1) // 2)
    return (
        _compose(lines, elected)
        or _stern(lines, elected)
        or _slurm(lines, elected)
        or _desktop(lines, elected)
        or _hosts(lines, half, elected)
        or _tags(lines, elected)
    )


def _compose(lines: Sequence[str], elected: Elected) -> bool:
    if elected.compose:
        return False
    names = Counter(name for text in lines if (name := compose.name(text)) is not None)
    repeated = sum(count for count in names.values() if count >= 2)
    # A one-line log of one service still tells itself by the two blanks before the bar.
    single = any(text.startswith(f"{name}  |") for text in lines for name in names)
    elected.compose = repeated >= max(2, len(lines) * 0.3) or (single and sum(names.values()) >= len(lines) * 0.3)
    return elected.compose


def _stern(lines: Sequence[str], elected: Elected) -> bool:
    if elected.pairs:
        return False
    elected.pairs |= {pair for text in lines if (pair := kubernetes.stern_marker(text)) is not None}
    if not elected.pairs:
        counts = Counter(pair for text in lines if (pair := kubernetes.stern_pair(text)) is not None)
        if counts and counts.total() >= max(3, len(lines) * 0.6):
            elected.pairs |= {pair for pair, count in counts.items() if count >= 2}
    return bool(elected.pairs)


def _slurm(lines: Sequence[str], elected: Elected) -> bool:
    if elected.slurm:
        return False
    tasks = Counter(match[1] for text in lines if (match := labels.SLURM.match(text)) is not None)
    # A numbered list counts up; a task's number comes back.
    comes_back = any(count >= 2 for count in tasks.values())
    elected.slurm = comes_back and tasks.total() >= max(2, len(lines) * 0.3)
    return elected.slurm


def _desktop(lines: Sequence[str], elected: Elected) -> bool:
    if elected.desktop or len(lines) < 2:
        return False
    scratch = Draft(0, 0, "")
    elected.desktop = all(stamps.desktop(text, scratch) is not None for text in lines)
    return elected.desktop


def _hosts(lines: Sequence[str], half: int, elected: Elected) -> bool:
    if elected.hosts:
        return False
    hosts = Counter(
        match[1]
        for text in lines
        if (match := labels.HOST.match(text)) is not None
        and match[1].lower() not in _NO_HOST
        # "NVRM:" and the like name no host; hosts are numbered or have parts.
        and _HOST_MARK.search(match[1]) is not None
        and not match[1].isdigit()
        and not match[1].endswith(("Error", "Exception", "Warning"))
    )
    often = {name for name, count in hosts.items() if count >= 2}
    if sum(hosts[name] for name in often) >= max(3, half):
        elected.hosts |= often
    return bool(elected.hosts)


def _tags(lines: Sequence[str], elected: Elected) -> bool:
    if elected.tags or len(lines) < 3:
        return False
    for pattern in (labels.TAB, labels.WORD):
        words: Counter[str] = Counter()
        proven: Counter[str] = Counter()
        for text in lines:
            match = pattern.match(text)
            if match is None:
                continue
            words[match[1]] += 1
            if labels.CERTAIN_TEXT.match(text, match.end()):
                proven[match[1]] += 1
        found = {word for word, count in words.items() if count >= 2 and (proven[word] or "/" in word)}
        if len(found) <= 64 and sum(words[word] for word in found) >= len(lines) * 0.8:
            elected.tags |= found
            return True
    return False

"""What a GPU's name tells: its type, generation and vendor."""

import re

from k3triage.model.lazy import lazy

# Pattern in the name, type, generation. The first that fits wins, so that GB200 stands before B200.
_TYPES: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (lazy(pattern, re.IGNORECASE), kind, generation)
    for pattern, kind, generation in (
        (r"\bGB300\b", "gb300", "blackwell"),
        (r"\bGB200\b", "gb200", "blackwell"),
        (r"\bGB10\b", "gb10", "blackwell"),
        (r"\bB300\b", "b300", "blackwell"),
        (r"\bB200\b", "b200", "blackwell"),
        (r"\bB100\b", "b100", "blackwell"),
        (r"RTX PRO \d{4} Blackwell", "rtx_pro_blackwell", "blackwell"),
        (r"RTX 50\d0", "rtx_50", "blackwell"),
        (r"\bGH200\b", "gh200", "hopper"),
        (r"\bH200\b", "h200", "hopper"),
        (r"\bH100\b", "h100", "hopper"),
        (r"\bH800\b", "h800", "hopper"),
        (r"\bH20\b", "h20", "hopper"),
        (r"\bL40S?\b|\bL4\b|\bL20\b", "l40", "ada"),
        (r"RTX 40\d0|RTX \d{4} Ada", "rtx_40", "ada"),
        (r"\bA100\b", "a100", "ampere"),
        (r"\bA800\b", "a800", "ampere"),
        (r"\bA30\b", "a30", "ampere"),
        (r"\bA(?:10G?|40|16|2)\b|RTX A\d{4}|RTX 30\d0", "a40", "ampere"),
        (r"\bT4\b|Quadro RTX|RTX 20\d0|TITAN RTX", "t4", "turing"),
        (r"\bV100", "v100", "volta"),
        (r"\bP100\b|\bP40\b|GTX 10\d0", "p100", "pascal"),
        (r"MI355X?|gfx950", "mi355x", "cdna4"),
        (r"MI350X?", "mi350x", "cdna4"),
        (r"MI325X", "mi325x", "cdna3"),
        (r"MI300[XA]|gfx942", "mi300x", "cdna3"),
        (r"MI2[15]0X?|gfx90a", "mi250x", "cdna2"),
    )
)


def gpu_type(name: str) -> tuple[str, str] | None:
    """(type, generation) of a GPU by its name, None where the name is not known."""
    return next(((kind, generation) for pattern, kind, generation in _TYPES if pattern.search(name[:120])), None)


def vendor(name: str, generation: str | None) -> str:
    """nvidia or amd."""
    return "amd" if "AMD" in name or (generation or "").startswith("cdna") else "nvidia"

"""A launch command's words as flags, named as in vLLM's "non-default args"."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

_SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main")
_ALIASES = {
    "tp": "tensor_parallel_size",
    "tensor_parallel_size": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "dcp": "decode_context_parallel_size",
    "ep": "enable_expert_parallel",
    "q": "quantization",
    "O": "compilation_config",
    "n": "nnodes",
    "r": "node_rank",
}


def serves(words: Sequence[str]) -> bool:
    """Whether a command starts a vLLM server, also behind a shell."""
    joined = " ".join(words[:200])
    return (
        "vllm serve" in joined
        or "vllm" in joined.split("/")[-1].split()[:1]
        or any(name in joined for name in _SERVERS)
    )


def flags(words: Sequence[str]) -> dict[str, Any]:
    """Flags of a `vllm serve` command: "--enable-x" is True, "--no-enable-x" False, numbers and JSON are read."""
    if len(words) <= 3 and any("vllm" in word and " " in word for word in words):  # bash -c "vllm serve ..."
        words = split(next(word for word in words if "vllm" in word and " " in word))
    found: dict[str, Any] = {}
    position = 0
    words = list(words)[:2000]
    for marker in ("serve", *_SERVERS):
        if marker in words:
            position = words.index(marker) + 1
            break
    if position and position < len(words) and not words[position].startswith("-"):
        found["model"] = words[position]
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-") or word in ("-", "--"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = _ALIASES.get(name, name).replace("-", "_")
        if equals:
            found[name] = _value(value)
        elif position < len(words) and not _is_flag(words[position]):
            found[name] = _value(words[position])
            position += 1
        elif name.startswith("no_"):
            found[name[3:]] = False
        else:
            found[name] = True
    return found


def split(text: str) -> list[str]:
    """Words of a command as a shell would see them; by blanks where its quotes do not close."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return json.loads(text[:20_000])
    except (ValueError, RecursionError):
        return text

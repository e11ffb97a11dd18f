"""The derived regular expressions of all flat rules, kept in the user's cache so that runs need no Lark."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from k3triage.cache import load_or_make
from k3triage.grammar.loader import fingerprint

# rule: grammar. Headers stand at the start of a record, bodies in a message.
HEADERS = {
    "vllm": "vllm",
    "nccl": "nccl",
    "uvicorn": "logging",
    "basic": "logging",
    "c10d": "logging",
    "klog": "logging",
    "nixl": "logging",
    "dashed": "logging",
    "spaced": "logging",
    "loguru": "logging",
    "raycpp": "logging",
    "bracketed": "logging",
    "trtllm": "logging",
    "tagged": "logging",
    "ucx": "logging",
    "kernel": "kernel",
    "kernel_plain": "kernel",
    "logfmt": "docker",
    "logrus": "docker",
}
BODIES = {
    "stats": "vllm",
    "stats_v0": "vllm",
    "access": "vllm",
    "oom": "torch",
    "oom_old": "torch",
    "oom_process": "torch",
    "oom_allocated": "torch",
    "oom_private": "torch",
    "oom_unallocated": "torch",
    "oom_allowed": "torch",
    "work": "torch",
    "watchdog": "torch",
    "backend": "torch",
    "cuda_error": "torch",
    "xid": "kernel",
    "nvlink5": "kernel",
    "sxid": "kernel",
    "oom_kill": "kernel",
    "killed": "kernel",
    "invoked": "kernel",
    "segfault": "kernel",
    "client_error": "docker",
    "kubelet_event": "docker",
}
# Goes into the cache's key: raise it when derive.py changes what it makes.
_VERSION = "1 "

Match = Callable[[str], re.Match[str] | None]


_FAMILIES = {"headers": HEADERS, "bodies": BODIES}
DERIVED = "derived.json"
"""What a wheel brings along: by family the key, and the pattern of each rule."""


@cache
def _patterns(family: str) -> dict[str, str]:
    key = _key(family)
    packaged: dict[str, str] | None = _packaged().get(family, {}).get(key)
    if packaged is not None:
        return packaged
    found: dict[str, str] = json.loads(load_or_make(family, key, lambda: json.dumps(_derive(family)).encode()))
    return found


def _key(family: str) -> str:
    return _VERSION + fingerprint(*_FAMILIES[family].values())


def _derive(family: str) -> dict[str, str]:
    from k3triage.grammar.derive import derive

    return {rule: derive(grammar, rule) for rule, grammar in _FAMILIES[family].items()}


def derived() -> bytes:
    """The content of `DERIVED`, made anew."""
    return json.dumps({family: {_key(family): _derive(family)} for family in _FAMILIES}).encode()


@cache
def _packaged() -> dict[str, dict[str, dict[str, str]]]:
    try:
        found: dict[str, dict[str, dict[str, str]]] = json.loads((Path(__file__).parent / DERIVED).read_bytes())
    except (OSError, ValueError):
        return {}
    return found


def pattern(rule: str) -> str:
    """Regular expression of a rule, with the names of its fields as groups; it ends where the rule ends."""
    return _patterns("headers" if rule in HEADERS else "bodies")[rule]


@cache
def matcher(rule: str) -> Match:
    """The whole text must fit the rule."""
    return re.compile(pattern(rule) + r"\Z").match


@cache
def finder(rule: str) -> Match:
    """The rule is looked for anywhere in the text."""
    return re.compile(pattern(rule)).search

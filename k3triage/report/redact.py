"""Takes secrets and users' prompts out of a Report. Every text in it passes through here, also flags and paths.

Redaction is best effort on text that follows no format: it knows common shapes of secrets and the names that people
give them. Quantifiers are bounded or exclude what follows them, so that a line costs time linear in its length.
"""

import re
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any

from k3triage.model.report import Report

HIDDEN = "[redacted]"

_SECRET_NAME = (
    r"(?:api[_-]?keys?|(?:access|secret|private|account|encryption|signing|ssh)[_-]?key(?:[_-]?id)?|secret|passwd|password|"
    r"passphrase|pwd|credentials?|authorization|(?:auth|access|refresh|id|bearer|hf|hub|session|security|github|gitlab|"
    r"wandb|ngc|api|bot|sas)[_-]?token|token)"
)
_NAME = re.compile(rf"(?i)^[\w.-]{{0,64}}?{_SECRET_NAME}$")
# Words of models and tokenizers that merely look like the name of a secret.
_MODEL_WORD = re.compile(
    r"(?i)(?:^|[_-])(?:bos|eos|pad|unk|sep|cls|mask|stop|image|video|audio|next|first|last|per)[_-]?token$"
)
_HARMLESS = re.compile(r"(?i)^(?:none|null|true|false|\*+|\[redacted\]|<[^<>]{0,40}>|\$\{?\w+\}?|-?\d{1,6}(?:\.\d+)?)$")
_PAIR = re.compile(
    rf"(?i)(?P<name>(?<![\w.-])[\w.-]{{0,64}}?{_SECRET_NAME})(?P<sep>[\"']?\s{{0,4}}[=:]\s{{0,4}})"
    r"(?P<value>\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[^\s\"',;)}\]]+)"
)
_OPTION = re.compile(rf"(?i)(?P<name>--?[\w-]{{0,64}}?{_SECRET_NAME})(?P<sep>\s{{1,4}})(?P<value>[^\s\"'-][^\s\"']*)")

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s{1,4}[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"\b(hf|ghp|gho|ghs|ghu|ghr|github_pat|glpat|nvapi|pypi|npm)[_-][\w-]{16,}"), rf"\1_{HIDDEN}"),
    (re.compile(r"\b(sk|rk|pk)-[\w-]{16,}"), rf"\1-{HIDDEN}"),
    (re.compile(r"\bxox[abeoprs]-[\w-]{10,}"), f"xox-{HIDDEN}"),
    (re.compile(r"\b(AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b"), rf"\1{HIDDEN}"),
    (re.compile(r"\bAIza[\w-]{35}"), f"AIza{HIDDEN}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), HIDDEN),
    (re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^/\s:@\"']{0,256}:[^/\s@\"']{1,256}@"), rf"\1{HIDDEN}@"),
    (
        re.compile(r"(?i)([?&](?:x-amz-\w{3,20}|sig|signature|token|key|access_token|api_key|se|sp)=)[^&\s\"']+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"), HIDDEN),
)
# What users asked, as request logs print it: quoted (also cut off in mid string) or as token ids.
_PROMPT = re.compile(
    r"(?P<name>\b(?:prompt|prompt_text|negative_prompt|content|messages|input_text)[\"']?\s{0,4}[:=]\s{0,4})"
    r"(?P<value>[bru]?\"(?:[^\"\\]|\\.)*(?:\"|$)|[bru]?'(?:[^'\\]|\\.)*(?:'|$))"
)
_TOKEN_IDS = re.compile(r"(\b(?:prompt_token_ids|prompt_ids|input_ids)[\"']?\s{0,4}[:=]\s{0,4}\[)[^\]]*")
_IPV4 = re.compile(r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_IPV6 = re.compile(r"(?<![\w:.])[0-9a-fA-F:]{0,5}:[0-9a-fA-F:]{0,40}:[0-9a-fA-F:]{0,5}(?![\w:])")


def _hide_value(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    bare = value.strip("\"'")
    if _MODEL_WORD.search(name) or not bare or _HARMLESS.match(bare):
        return match.group()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{match['sep']}{quote}{HIDDEN}{quote}"


def _hide_ipv6(match: re.Match[str]) -> str:
    try:
        address = IPv6Address(match.group())
    except ValueError:  # a time of day, a chain of identifiers
        return match.group()
    return match.group() if address.is_loopback or address.is_unspecified else HIDDEN


def redact_text(text: str, *, addresses: bool = False) -> str:
    """A text without secrets, e-mail addresses and prompts; IP addresses go too where `addresses` is set."""
    text = _PROMPT.sub(lambda m: f"{m['name']}'[redacted {len(m['value'])} characters]'", text)
    text = _TOKEN_IDS.sub(rf"\1{HIDDEN}", text)
    for pattern, replacement in _SHAPES:
        text = pattern.sub(replacement, text)
    text = _OPTION.sub(_hide_value, _PAIR.sub(_hide_value, text))
    if addresses:
        text = _IPV6.sub(_hide_ipv6, _IPV4.sub(HIDDEN, text))
    return text


def _walk(value: Any, change: Callable[[str], str], name: str = "") -> Any:
    if isinstance(value, str):
        if name and _NAME.match(name) and not _MODEL_WORD.search(name) and not _HARMLESS.match(value):
            return HIDDEN
        return change(value)
    if isinstance(value, dict):
        return {key: _walk(item, change, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, change, name) for item in value]
    return value


def redact_report(report: Report, *, addresses: bool = False) -> Report:
    """A copy of the report in which every text went through `redact_text`; the given report stays as it is."""
    data = report.model_dump(mode="json")
    return Report.model_validate(_walk(data, lambda text: redact_text(text, addresses=addresses)))

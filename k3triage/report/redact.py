"""Takes secrets and users' prompts out of texts: of a Report, and of everything that `k3triage collect` gathers.

Redaction is best effort on text that follows no format: it knows common shapes of secrets and the names that people
give them. Quantifiers are bounded, possessive or exclude what follows them, so that a line costs time linear in its
length.
"""

import re
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import quote

from k3triage.model.report import Report

HIDDEN = "[redacted]"

_SECRET_NAME = (
    r"(?:api[_-]?keys?|(?:access|secret|private|account|encryption|signing|ssh|license)[_-]?key(?:[_-]?id)?|secret|"
    r"passwd|password|passphrase|(?<=[_-])pass|pwd|credentials?|authorization|(?:set-)?cookie|(?:auth|access|refresh|id|"
    r"bearer|hf|hub|session|security|github|gitlab|wandb|ngc|api|bot|sas)[_-]?token|token)"
)
_NAME = re.compile(rf"(?i)^[\w.-]{{0,64}}?{_SECRET_NAME}$")
# Words of models and tokenizers that merely look like the name of a secret.
_MODEL_WORD = re.compile(
    r"(?i)(?:^|[_-])(?:bos|eos|pad|unk|sep|cls|mask|stop|image|video|audio|next|first|last|per)[_-]?token$"
)
# Stands for a value in a usage text (`--api-key API_KEY`).
_STAND_IN = re.compile(r"\[?[A-Z]+(?:_[A-Z]+)+\]{0,2}$")
# Values that give nothing away, and words with which a message goes on after the name of a setting.
_HARMLESS = re.compile(
    r"(?i)^(?:none|null|true|false|\*+|\[redacted\]|<[^<>]{0,40}>|<set|\$\{?\w+\}?|-?\d{1,6}(?:\.\d+)?|\[\s*(?:none)?\s*\]?|"
    r"(?:expected|required|missing|invalid|not|is|was|are|must|may|cannot|could|failed|error|please|the|an?|to|for))$"
)
# A quoted string, also one cut off in the middle. The first two forms stand inside a string and are escaped there.
_STRING = (
    r"(?:[bru]{0,2}(?:"
    r"\\++\"(?:[^\\\"]|\\\\++.|\\[^\"\\])*+(?:\\+\")?|\\++'(?:[^\\']|\\\\++.|\\[^'\\])*+(?:\\+')?|"
    r"\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?))"
)
_STRINGS = rf"[\[(]\s{{0,4}}{_STRING}(?:\s{{0,4}},\s{{0,4}}{_STRING})*+\s{{0,4}}[\])]?"
_SEP = r"\\{0,3}[\"']?\s{0,4}[=:]\s{0,4}"
_WORD = r"[^\s\"'\\|&;<>\[-][^\s\"'\\]*"
_PAIR = re.compile(
    rf"(?i)(?P<name>(?<![\w.-])[\w.-]{{0,64}}?{_SECRET_NAME})(?P<sep>{_SEP})"
    rf"(?P<value>{_STRINGS}|{_STRING}|(?:\[redacted\]|[^\s\"',;)}}\]\\])++)"
)
_OPTION = re.compile(rf"(?i)(?P<name>--?[\w-]{{0,64}}?{_SECRET_NAME})(?P<sep>\s{{1,4}})(?P<value>{_STRING}|{_WORD})")
# Several keys may follow this option of vLLM.
_API_KEYS = re.compile(rf"(?P<name>--api-key)(?P<sep>\s{{1,4}})(?P<value>{_WORD}(?:\s{{1,4}}{_WORD}){{0,16}}+)")
_ARGUMENTS = re.compile(
    rf"(?i)(?P<name>(?P<q>[\"'])--?[\w-]{{0,64}}?{_SECRET_NAME}(?P=q))(?P<sep>\s{{0,4}},\s{{0,4}})"
    r"(?P<value>(?P=q)(?!-)[^\"']*+(?P=q)(?:\s{0,4},\s{0,4}(?P=q)(?!-)[^\"']*+(?P=q))*+)"
)
_PAIR_HINTS = (
    *("key", "secret", "passw", "passphrase", "_pass", "-pass", "pwd", "credential", "authoriz", "cookie"),
    *('token"', "token'", "token=", "token:", "token ", "token\\", "token\t"),
)

_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = tuple(
    (hints, re.compile(pattern), replacement)
    for hints, pattern, replacement in (
        (
            ("private key",),
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
            HIDDEN,
        ),
        (("bearer", "basic"), r"(?i)\b(bearer|basic)\s{1,4}[\w.~+/=-]{8,}", rf"\1 {HIDDEN}"),
        (
            ("hf_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "nvapi-", "pypi-", "npm_"),
            r"\b(?:(hf_|ghp_|gho_|ghs_|ghu_|ghr_|npm_)[A-Za-z0-9]{16,}|(github_pat_|glpat-|nvapi-|pypi-)[\w-]{16,})",
            rf"\1\2{HIDDEN}",
        ),
        (
            ("dckr_pat_", "api_org_", "gsk_", "lsv2_", "dop_v1_", "r8_", "tvly-", "hvs.", "k_live_"),
            r"\b(dckr_pat_|api_org_|gsk_|lsv2_pt_|lsv2_sk_|dop_v1_|r8_|tvly-|hvs\.|sk_live_|rk_live_)[\w-]{20,}",
            rf"\1{HIDDEN}",
        ),
        (("sk-", "rk-", "pk-", "xapp-", "tskey-"), r"\b(sk|rk|pk|xapp|tskey)-[\w-]{16,}", rf"\1-{HIDDEN}"),
        (("xox",), r"\bxox[abeoprs]-[\w-]{10,}", f"xox-{HIDDEN}"),
        (("akia", "asia", "aroa", "aida"), r"\b(AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b", rf"\1{HIDDEN}"),
        (("aiza", "ya29."), r"\b(AIza|ya29\.)[\w-]{20,}", rf"\1{HIDDEN}"),
        (("sg.",), r"\bSG\.[\w-]{16,}\.[\w-]{16,}", f"SG.{HIDDEN}"),
        (("eyj",), r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?", HIDDEN),
        (("hooks.slack",), r"(hooks\.slack\.com/services/)[\w/]{8,}", rf"\1{HIDDEN}"),
        (
            ("://",),
            r"\b([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)(?:[^/\s:@\"']{0,256}:[^/\s@\"']{1,256}|[\w.~-]{16,256})@",
            rf"\1{HIDDEN}@",
        ),
        (
            ("-u", "--user", "--proxy-user"),
            r"((?<!\S)(?:-u|--user|--proxy-user)[\s=]{1,4}[\"']?)[^\s:\"']{1,64}:(?!\d{1,6}\b)[^\s\"']+",
            rf"\1{HIDDEN}",
        ),
        (('auth"', "auth'"), r"([\"']_?auth[\"']\s{0,4}:\s{0,4}[\"'])[^\"']+", rf"\1{HIDDEN}"),
        (
            ("?", "&"),
            r"(?i)([?&](?:x-amz-\w{3,20}|sig|signature|token|key|access_token|api_key|se|sp)=)[^&\s\"']+",
            rf"\1{HIDDEN}",
        ),
        (("@",), r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", HIDDEN),
        (("base64,",), r"(data:[\w/+.-]{1,60};base64,)[\w+/=-]+", rf"\1{HIDDEN}"),
    )
)
# What users asked and were answered, as request logs and the bodies of requests hold it: quoted, or as token ids.
# Everyday words count only where they are quoted themselves, as the keys of a body are.
_PROMPT = re.compile(
    r"(?P<name>(?:\b(?:prompt|prompt_text|negative_prompt|content|messages|input_text|generated_text)\\{0,3}[\"']?|"
    r"[\"'](?:text|text_[12]|input|query|queries|documents?|suffix|instructions|arguments|reasoning|reasoning_content)"
    r"\\{0,3}[\"']|\bGenerated response [^\"']{0,200}?\boutput)\s{0,4}[:=]\s{0,4})"
    rf"(?P<value>{_STRINGS}|{_STRING})"
)
_PROMPT_HINTS = (
    *("prompt:", "prompt=", 'prompt"', "prompt'", "prompt\\", "prompt ", "prompt_text", "content", "messages"),
    *(
        "input_text",
        "generated",
        'text"',
        "text'",
        "text\\",
        "text_",
        'input"',
        "input'",
        "input\\",
        "quer",
        "document",
    ),
    *("suffix", "instructions", "arguments", "reasoning"),
)
_OPENING = re.compile(r"\\*[\"']")
_TOKEN_IDS = re.compile(
    r"(\b(?:prompt_token_ids|prompt_ids|input_ids|output_token_ids|token_ids)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}"
    r"(?:array\('\w',\s?)?[\[(])(?!\[redacted\])[^\])]*"
)
_IPV4 = re.compile(r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_IPV6 = re.compile(r"(?<![\w:.])[0-9a-fA-F:]{0,5}:[0-9a-fA-F:]{0,40}:[0-9a-fA-F:]{0,5}(?![\w:])")
# What may stand in the lines of a PEM block, and how many lines the longest keys take.
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?!.*-----END)")
_PEM_BODY = re.compile(r"[\w+/=]{1,256}\s*$")
_PEM_LINES = 200
_FULL_PEM_LINE = 24
# Shorter ones, and plain words, also stand where they are no secret.
_SHORTEST_KNOWN = 8
_LONG_ENOUGH = 20


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret ("HF_TOKEN", "api_key", not "eos_token")."""
    return _NAME.match(name) is not None and not _MODEL_WORD.search(name)


def _hide_value(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    bare = value.strip("\"'\\")
    if _MODEL_WORD.search(name) or not bare or _HARMLESS.match(bare) or _STAND_IN.match(bare):
        return match.group()
    if name.endswith(("pwd", "PWD")) and value.startswith("/"):
        return match.group()
    opening = _OPENING.search(value)
    mark = opening.group() if opening else ""
    return f"{name}{match['sep']}{mark}{HIDDEN}{mark}"


def _hide_prompt(match: re.Match[str]) -> str:
    value = match["value"]
    opening = _OPENING.search(value)
    mark = opening.group() if opening else ""
    if value.startswith(f"{mark}[redacted ") or value in (mark, mark * 2):
        return match.group()
    return f"{match['name']}{mark}[redacted {len(value)} characters]{mark}"


def _hide_ipv6(match: re.Match[str]) -> str:
    try:
        address = IPv6Address(match.group())
    except ValueError:  # a time of day, a chain of identifiers
        return match.group()
    return match.group() if address.is_loopback or address.is_unspecified else HIDDEN


def redact_text(text: str, *, addresses: bool = False) -> str:
    """A text without secrets, e-mail addresses and prompts; IP addresses go too where `addresses` is set."""
    text = _redact(text, text.lower())
    return _IPV6.sub(_hide_ipv6, _IPV4.sub(HIDDEN, text)) if addresses else text


def _redact(text: str, low: str) -> str:
    """Every pattern of which a hint is in `low`: most lines hold none, and looking for them is cheap."""
    if any(hint in low for hint in _PROMPT_HINTS):
        text = _PROMPT.sub(_hide_prompt, text)
    if "_ids" in low:
        text = _TOKEN_IDS.sub(rf"\1{HIDDEN}", text)
    for hints, pattern, replacement in _SHAPES:
        if any(hint in low for hint in hints):
            text = pattern.sub(replacement, text)
    if any(hint in low for hint in _PAIR_HINTS):
        for assignment in (_ARGUMENTS, _PAIR, _API_KEYS, _OPTION):
            text = assignment.sub(_hide_value, text)
    return text


class LineRedactor:
    """Redacts a text line by line: also keys that go on over several lines, and values known to be secret.

    known: secrets learnt elsewhere (from an environment, from arguments), taken out wherever they stand. Short ones and
    plain words are passed over, since they would tear holes into harmless text.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = {value for value in known if _telling(value)}
        values |= {quote(value, safe="") for value in values}
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._pem = 0

    def line(self, text: str) -> str:
        """The next line, without what must not be seen."""
        if self._pem:
            return self._inside(text)
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if "PRIVATE KEY" in text and _PEM_BEGIN.search(text):
            self._pem = _PEM_LINES
        return redact_text(text)

    def text(self, text: str) -> str:
        """A whole text, its line ends kept; what a line began does not go on in the next text."""
        lines = [self.line(line) for line in text.split("\n")]
        self._pem = 0
        return "\n".join(lines)

    def _inside(self, text: str) -> str:
        self._pem -= 1
        body = _PEM_BODY.search(text)
        if "-----END" in text or (body is not None and len(body.group().strip()) < _FULL_PEM_LINE):
            self._pem = 0  # the last line of a key is the short one
        return redact_text(_PEM_BODY.sub(HIDDEN, text) if body is not None else text)


def _telling(value: str) -> bool:
    if len(value) < _SHORTEST_KNOWN or _HARMLESS.match(value):
        return False
    return len(value) >= _LONG_ENOUGH or not (value.isalpha() or re.fullmatch(r"[a-z]+(?:[-_][a-z]+)*", value))


def _walk(value: Any, change: Callable[[str], str], name: str = "") -> Any:
    if isinstance(value, str):
        if name and is_secret_name(name) and not _HARMLESS.match(value):
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

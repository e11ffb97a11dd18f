"""What may go into a bundle: each kind of output without secrets, prompts and values of unknown variables."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from k3triage.collect import environ
from k3triage.model.lazy import lazy
from k3triage.report.redact import HIDDEN, LineRedactor, is_secret_name

Shape = Literal["text", "json", "environ", "describe", "version"]
"""How an output is read. environ: NAME=value, separated by NULs. version: its last line is the answer."""

# A copy of the whole manifest with all values, which kubectl keeps beside the object.
_COPIES = frozenset(("kubectl.kubernetes.io/last-applied-configuration",))
_ENVIRONMENT = lazy(r"(?P<indent>\s*)Environment:\s*$")
_VARIABLE = lazy(r"(?P<name>\s+[^\s:]{1,256}:)(?P<gap>\s*)(?P<value>.*)$")
_INDENT = lazy(r"\s*")


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Cleans outputs. known: secrets that go wherever they stand. redact: without it only the form is changed."""

    known: frozenset[str] = frozenset()
    redact: bool = True

    def scrub(self, data: bytes, shape: Shape = "text") -> bytes:
        """An output as it goes into the bundle: UTF-8, bytes that are none of it kept as they are."""
        text = data.decode("utf-8", "surrogateescape")
        if shape == "environ":
            text = environment_text(environ.assignments(text.split("\0")), redact=self.redact)
        elif shape == "version":
            text = text.rstrip().rpartition("\n")[2] + "\n"
        if self.redact:
            text = self._json(text) if shape == "json" else self._lines(text, describe=shape == "describe")
        return text.encode("utf-8", "surrogateescape")

    def sentence(self, text: str | None) -> str | None:
        """What a tool said, in one text."""
        return None if text is None else self.scrub(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def words(self, words: Sequence[str]) -> list[str]:
        """A command's words without secrets."""
        return hide_arguments(words, LineRedactor(self.known)) if self.redact else list(words)

    def _lines(self, text: str, *, describe: bool) -> str:
        return LineRedactor(self.known).text(_described(text) if describe else text)

    def _json(self, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self._lines(text, describe=False)
        return json.dumps(_walk(value, LineRedactor(self.known)), indent=4, ensure_ascii=False) + "\n"


def environment_text(variables: dict[str, str], *, redact: bool) -> str:
    """Variables as lines, sorted by name; a value's line ends are spelled out so that one stays one line."""
    values = environ.shown(variables) if redact else variables
    return "".join(f"{name}={_one_line(value)}\n" for name, value in sorted(values.items()))


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def hide_arguments(words: Sequence[str], lines: LineRedactor) -> list[str]:
    """A command's words; what follows an option for a secret is hidden, and what looks like one."""
    hidden: list[str] = []
    left = 0
    for word in words:
        if left and not word.startswith("-"):
            left -= 1
            hidden.append(HIDDEN)
            continue
        left = _values_of(word)
        name, equals, _ = word.partition("=")
        secret = equals and (is_secret_name(name.lstrip("-")) or (name.isidentifier() and environ.is_secret(name)))
        hidden.append(f"{name}={HIDDEN}" if secret else lines.text(word))
    return hidden


def argument_secrets(words: Iterable[str]) -> set[str]:
    """Secrets among a command's words, also inside a word that is a command line of its own (`sh -c "..."`)."""
    found: set[str] = set()
    left = 0
    for word in words:
        if left and not word.startswith("-"):
            left -= 1
            found.add(word)
            continue
        left = _values_of(word)
        name, equals, value = word.partition("=")
        if equals and value and (is_secret_name(name.lstrip("-")) or (name.isidentifier() and environ.is_secret(name))):
            found.add(value)
        elif any(blank in word for blank in " \n\t"):
            try:
                found |= argument_secrets(shlex.split(word))
            except ValueError:  # quotes that do not close
                found |= argument_secrets(word.split())
    return found


def _values_of(word: str) -> int:
    """How many words after this one hold a secret. vLLM takes several keys after --api-key."""
    if not word.startswith("-") or "=" in word or not is_secret_name(word.lstrip("-")):
        return 0
    return 64 if word.lstrip("-") in ("api-key", "api_key") else 1


def _walk(value: Any, lines: LineRedactor, name: str = "") -> Any:
    if isinstance(value, str):
        if name in _COPIES or (is_secret_name(name) and value):
            return HIDDEN
        return lines.text(value)
    if isinstance(value, dict):
        if "value" in value and isinstance(value.get("name"), str) and name == "env":
            shown = environ.shown({value["name"]: str(value["value"])})
            return {**value, "value": lines.text(shown[value["name"]])}
        return {key: _walk(item, lines, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            if name == "Env":
                value = [f"{key}={text}" for key, text in environ.shown(environ.assignments(value)).items()]
            return hide_arguments(value, lines)
        return [_walk(item, lines, name) for item in value]
    return value


def _described(text: str) -> str:
    """`kubectl describe` without the values of variables and of options that hold secrets."""
    result: list[str] = []
    inside = -1
    left = option = 0
    for line in text.split("\n"):
        indent = len(_INDENT.match(line).group())  # type: ignore[union-attr]  # matches every line
        word = line.strip()
        if inside >= 0 and word and indent <= inside:
            inside = -1
        if left and word and indent == option and not word.startswith("-"):
            left -= 1
            line = line[:indent] + HIDDEN
        else:
            left, option = _values_of(word), indent
        if inside >= 0 and (variable := _VARIABLE.match(line)):
            value = variable["value"]
            if value and not value.startswith("<set to ") and not environ.may_show(variable["name"].strip(" :")):
                line = f"{variable['name']}{variable['gap']}{HIDDEN}"
        if opening := _ENVIRONMENT.match(line):
            inside = len(opening["indent"])
        result.append(line)
    return "\n".join(result)

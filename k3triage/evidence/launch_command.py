"""A launch command as typed, in a script, or in a bundle's launch file: `docker run ...`, `vllm serve ...`."""

import re
from collections.abc import Iterator, Sequence

from k3triage.evidence.environment import wanted
from k3triage.evidence.launch import flags, serves, split
from k3triage.evidence.sections import Section
from k3triage.model.lazy import lazy

KIND = "launch command"
_START = lazy(
    r"(?:command:\s+|exec\s+|nohup\s+|sudo\s+|[A-Z][A-Z0-9_]{1,60}=\S{1,300}\s+){0,20}"
    r"(?:(?:docker|podman|nerdctl)\s+run\s|(?:/\S{1,200}/)?vllm\s+serve\s|python3?\s+-m\s+vllm\.entrypoints\.)"
)
_RUNNERS = ("docker", "podman", "nerdctl")
_IMAGE = lazy(r"(?:[\w.-]{1,80}(?::\d{1,5})?/){0,5}[\w.-]{1,100}:[\w.-]{1,128}(?:@sha256:[0-9a-f]{64})?$")
_NOTED = lazy(r"(image|shm size|ipc): (\S.{0,300})$")
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "": 1, "b": 1}
_MOST_ROWS = 200


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """launch, flags.X, image, env.X, shm_size and ipc_mode of each command that starts a server."""
    rows = list(section.rows)
    if section.command is not None:  # what stands behind a prompt goes on in the rows below it
        rows.insert(0, (max(rows[0][0] - 1, 1) if rows else 1, section.command))
    bundle = any(row.startswith("command: ") for _, row in rows)
    position = 0
    while position < len(rows):
        number, row = rows[position]
        position += 1
        noted = _NOTED.match(row) if bundle else None
        if noted is not None:
            yield from _noted(number, noted.group(1), noted.group(2))
        if _START.match(row) is None:
            continue
        parts = [row]
        while parts[-1].endswith("\\") and position < len(rows) and len(parts) < _MOST_ROWS:
            parts.append(rows[position][1])
            position += 1
        yield from _command(number, split(" ".join(part.rstrip("\\") for part in parts)))


def _noted(number: int, name: str, value: str) -> Iterator[tuple[int, str, object]]:
    if name == "image":
        yield number, "image", value
    elif name == "ipc":
        yield number, "ipc_mode", value
    elif value.isdecimal() and len(value) < 16:
        yield number, "shm_size", int(value)


def _command(number: int, words: Sequence[str]) -> Iterator[tuple[int, str, object]]:
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
            break
        if wanted(name):
            yield number, f"env.{name}", value
    runner = next((place for place, word in enumerate(words[:25]) if word in _RUNNERS), None)
    rest = list(words)
    if runner is not None:
        image = next((place for place, word in enumerate(words) if place > runner and _is_image(words, place)), None)
        if image is None:
            return
        yield number, "image", words[image]
        yield from _options(number, words[runner:image])
        rest = list(words[image + 1 :])
        if "vllm" not in words[image] and not serves(rest):
            return
        if not serves(rest):
            rest = ["vllm", "serve", *rest]  # the official image's entrypoint
    if serves(rest):
        yield number, "launch", " ".join(rest)[:4000]
        for name, value in flags(rest).items():
            yield number, f"flags.{name}", value


def _is_image(words: Sequence[str], place: int) -> bool:
    return _IMAGE.match(words[place]) is not None and words[place - 1] not in (
        "-v",
        "-p",
        "-e",
        "--volume",
        "--publish",
        "-u",
    )


def _options(number: int, words: Sequence[str]) -> Iterator[tuple[int, str, object]]:
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and place + 1 < len(words):
            value = words[place + 1]
        if name == "--ipc":
            yield number, "ipc_mode", value
        elif name == "--shm-size" and (size := re.fullmatch(r"(\d{1,12})([kmgb]?)b?", value.lower())) is not None:
            yield number, "shm_size", int(size.group(1)) * _SIZES[size.group(2)]
        elif (
            name in ("-e", "--env")
            and (setting := re.fullmatch(r"([A-Z][A-Z0-9_]{1,80})=(.{0,4000})", value)) is not None
            and wanted(setting.group(1))
        ):
            yield number, f"env.{setting.group(1)}", setting.group(2)

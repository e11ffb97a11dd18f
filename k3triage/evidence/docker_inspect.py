"""`docker inspect` of a container, `docker image inspect` (podman's and nerdctl's are alike), and their refusals."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from k3triage.evidence.environment import wanted
from k3triage.evidence.launch import flags, serves
from k3triage.evidence.sections import Section
from k3triage.model.lazy import lazy

KIND = "docker inspect"
_REFUSED = lazy(
    r"(?:Error response from daemon|Error|Error: )?:? ?.{0,40}?No such (image|object|container): (\S{1,300})"
)
_NEVER = "0001-01-01T00:00:00Z"
_MOST_DOCUMENTS = 20


def parse(section: Section) -> Iterator[tuple[int, str, object]]:
    """Facts of images (image, image_digest, image_cuda, image_env.X, require_cuda ...) and of containers (image, env.X,
    flags.X, shm_size, ipc_mode, oom_killed, exit_code, container_error, gpus_requested ...)."""
    for number, row in section.rows:
        if "No such" in row and (refused := _REFUSED.match(row[:600])) is not None and refused.group(1) == "image":
            yield number, "image_missing", refused.group(2)
    text = "\n".join(row for _, row in section.rows)
    decoder = json.JSONDecoder()
    position = offset = tried = 0
    while position < len(section.rows) and tried < _MOST_DOCUMENTS:
        number, row = section.rows[position]
        end = offset + len(row)
        after = position + 1
        if row[:1] in ("[", "{"):
            tried += 1
            try:
                document, end = decoder.raw_decode(text, offset)
            except (ValueError, RecursionError):
                document = None
            else:
                after = position + text.count("\n", offset, end) + 1
                end = max(end, text.find("\n", end) if "\n" in text[end:] else len(text))
            for item in document if isinstance(document, list) else [document]:
                if isinstance(item, dict):
                    yield from _Object(item, section.rows[position:after], number).facts()
        position, offset = after, end + 1


class _Object:
    """One inspected image or container."""

    def __init__(self, item: Mapping[str, Any], rows: list[tuple[int, str]], line: int) -> None:
        self._item = item
        self._rows = rows
        self._line = line

    def facts(self) -> Iterator[tuple[int, str, object]]:
        """Everything known of it; nothing where it is something else."""
        config = self._item.get("Config")
        if isinstance(self._item.get("State"), dict) or isinstance(self._item.get("HostConfig"), dict):
            yield from self._container(config if isinstance(config, dict) else {})
        elif "OOMKilled" in self._item:  # --format '{{json .State}}'
            yield from self._state(self._item)
        elif "RepoTags" in self._item or "RepoDigests" in self._item:
            yield from self._image(config if isinstance(config, dict) else {})

    def _at(self, *words: str) -> int:
        """Line of the first row that holds one of the words, else the object's first line."""
        for word in words:
            for number, row in self._rows:
                if word in row:
                    return number
        return self._line

    def _image(self, config: Mapping[str, Any]) -> Iterator[tuple[int, str, object]]:
        for tag in _strings(self._item.get("RepoTags")):
            yield self._at(f'"{tag}"'), "image", tag
        for digest in _strings(self._item.get("RepoDigests")):
            yield self._at(f'"{digest}"'), "image_digest", digest
        if isinstance(self._item.get("Architecture"), str):
            yield self._at('"Architecture"'), "image_architecture", self._item["Architecture"]
        yield from self._environment(config, "image_env.")
        entrypoint = config.get("Entrypoint")
        yield self._at('"Entrypoint"'), "entrypoint", " ".join(_strings(entrypoint))
        labels = config.get("Labels")
        if isinstance(labels, dict):
            version = labels.get("org.opencontainers.image.version") or labels.get("vllm.version")
            title = f"{labels.get('org.opencontainers.image.title', '')} {self._item.get('RepoTags')}"
            if isinstance(version, str) and "vllm" in title and re.match(r"v?\d+\.\d+", version):
                yield self._at(f'"{version}"'), "vllm", version.removeprefix("v")

    def _container(self, config: Mapping[str, Any]) -> Iterator[tuple[int, str, object]]:
        image = config.get("Image")
        if isinstance(image, str) and not image.startswith("sha256:"):
            yield self._at(f'"{image}"'), "image", image
        yield from self._environment(config, "env.")
        words = [*_strings(config.get("Entrypoint")), *_strings(config.get("Cmd"))]
        arguments = [str(self._item.get("Path") or ""), *_strings(self._item.get("Args"))]
        launch = arguments if serves(arguments) else words
        if serves(launch):
            line = self._at('"Args"', '"Cmd"')
            yield line, "launch", " ".join(launch)[:4000]
            for name, value in flags(launch).items():
                yield self._at(f'"--{name.replace("_", "-")}', '"Args"', '"Cmd"'), f"flags.{name}", value
        yield from self._host()
        yield from self._state(self._item.get("State"))

    def _host(self) -> Iterator[tuple[int, str, object]]:
        host = self._item.get("HostConfig")
        if not isinstance(host, dict):
            return
        if isinstance(host.get("ShmSize"), int):
            yield self._at('"ShmSize"'), "shm_size", host["ShmSize"]
        if isinstance(host.get("IpcMode"), str):
            yield self._at('"IpcMode"'), "ipc_mode", host["IpcMode"]
        if isinstance(host.get("NetworkMode"), str):
            yield self._at('"NetworkMode"'), "network_mode", host["NetworkMode"]
        requested = host.get("DeviceRequests")
        nvidia = host.get("Runtime") == "nvidia" or bool(host.get("Devices"))
        yield self._at('"DeviceRequests"', '"Runtime"'), "gpus_requested", bool(requested) or nvidia
        limits = host.get("Ulimits")
        for limit in limits if isinstance(limits, list) else []:
            if isinstance(limit, dict) and limit.get("Name") == "memlock" and isinstance(limit.get("Hard"), int):
                yield self._at('"Ulimits"'), "limit.memlock", "unlimited" if limit["Hard"] == -1 else limit["Hard"]

    def _state(self, state: object) -> Iterator[tuple[int, str, object]]:
        if not isinstance(state, dict):
            return
        for key, name, kind in (
            ("Status", "container_status", str),
            ("OOMKilled", "oom_killed", bool),
            ("ExitCode", "exit_code", int),
            ("Error", "container_error", str),
        ):
            value = state.get(key)
            if isinstance(value, kind) and value != "":
                yield self._at(f'"{key}"'), name, value
        if state.get("StartedAt") == _NEVER:
            yield self._at('"StartedAt"'), "never_started", True

    def _environment(self, config: Mapping[str, Any], prefix: str) -> Iterator[tuple[int, str, object]]:
        settings = _strings(config.get("Env"))
        if settings and prefix == "env.":
            yield self._at('"Env"'), "environment_listed", "all"
        for setting in settings:
            name, _, value = setting.partition("=")
            if wanted(name):
                yield self._at(f'"{name}='), prefix + name, value
                if name == "CUDA_VERSION":
                    yield self._at(f'"{name}='), "image_cuda", value
                elif name == "NVIDIA_REQUIRE_CUDA" and (least := re.match(r"cuda>=(\d+\.\d+)", value)):
                    yield self._at(f'"{name}='), "require_cuda", least.group(1)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

"""Finds and reads profile files: the shipped ones by name, a user's by path."""

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3triage.cache import load_or_make
from k3triage.errors import UsageError

if TYPE_CHECKING:
    from k3triage.profiles.schema import Profile

FOLDER = Path(__file__).parent
_LONGEST_NAME = 500


def shipped() -> list[str]:
    """Names of the shipped profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_profile(name: str) -> "Profile":
    """A shipped profile by its name, or a file by its path (it ends in .toml or holds a slash).

    Raises UsageError for a name that is not shipped and for a file that cannot be read or is not valid.
    """
    path = Path(name)
    if path.suffix != ".toml" and path.name == name:
        if name not in shipped():
            raise UsageError(f"no profile is called {name!r}; there are {', '.join(shipped())}, or give a .toml file")
        path = FOLDER / f"{name}.toml"
    return _validated(str(path))


@functools.lru_cache(maxsize=8)
def _validated(path: str) -> "Profile":
    from pydantic import ValidationError

    from k3triage.profiles.schema import Profile

    try:
        return Profile.model_validate(_read(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}") from None


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: {reason}") from None


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """(profile, pattern of its models) of all shipped profiles."""
    states = [(name, (FOLDER / f"{name}.toml").stat()) for name in shipped()]
    stamps = [f"{name}:{state.st_size}:{state.st_mtime_ns}" for name, state in states]
    found = json.loads(load_or_make("profiles", "\n".join(stamps), _models))
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in found)


def _models() -> bytes:
    import tomllib

    found = []
    for name in shipped():
        head = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").partition("\n[")[0]
        found += [(name, pattern) for pattern in tomllib.loads(head).get("models", ())]
    return json.dumps(found).encode()


def choose_profile(names: Iterable[object]) -> str | None:
    """The shipped profile whose model one of these names (model, served name, image) is, None where none fits."""
    for text in names:
        for profile, pattern in _patterns():
            if pattern.search(str(text)[:_LONGEST_NAME]):
                return profile
    return None

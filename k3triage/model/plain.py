"""Models without checks, for a process that only prints a page of text.

Importing pydantic and building its validators takes longer than triaging a small log. A process that has nothing to
validate (the shipped rules were checked when they were compiled, and a report is made by the program itself) may call
`choose` before any model is imported: the same classes then get the same fields, defaults and methods, unchecked.
"""

import enum
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Self, TypeVar

chosen = False
_T = TypeVar("_T")
_MISSING: Any = object()


def choose() -> bool:
    """Take the unchecked models from now on. False where pydantic's are loaded already; they stay then."""
    global chosen
    chosen = chosen or "pydantic" not in sys.modules
    return chosen


class ValidationError(ValueError):
    """Never raised: nothing is checked. There so that callers can name it."""


class _Default:
    """A field's default: a value, or what a call of `make` gives."""

    def __init__(self, value: Any, make: Callable[[], Any] | None) -> None:
        self.value = value
        self.make = make


def Field(default: Any = _MISSING, *, default_factory: Callable[[], Any] | None = None, **_: Any) -> Any:  # noqa: N802
    """A field's default; bounds and patterns are not looked at."""
    return _Default(default, default_factory)


def ConfigDict(**settings: Any) -> dict[str, Any]:  # noqa: N802
    """Settings of a model; of them only `str_strip_whitespace` counts."""
    return settings


def AfterValidator(function: Callable[[Any], Any]) -> Callable[[Any], Any]:  # noqa: N802
    """A check that is not run."""
    return function


def model_validator(*, mode: str) -> Callable[[_T], _T]:
    """A check that is not run."""
    return lambda function: function


class BaseModel:
    """Takes its fields by name, as pydantic's does."""

    model_config: typing.ClassVar[dict[str, Any]] = {}
    model_fields: typing.ClassVar[dict[str, Any]] = {}
    _constant: typing.ClassVar[dict[str, Any]] = {}
    _made: typing.ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init_subclass__(cls) -> None:
        own = cls.__annotations__ if "__annotations__" in cls.__dict__ or "__annotate_func__" in cls.__dict__ else {}
        cls.model_fields = {**cls.model_fields, **{name: kind for name, kind in own.items() if name != "model_config"}}
        cls._constant, cls._made = dict(cls._constant), dict(cls._made)
        for name in own:
            default = cls.__dict__.get(name, _MISSING)
            if isinstance(default, _Default):
                if default.make is not None:
                    cls._made[name] = default.make
                default = default.value
            if default is not _MISSING:
                cls._constant[name] = default

    def __init__(self, **values: Any) -> None:
        fields = self.__dict__
        fields.update(self._constant)
        for name, make in self._made.items():
            if name not in values:
                fields[name] = make()
        fields.update(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def model_validate(cls, data: Mapping[str, Any]) -> Self:
        """The model of a mapping, its parts turned into models and enums as the annotations say."""
        strip = bool(cls.model_config.get("str_strip_whitespace"))
        readers = _readers(cls)
        return cls(**{name: readers[name](value, strip) for name, value in data.items()})

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with some fields set."""
        return type(self)(**{**self.__dict__, **(update or {})})

    def model_dump(self, *, exclude: Collection[str] = (), **_: Any) -> dict[str, Any]:
        """The fields as plain values, in the order of their declaration."""
        return {name: _plain(self.__dict__[name]) for name in self.model_fields if name not in exclude}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None  # infinite or no number: JSON has neither
    return value


_Reader = Callable[[Any, bool], Any]


def _readers(model: type[BaseModel]) -> dict[str, _Reader]:
    found: dict[str, _Reader] | None = model.__dict__.get("_readers")
    if found is None:
        found = {name: _reader(kind) for name, kind in model.model_fields.items()}
        model._readers = found  # type: ignore[attr-defined]
    return found


def _reader(kind: Any) -> _Reader:
    """What makes a value of an annotated kind out of plain data."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        readers = [_reader(part) for part in arguments if part is not types.NoneType]
        telling = [reader for reader in readers if reader is not _text]
        chosen_reader = telling[0] if len(telling) == 1 else _text
        return lambda value, strip: None if value is None else chosen_reader(value, strip)
    if origin in (list, tuple):
        item = _reader(arguments[0])
        return lambda value, strip: origin(item(part, strip) for part in value)
    if origin is dict:
        key, item = _reader(arguments[0]), _reader(arguments[1])
        return lambda value, strip: {key(name, strip): item(part, strip) for name, part in value.items()}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return lambda value, strip: kind.model_validate(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return lambda value, strip: kind(value) if value in kind._value2member_map_ else value
    return _text


def _text(value: Any, strip: bool) -> Any:
    return value.strip() if strip and isinstance(value, str) else value

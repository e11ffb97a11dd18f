"""The stand-in for dataclasses that `shapes` takes in a process without pydantic."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

_MISSING: Any = object()


class _Field:
    """What `field` was called with."""

    def __init__(self, default: Any, make: Callable[[], Any] | None, compare: bool) -> None:
        self.default = default
        self.make = make
        self.compare = compare


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    """See `dataclasses.field`."""
    return _Field(default, default_factory, compare)


def _compile(cls: type) -> Callable[..., None]:
    names: dict[str, Any] = {"_missing": _MISSING}
    arguments, body = ["self"], []
    for name, entry in cls._shape.items():  # type: ignore[attr-defined]
        if entry.make is not None:
            names[f"_make_{name}"] = entry.make
            arguments.append(f"{name}=_missing")
            body.append(f" self.{name} = _make_{name}() if {name} is _missing else {name}")
            continue
        if entry.default is not _MISSING:
            names[f"_default_{name}"] = entry.default
        arguments.append(name if entry.default is _MISSING else f"{name}=_default_{name}")
        body.append(f" self.{name} = {name}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    # Field names come from the program's own classes.
    exec(f"def __init__({', '.join(arguments)}):\n" + ("\n".join(body) or " pass"), names)
    made: Callable[..., None] = names["__init__"]
    return made


def _shape(cls: type, compare: bool, frozen: bool, slots: bool) -> type:
    shape: dict[str, _Field] = dict(getattr(cls, "_shape", {}))
    for name, kind in (cls.__annotations__ if _annotated(cls) else {}).items():
        if "ClassVar" in str(kind):
            continue
        default = cls.__dict__.get(name, _MISSING)
        shape[name] = default if isinstance(default, _Field) else _Field(default, None, True)
        if isinstance(default, _Field):
            if default.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, default.default)
    cls._shape = shape  # type: ignore[attr-defined]
    if slots:
        cls = _slotted(cls, [name for name in shape if not hasattr(cls.__base__, name)])
    if "__init__" not in cls.__dict__:

        def first(self: Any, *args: Any, **kwargs: Any) -> None:
            made = _compile(cls)
            cls.__init__ = made  # type: ignore[misc]
            made(self, *args, **kwargs)

        cls.__init__ = first  # type: ignore[misc]
    if compare:
        cls.__eq__ = _equal  # type: ignore[assignment]
        cls.__hash__ = _hash(cls) if frozen else None  # type: ignore[assignment]
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = _repr  # type: ignore[assignment]
    return cls


def _slotted(cls: type, names: list[str]) -> type:
    # A class gets its slots when it is made, so it is made once more; defaults stand in its `__init__` alone.
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    return type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": names, "__qualname__": cls.__qualname__})


def _annotated(cls: type) -> bool:
    # Python 3.14 keeps what makes the annotations instead of these.
    return "__annotations__" in cls.__dict__ or "__annotate_func__" in cls.__dict__


def _values(item: Any) -> tuple[Any, ...]:
    return tuple(getattr(item, name) for name, entry in item._shape.items() if entry.compare)


def _equal(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(cls: type) -> Callable[[Any], int]:
    values = attrgetter(*(name for name, entry in cls._shape.items() if entry.compare))  # type: ignore[attr-defined]
    return lambda self: hash(values(self))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._shape)})"


def dataclass(cls: Any = None, *, slots: bool = False, frozen: bool = False, eq: bool = True) -> Any:
    """See `dataclasses.dataclass`."""
    return _shape(cls, eq, frozen, slots) if cls is not None else lambda made: _shape(made, eq, frozen, slots)


def replace(item: Any, **changes: Any) -> Any:
    """See `dataclasses.replace`."""
    return type(item)(**{**{name: getattr(item, name) for name in item._shape}, **changes})

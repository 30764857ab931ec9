"""The base of everything an author defines: frozen, validated data with a type string.

A *definition* is a class, an *occurrence* an instance. Class keyword arguments become one frozen
`Definition` per class, and what an occurrence may emit or take is read off its type parameters, so the
type checker, the registry and the reader see the same thing once.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Never, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import DefinitionError

Kind = Literal["event", "effect", "item"]
PLATFORM_PREFIX = "@platform/"


class Data(BaseModel):
    """Frozen data. Unknown fields are refused when an occurrence is made and kept when it is read from storage.

    Fields are stored by name, so an alias is only what senders and models write. NaN is never stored as null.
    A field may not have a name that the platform uses itself: that raises `DefinitionError`.
    Example: `class Address(Data): street: str`, as the type of a field.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        ser_json_inf_nan="constants",
        validate_by_name=True,
        validate_by_alias=True,
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, annotation in inspect.get_annotations(cls).items():
            if "ClassVar" not in str(annotation) and _is_taken(cls, name):
                raise DefinitionError(
                    f'{cls.__name__}: the platform uses the name "{name}" itself. Rename the field; with '
                    f'`Field(alias="{name}")` senders and models can write it as before.'
                )

    def evolve(self, **changes: Any) -> Self:
        """Return a validated copy with fields changed: `self.evolve(euros=12)`. Raises `pydantic.ValidationError`."""
        current = {name: getattr(self, name) for name in type(self).model_fields}
        copy = type(self).model_validate({**current, **changes})
        if self.__pydantic_extra__:
            object.__setattr__(copy, "__pydantic_extra__", dict(self.__pydantic_extra__))
        return copy


def _is_taken(cls: type[Data], name: str) -> bool:
    """Whether a field would hide a method or constant of the platform's own base classes."""
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith(__package__ or "")]
    names = {name for base in bases for name in {*vars(base), *inspect.get_annotations(base)}}
    return name in names and not any(name in getattr(base, "model_fields", {}) for base in bases)


DataT = TypeVar("DataT", bound=BaseModel)


def load(cls: type[DataT], stored: Mapping[str, Any]) -> DataT:
    """Read stored data, keeping fields that today's class does not know. Raises `pydantic.ValidationError`.

    The value shares no list or dictionary with what is stored: agent code that changes one in place would
    otherwise change the past, and its change would not be seen as one.
    """
    return cls.model_validate(_copied(stored), extra="allow")


def _copied(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _copied(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_copied(entry) for entry in value]
        case _:
            return value


def dump(value: BaseModel) -> dict[str, Any]:
    """Return plain JSON data, with unknown fields that `load` kept merged back at every depth.

    Pydantic's own dump loses them for classes that forbid extra fields, and old code would then erase
    what newer code wrote. Sets are sorted: their own order is another one in every process.
    """
    raw: dict[str, Any] = value.model_dump(mode="json", by_alias=False)
    _complete(value, raw)
    return raw


def _complete(value: Any, raw: Any) -> None:
    match value, raw:
        case BaseModel(), dict():
            for name, extra in (value.__pydantic_extra__ or {}).items():
                raw.setdefault(name, extra)
            for name in type(value).model_fields.keys() & raw.keys():
                _complete(getattr(value, name), raw[name])
        case list() | tuple() | set() | frozenset(), list():
            for entry, raw_entry in zip(value, raw, strict=True):
                _complete(entry, raw_entry)
            if isinstance(value, set | frozenset):
                raw.sort(key=repr)
        case dict(), dict():
            for entry, raw_entry in zip(value.values(), raw.values(), strict=True):
                _complete(entry, raw_entry)
        case _:
            pass


@dataclass(frozen=True)
class Definition:
    """What the class keywords of one definition said."""

    kind: Kind
    type: str
    options: Mapping[str, Any] = field(default_factory=dict)


_registry: dict[tuple[Kind, str], list[type[Any]]] = {}


def register(cls: type[Any], definition: Definition) -> None:
    """Enter a class under its type string. A class that is defined again in place (a reload) replaces itself."""
    entry = _registry.setdefault((definition.kind, definition.type), [])
    entry[:] = [other for other in entry if _address(other) != _address(cls)]
    entry.append(cls)


def find(kind: Kind, type: str) -> type[Any] | None:
    """Return the class registered under a type string, or None where this process does not know it."""
    entry = _registry.get((kind, type))
    return entry[-1] if entry else None


def registered() -> Iterator[tuple[Kind, str, list[type[Any]]]]:
    """Yield every registered type with its classes; more than one class for a type is a mistake to report."""
    for (kind, type), classes in sorted(_registry.items()):
        yield kind, type, list(classes)


def _address(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


class Typed(Data):
    """Data that is stored under a type string, which its class names: `class Found(SessionEvent, type="found")`."""

    _kind: ClassVar[Kind]
    __definition__: ClassVar[Definition]

    def __init_subclass__(cls, *, type: str | None = None, **options: Any) -> None:
        super().__init_subclass__()
        if type is None:
            return
        if type.startswith(PLATFORM_PREFIX) and not cls.__module__.startswith(__package__ or ""):
            raise DefinitionError(
                f'{cls.__name__}: the type "{type}" begins with "{PLATFORM_PREFIX}", which is reserved for the '
                "platform. Choose a name of your own."
            )
        cls.__definition__ = Definition(cls._kind, type, options)
        register(cls, cls.__definition__)

    @classmethod
    def type_name(cls) -> str:
        """Return the type string. Raises `DefinitionError` for a class that has none."""
        definition = cls.__dict__.get("__definition__")
        if definition is None:
            raise DefinitionError(
                f'{cls.__name__} has no type string. Write it as `class {cls.__name__}(…, type="…")`.'
            )
        name: str = definition.type
        return name


class TypeParameters:
    """Makes `Base[Events]` a plain alias: Pydantic would build a sub-model and hide what was written."""

    def __class_getitem__(cls, parameters: Any) -> Any:
        return types.GenericAlias(cls, parameters)


def type_parameters(cls: type[Any], base: type[Any]) -> tuple[Any, ...]:
    """Return what `cls` wrote between the brackets of `base`, looking through its ancestors; () if nothing."""
    for ancestor in cls.__mro__:
        for written in ancestor.__dict__.get("__orig_bases__", ()):
            origin = get_origin(written)
            if isinstance(origin, type) and issubclass(origin, base) and issubclass(base, origin):
                return get_args(written)
    return ()


def union_members(parameter: Any) -> tuple[type[Any], ...]:
    """Return the classes of `A | B`; none for `Never`, `None` or an unfilled type variable."""
    if get_origin(parameter) in (Union, types.UnionType):
        return tuple(member for part in get_args(parameter) for member in union_members(part))
    if parameter is Never or parameter is None or not isinstance(parameter, type) or parameter is types.NoneType:
        return ()
    return (parameter,)


def field_errors(error: ValidationError) -> tuple[tuple[tuple[str | int, ...], str], ...]:
    """Return Pydantic's errors as `(path, message)` pairs."""
    return tuple((entry["loc"], entry["msg"]) for entry in error.errors(include_url=False, include_input=False))


def explain(error: ValidationError) -> str:
    """Return Pydantic's errors as one line a model or a person can act on."""
    lines = [f"{'.'.join(map(str, path)) or 'value'}: {message}" for path, message in field_errors(error)]
    return "; ".join(lines)

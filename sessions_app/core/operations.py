"""Operations: the facts an event leaves behind. Applying them needs no agent code.

A delta is a list of operations in order. Folding all deltas of a session from nothing gives its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from .data import Data
from .messages import Message


class Render(Data):
    """A stored render. Platform items store no messages: their data says it all."""

    status: Literal["pending", "ready"]
    label: str = ""
    fraction: float | None = None
    messages: tuple[Message, ...] = ()


class SessionChanged(Data):
    """Fields of the session row changed."""

    op: Literal["session"] = "session"
    set: Mapping[str, Any]


class StateChanged(Data):
    """Top-level fields of the agent state changed."""

    op: Literal["state"] = "state"
    set: Mapping[str, Any]


class ItemCreated(Data):
    """An item came to be: nested under `parent`, or in the order at `after` (None: at its end; "": at its head)."""

    op: Literal["item-created"] = "item-created"
    id: str
    type: str
    data: Mapping[str, Any]
    render: Render
    parent: str = ""
    index: int = 0
    after: str | None = None


class ItemChanged(Data):
    """Fields of an item's data changed, or its render, or how many answers from outside it took."""

    op: Literal["item-changed"] = "item-changed"
    id: str
    set: Mapping[str, Any] = Field(default_factory=dict)
    render: Render | None = None
    answers: int | None = None
    reason: str | None = None


class ItemClosed(Data):
    """The platform closed an item, or opened it again (`closed` is empty then)."""

    op: Literal["item-closed"] = "item-closed"
    id: str
    closed: str
    reason: str = ""


class ItemDeleted(Data):
    """An item is gone."""

    op: Literal["item-deleted"] = "item-deleted"
    id: str


class ItemMoved(Data):
    """A top-level item moved behind `after` ("" is the head), or was hidden."""

    op: Literal["item-moved"] = "item-moved"
    id: str
    after: str = ""
    hidden: bool = False


class EffectStarted(Data):
    """An effect is to run."""

    op: Literal["effect-started"] = "effect-started"
    id: str
    type: str
    payload: Mapping[str, Any]
    policy: Mapping[str, Any]
    owner: str = ""


class EffectFinished(Data):
    """An effect reached its one outcome."""

    op: Literal["effect-ended"] = "effect-ended"
    id: str
    outcome: str
    message: str = ""


ItemOperation = ItemCreated | ItemChanged | ItemClosed | ItemDeleted | ItemMoved

Operation = Annotated[
    SessionChanged | StateChanged | ItemCreated | ItemChanged | ItemClosed | ItemDeleted | ItemMoved
    | EffectStarted | EffectFinished,
    Field(discriminator="op"),
]  # fmt: skip

_operations: TypeAdapter[tuple[Operation, ...]] = TypeAdapter(tuple[Operation, ...])

POINTER = "$payload"
LITERAL = "$literal"
POINTER_LENGTH = 32
"""Shorter texts are cheaper to repeat than to point to."""


def dump_delta(operations: Sequence[Operation], payload: Any) -> list[Any]:
    """Return a delta as JSON data, in which long texts that stand in the payload are pointers to it."""
    places = {text: list(path) for path, text in _texts(payload, ()) if len(text) >= POINTER_LENGTH}
    return [_point(_written_fields(operation), places) for operation in operations]


def _written_fields(operation: Operation) -> dict[str, Any]:
    """Leave out what a default says anyway, at the top level only: deeper fields may be discriminators."""
    fields = type(operation).model_fields
    raw = operation.model_dump(mode="json")
    return {
        name: value
        for name, value in raw.items()
        if name == "op" or getattr(operation, name) != fields[name].get_default(call_default_factory=True)
    }


def load_delta(delta: Sequence[Any], payload: Any) -> tuple[Operation, ...]:
    """Return the operations of a stored delta."""
    return _operations.validate_python([_resolve(entry, payload) for entry in delta])


def _texts(value: Any, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], str]]:
    match value:
        case str():
            return [(path, value)]
        case dict():
            return [found for key, entry in value.items() for found in _texts(entry, (*path, key))]
        case list() | tuple():
            return [found for index, entry in enumerate(value) for found in _texts(entry, (*path, index))]
        case _:
            return []


def _point(value: Any, places: Mapping[str, list[str | int]]) -> Any:
    match value:
        case str() if value in places:
            return {POINTER: places[value]}
        case dict():
            entries = {key: _point(entry, places) for key, entry in value.items()}
            return {LITERAL: entries} if POINTER in value or LITERAL in value else entries
        case list() | tuple():
            return [_point(entry, places) for entry in value]
        case _:
            return value


def _resolve(value: Any, payload: Any) -> Any:
    match value:
        case {"$payload": list(path), **rest} if not rest:
            found = payload
            for key in path:
                found = found[key]
            return found
        case {"$literal": dict(entries), **rest} if not rest:
            return {key: _resolve(entry, payload) for key, entry in entries.items()}
        case dict():
            return {key: _resolve(entry, payload) for key, entry in value.items()}
        case list():
            return [_resolve(entry, payload) for entry in value]
        case _:
            return value

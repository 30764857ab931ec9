"""What tools and effects hand back, checked against what they declared and made plain data for the reducer."""

from __future__ import annotations

from typing import Any

from .change import EFFECTS_PER_EVENT, storable
from .data import Typed, dump
from .effects import ContextItemEffect, Effect
from .errors import HandlerError
from .events import Event
from .items import ContextItem, ItemResult
from .platform import Approval, AssistantMessage, EffectFailed, ToolCall
from .reasons import short_reason
from .results import as_result
from .tools import Tool, ToolResult


def tool_finished_payload(tool: Tool[Any], effect_id: str, result: Any) -> dict[str, Any]:
    """Return the payload that reports a tool's result. Raises `HandlerError` naming what cannot be used."""
    name = tool.tool_name
    if not isinstance(result, ToolResult):
        raise HandlerError(f"{name} returned {type(result).__name__}, not a ToolResult.")
    for event in result.events:
        _check_declared(name, type(tool).emits(), event)
    items = [_created(name, item) for item in result.context_items]
    if sum(len(item["effects"]) for item in items) > EFFECTS_PER_EVENT:
        raise HandlerError(f"The items {name} returned start more than {EFFECTS_PER_EVENT} effects. Return fewer.")
    return {"effect_id": effect_id, "items": items, "events": [emitted(event) for event in result.events]}


def _created(tool_name: str, item: Any) -> dict[str, Any]:
    result: Any = as_result(item)
    if not isinstance(result, ItemResult) or not isinstance(result.data, ContextItem):
        raise HandlerError(f"{tool_name} returned {type(item).__name__} among its items. Return context items.")
    if isinstance(result.data, AssistantMessage | ToolCall | Approval | EffectFailed):
        raise HandlerError(f"{tool_name} returned {type(result.data).__name__}, which only the platform makes.")
    for effect in result.effects:
        if not isinstance(effect, ContextItemEffect):
            raise HandlerError(f"A context item starts ContextItemEffect objects, not {type(effect).__name__}.")
    return {
        "type": result.data.type_name(),
        "data": _plain(result.data),
        "effects": [emitted(effect) for effect in result.effects],
    }


def emitted(value: Any) -> dict[str, Any]:
    """Return an event or effect as its type and payload. Raises `HandlerError` naming what has no stored form."""
    if not isinstance(value, Event | Effect):
        raise HandlerError(f"Expected an event or effect, got {type(value).__name__}.")
    return {"type": value.type_name(), "payload": _plain(value)}


def _plain(value: Typed) -> dict[str, Any]:
    """Return a value as stored data. Texts keep their form, sets become sorted lists, dates and decimals texts."""
    name = type(value).__name__
    try:
        raw = dump(value)
    except Exception as error:
        raise HandlerError(f"{name} cannot be stored: {_culprit(value)}: {short_reason(error)}") from error
    return storable(raw, name)


def _culprit(value: Typed) -> str:
    """Return the field that has no JSON form."""
    for name in type(value).model_fields:
        try:
            value.model_dump(mode="json", include={name})
        except Exception:
            return name
    return "value"


def check_emits(effect: Effect, event: Event) -> None:
    """Raise `HandlerError` for an event that an effect does not declare."""
    declared: tuple[type[Event], ...] = getattr(type(effect), "emits")()  # noqa: B009  # session and item effects have it
    _check_declared(type(effect).__name__, declared, event)


def _check_declared(who: str, declared: tuple[type[Event], ...], event: object) -> None:
    if not isinstance(event, declared):
        names = ", ".join(cls.__name__ for cls in declared) or "no events"
        raise HandlerError(f"{who} sent {type(event).__name__}, but declares {names}. Add it between the brackets.")

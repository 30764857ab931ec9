"""What tools and effects hand back, checked against what they declared and made plain data for the reducer."""

from __future__ import annotations

from typing import Any

from .agent import as_result
from .change import storable
from .data import dump
from .effects import Effect
from .errors import HandlerError
from .events import Event
from .items import ContextItem, ItemResult
from .tools import Tool, ToolResult


def tool_finished_payload(tool: Tool[Any], effect_id: str, result: Any) -> dict[str, Any]:
    """Return the payload that reports a tool's result. Raises `HandlerError` naming what cannot be used."""
    if not isinstance(result, ToolResult):
        raise HandlerError(f"{tool.tool_name} returned {type(result).__name__}, not a ToolResult.")
    for event in result.events:
        _check_declared(tool.tool_name, type(tool).emits(), event)
    return {
        "effect_id": effect_id,
        "items": [_created(tool.tool_name, item) for item in result.context_items],
        "events": [emitted(event) for event in result.events],
    }


def _created(tool_name: str, item: Any) -> dict[str, Any]:
    result: Any = as_result(item)
    if not isinstance(result, ItemResult) or not isinstance(result.data, ContextItem):
        raise HandlerError(f"{tool_name} returned {type(item).__name__} among its items. Return context items.")
    return {
        "type": result.data.type_name(),
        "data": storable(dump(result.data), type(result.data).__name__),
        "effects": [emitted(effect) for effect in result.effects],
    }


def emitted(value: Any) -> dict[str, Any]:
    """Return an event or effect as its type and payload."""
    if not isinstance(value, Event | Effect):
        raise HandlerError(f"Expected an event or effect, got {type(value).__name__}.")
    return {"type": value.type_name(), "payload": storable(dump(value), type(value).__name__)}


def check_emits(effect: Effect, event: Event) -> None:
    """Raise `HandlerError` for an event that an effect does not declare."""
    declared: tuple[type[Event], ...] = getattr(type(effect), "emits")()  # noqa: B009  # session and item effects have it
    _check_declared(type(effect).__name__, declared, event)


def _check_declared(who: str, declared: tuple[type[Event], ...], event: object) -> None:
    if not isinstance(event, declared):
        names = ", ".join(cls.__name__ for cls in declared) or "no events"
        raise HandlerError(f"{who} sent {type(event).__name__}, but declares {names}. Add it between the brackets.")

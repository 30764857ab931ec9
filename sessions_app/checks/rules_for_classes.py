"""Mistakes within one event, effect, item or tool, or between an effect and what takes its events."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.db.models import Model
from pydantic import BaseModel, PydanticUserError

from sessions_app.core.agent import Agent
from sessions_app.core.data import registered
from sessions_app.core.effects import ContextItemEffect, SessionEffect
from sessions_app.core.events import ContextItemEvent, Event, SessionEvent
from sessions_app.core.items import ContextItem
from sessions_app.core.tools import Tool
from sessions_app.discovery import is_named
from sessions_app.models import StoredEffect, StoredEvent, StoredItem

from .definitions import Definitions, error, names, warning

Rule = Callable[[Definitions], Iterable[CheckMessage]]

ITEM_METHODS = ("handle_event", "handle_effect_ended", "render")


def one_class_for_a_type(definitions: Definitions) -> Iterator[CheckMessage]:
    known = {*definitions.events, *definitions.effects, *definitions.items}
    for kind, type, classes in registered():
        ours = [cls for cls in classes if cls in known]
        for cls in ours[1:]:
            reason = f'has the {kind} type "{type}", and so has {ours[0].__module__}.{ours[0].__qualname__}.'
            yield error(1, cls, reason, "Stored data could be read as either: give one of them another type.")


def classes_have_names(definitions: Definitions) -> Iterator[CheckMessage]:
    for cls in definitions.nameless:
        word = "name" if issubclass(cls, Agent | Tool) else "type"
        remedy = f'Write `class {cls.__name__}({cls.__bases__[0].__name__}, {word}="…")`, or remove it.'
        yield error(3, cls, f"has no {word}, so that nothing can use it.", remedy)


def effects_report_what_is_taken(definitions: Definitions) -> Iterator[CheckMessage]:
    known = (*definitions.agents, *definitions.items, *definitions.nameless)
    for effect in definitions.effects:
        for_items = issubclass(effect, ContextItemEffect)
        owners: list[Any] = [cls for cls in known if issubclass(cls, ContextItem if for_items else Agent)]
        emitted = {event for event in effect.emits() if issubclass(event, _event_base(effect))}
        if not any(emitted <= set(owner.event_types()) for owner in owners) and emitted:
            nearest = max(owners, key=lambda owner: len(emitted & set(owner.event_types())), default=None)
            missing = emitted - set(nearest.event_types()) if nearest else emitted
            word = "item" if for_items else "agent"
            reason = f"sends {names(sorted(missing, key=_name))}, and no {word} takes all that it sends."
            yield error(4, effect, reason, f"Add it between the brackets of the {word} that starts this effect.")


def brackets_hold_usable_events(definitions: Definitions) -> Iterator[CheckMessage]:
    brackets: list[tuple[type, tuple[type[Event], ...]]] = [
        *((agent, agent.event_types()) for agent in definitions.agents),
        *((item, item.event_types()) for item in definitions.items),
        *((tool, tool.emits()) for tool in definitions.tools),
        *((effect, effect.emits()) for effect in definitions.effects),
    ]
    for cls, events in brackets:
        base = _event_base(cls)
        for event in events:
            if not issubclass(event, base):
                reason = f"has {event.__name__} between its brackets, which is no {base.__name__}."
                yield error(5, cls, reason, f"Make {event.__name__} from {base.__name__}, or name another event.")
            elif not is_named(event) and event not in definitions.nameless:
                reason = f"has {event.__name__} between its brackets, which has no type of its own."
                yield error(5, cls, reason, f"Name the events that are made from {event.__name__}, joined with |.")


def methods_are_written(definitions: Definitions) -> Iterator[CheckMessage]:
    needed: list[tuple[type, type, str]] = [
        *((item, ContextItem, "render") for item in definitions.items),
        *((item, ContextItem, "handle_event") for item in definitions.items if item.event_types()),
        *((tool, Tool, "execute") for tool in definitions.tools),
        *((effect, _base(effect), "run") for effect in definitions.effects),
    ]
    for cls, base, method in needed:
        if getattr(cls, method) is getattr(base, method):
            signature = "self" if method == "render" else "self, event" if method == "handle_event" else "self, context"
            keyword = "async def" if method in ("run", "execute") else "def"
            yield error(7, cls, f"has no {method}.", f"Write `{keyword} {method}({signature})`.")


def methods_wait_where_they_may(definitions: Definitions) -> Iterator[CheckMessage]:
    for cls in (*definitions.tools, *definitions.effects):
        method = "execute" if issubclass(cls, Tool) else "run"
        if not inspect.iscoroutinefunction(getattr(cls, method)):
            yield error(8, cls, f"has a {method} that is not async.", f"Write `async def {method}(self, context)`.")
    for item in definitions.items:
        yield from no_waiting(item, ITEM_METHODS)


def no_waiting(cls: type, methods: Iterable[str]) -> Iterator[CheckMessage]:
    """Report methods that run inside an event and are written as if they could wait."""
    for method in methods:
        if inspect.iscoroutinefunction(getattr(cls, method)):
            remedy = f"Write `def {method}` without async, and do what takes time in an effect."
            yield error(9, cls, f"has an async {method}, and handlers never wait.", remedy)


def schemas_can_be_written(definitions: Definitions) -> Iterator[CheckMessage]:
    for cls in (*definitions.tools, *definitions.events, *definitions.effects, *definitions.items):
        yield from schema_of(cls, cls)


def schema_of(cls: type, data: type[BaseModel]) -> Iterator[CheckMessage]:
    """Report data that cannot be described in JSON Schema; `cls` is what it belongs to."""
    try:
        data.model_json_schema()
    except (PydanticUserError, NameError) as problem:
        whose = "" if cls is data else f"{data.__name__}: "
        reason = f"cannot be described in JSON Schema: {whose}{str(problem).partition(chr(10))[0]}"
        yield error(10, cls, reason, "Use fields that JSON can hold: text, numbers, lists, and classes made from Data.")


def types_fit_their_columns(definitions: Definitions) -> Iterator[CheckMessage]:
    for event in definitions.events:
        yield from fits(event, "type", event.type_name(), StoredEvent)
    for effect in definitions.effects:
        yield from fits(effect, "type", effect.type_name(), StoredEffect)
    for item in definitions.items:
        yield from fits(item, "type", item.type_name(), StoredItem)


def fits(cls: type, word: str, text: str, model: type[Model], column: str = "type") -> Iterator[CheckMessage]:
    """Report a text that is longer than its column. `word` is what it is called."""
    longest: int = getattr(model._meta.get_field(column), "max_length")  # noqa: B009 (not every field has one)
    if len(text) > longest:
        yield error(15, cls, f"has a {word} of {len(text)} characters.", f"Use {longest} characters at most.")


def results_cannot_be_faked(definitions: Definitions) -> Iterator[CheckMessage]:
    for effect in definitions.effects:
        for event in effect.emits():
            if is_named(event) and not event.is_private():
                reason = f"sends {event.__name__}, which is public: anyone who may use the session could fake it."
                yield warning(1, effect, reason, f"Write `class {event.__name__}(…, private=True)`.")


def _event_base(cls: type) -> type[Event]:
    return ContextItemEvent if issubclass(cls, ContextItem | ContextItemEffect) else SessionEvent


def _base(effect: type) -> type:
    return ContextItemEffect if issubclass(effect, ContextItemEffect) else SessionEffect


def _name(cls: type) -> str:
    return cls.__name__


CLASS_RULES: tuple[Rule, ...] = (
    one_class_for_a_type,
    classes_have_names,
    effects_report_what_is_taken,
    brackets_hold_usable_events,
    methods_are_written,
    methods_wait_where_they_may,
    schemas_can_be_written,
    types_fit_their_columns,
    results_cannot_be_faked,
)

"""What there is to check, and how a mistake in it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.checks import Error, Warning

from sessions_app.core.agent import Agent
from sessions_app.core.effects import ContextItemEffect, Effect, SessionEffect
from sessions_app.core.events import Event
from sessions_app.core.items import ContextItem
from sessions_app.core.tools import Tool
from sessions_app.discovery import descendants, is_named, place_of_class


@dataclass(frozen=True)
class Definitions:
    """Classes of authors, in the order of definition."""

    agents: tuple[type[Agent[Any, Any]], ...]
    tools: tuple[type[Tool[Any]], ...]
    events: tuple[type[Event], ...]
    effects: tuple[type[SessionEffect[Any] | ContextItemEffect[Any]], ...]
    items: tuple[type[ContextItem[Any]], ...]
    nameless: tuple[type, ...]
    """Classes that nothing is made from and that have no type or name: they cannot be used."""

    @classmethod
    def of_this_process(cls) -> Definitions:
        """Return all there are, except the platform's own."""
        return cls.where(lambda each: not each.__module__.startswith("sessions_app."))

    @classmethod
    def where(cls, wanted: Callable[[type], bool]) -> Definitions:
        """Return those for which `wanted` is true."""

        def found(base: type) -> tuple[Any, ...]:
            return tuple(each for each in descendants(base) if wanted(each) and is_named(each))

        kinds = (Agent, Tool, Event, Effect, ContextItem)
        leaves = [each for base in kinds for each in descendants(base) if wanted(each) and not descendants(each)]
        nameless = tuple(leaf for leaf in leaves if not is_named(leaf))
        return cls(found(Agent), found(Tool), found(Event), found(Effect), found(ContextItem), nameless)


def error(number: int, cls: type, reason: str, remedy: str) -> Error:
    """Return a mistake the site cannot start with."""
    return Error(f"{cls.__name__} {reason}", hint=remedy, obj=_place(cls), id=f"sessions_app.E{number:03}")


def warning(number: int, cls: type, reason: str, remedy: str) -> Warning:
    """Return what is probably a mistake."""
    return Warning(f"{cls.__name__} {reason}", hint=remedy, obj=_place(cls), id=f"sessions_app.W{number:03}")


def _place(cls: type) -> str:
    file, line = place_of_class(cls)
    return f"{file}:{line}" if file else f"{cls.__module__}.{cls.__qualname__}"


def names(classes: Any) -> str:
    """Return the names of classes as a list in a sentence."""
    return ", ".join(cls.__name__ for cls in classes) or "nothing"

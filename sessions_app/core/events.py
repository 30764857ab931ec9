"""Events: something that happened; the only way state changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import PrivateAttr

from .data import Kind, Typed

SenderKind = Literal["person", "command", "schedule", "effect", "tool", "handler", "system"]
OUTSIDE: frozenset[SenderKind] = frozenset({"person", "command", "schedule"})


@dataclass(frozen=True)
class Sender:
    """Who sent an event: the kind, a stable id (user key, effect id …) and a name to show.

    `kind` is "person", "command", "schedule", "effect", "tool", "handler" or "system".
    """

    kind: SenderKind
    id: str = ""
    name: str = ""

    @property
    def outside(self) -> bool:
        """Whether private events are refused from this sender."""
        return self.kind in OUTSIDE


@dataclass(frozen=True)
class Envelope:
    """What the engine adds to an event. It is not payload."""

    id: str
    time: datetime
    sender: Sender


class Event(Typed):
    """Common to session events and context-item events."""

    _kind: ClassVar[Kind] = "event"
    _envelope: Envelope | None = PrivateAttr(default=None)

    def __init_subclass__(cls, *, type: str | None = None, private: bool = False, **options: Any) -> None:
        super().__init_subclass__(type=type, private=private, **options)

    @classmethod
    def is_private(cls) -> bool:
        """Whether only the system's own effects, tools and handlers may send this event."""
        return bool(cls.__definition__.options.get("private"))

    def sent(self, envelope: Envelope) -> Self:
        """Return a copy that carries its envelope."""
        copy = self.model_copy()
        copy._envelope = envelope
        return copy

    @property
    def envelope(self) -> Envelope:
        """Id, time and sender. Raises `LookupError` on an event that was not sent yet."""
        if self._envelope is None:
            raise LookupError(f"{type(self).__name__} was not sent yet, so it has no id, time or sender.")
        return self._envelope

    @property
    def id(self) -> str:
        """The event's id, unique within its agent session and the same in every replay."""
        return self.envelope.id

    @property
    def time(self) -> datetime:
        """When the event was accepted, in UTC. Use it where you would ask the clock."""
        return self.envelope.time

    @property
    def sender(self) -> Sender:
        """Who sent the event."""
        return self.envelope.sender


class SessionEvent(Event):
    """An event that goes to the agent's `handle_event`.

    Example: `class MeetingConfirmed(SessionEvent, type="meeting-confirmed"): title: str`. With
    `private=True` only the session's own effects, tools and handlers may send it.
    """


class ContextItemEvent(Event):
    """An event that goes to one context item's `handle_event`.

    Example: `class AnswerProvided(ContextItemEvent, type="answer-provided"): answer: str`.
    """

"""Context items: typed pieces of session data that render to messages, or stay pending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import PrivateAttr
from typing_extensions import TypeVar as TypeVarWithDefault

from .data import Kind, Typed, TypeParameters, type_parameters, union_members
from .effects import Effect, EffectEnded
from .events import ContextItemEvent, Event
from .messages import Message

ItemEventT = TypeVarWithDefault("ItemEventT", bound=ContextItemEvent, default=ContextItemEvent)
ItemT = TypeVar("ItemT", bound="ContextItem[Any]", covariant=True)
Closed = Literal["cancelled", "skipped", "failed", "timed out", "expired", "outcome unknown"]


@dataclass(frozen=True)
class RenderResult:
    """What an item is right now: ready with messages, or pending with a label and a fraction for the page.

    Examples: `RenderResult.ready(Message.user("12 EUR"))` and `RenderResult.pending("Asking the shop…", 0.25)`.
    """

    status: Literal["pending", "ready"]
    messages: tuple[Message, ...] = ()
    label: str = ""
    fraction: float | None = None

    @classmethod
    def pending(cls, label: str = "", fraction: float | None = None) -> RenderResult:
        """Return a pending render. `label` is cut at 300 characters. `fraction` is how much is done, between 0 and 1;
        None means that the end is not known. Raises `ValueError` for another fraction.
        """
        if fraction is not None and not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be between 0 and 1, not {fraction}")
        return cls("pending", label=label, fraction=fraction)

    @classmethod
    def ready(cls, *messages: Message) -> RenderResult:
        """Return a ready render. Under a tool call the messages are the call's result."""
        return cls("ready", messages=messages)


@dataclass(frozen=True)
class ItemResult(Generic[ItemT]):
    """What `create` and `handle_event` return: the item's data and the effects to start.

    Example: `ItemResult(self.evolve(euros=12), effects=[FindPrice(title="Tea")])`.
    """

    data: ItemT
    effects: Sequence[Effect] = ()


class ContextItem(TypeParameters, Typed, Generic[ItemEventT]):
    """A typed piece of session data: `class FlightSearch(ContextItem[FlightsReady], type="flight-search")`.

    Its fields are its data. It takes the events between its brackets; one that is not private is a form on the page.
    The class keyword `answers_when_ready=True` lets people send events also after the item became ready.
    `label_running`, `label_done` and `label_failed` are titles for the page, where the type in words would not do.

        class AnswerProvided(ContextItemEvent, type="answer-provided"):
            answer: str


        class Question(ContextItem[AnswerProvided], type="question"):
            question: str
            answer: str | None = None

            def handle_event(self, event):
                return ItemResult(self.evolve(answer=event.answer))

            def render(self):
                if self.answer is None:
                    return RenderResult.pending(self.question)
                return RenderResult.ready(Message.user(self.answer))
    """

    _kind: ClassVar[Kind] = "item"
    _id: str = PrivateAttr(default="")

    def __init_subclass__(cls, *, type: str | None = None, answers_when_ready: bool = False, **options: Any) -> None:
        super().__init_subclass__(type=type, answers_when_ready=answers_when_ready, **options)

    @property
    def id(self) -> str:
        """The item's id within its session; empty while the item is being created."""
        return self._id

    def with_id(self, item_id: str) -> Self:
        """Return a copy that knows its id."""
        copy = self.model_copy()
        copy._id = item_id
        return copy

    def handle_event(self, event: ItemEventT) -> ItemResult[Self]:
        """Return the item after an event. Pure: no clock, chance or I/O; `event.time` and `event.id` serve."""
        raise NotImplementedError(f"{type(self).__name__} takes {type(event).__name__} but has no handle_event.")

    def handle_effect_ended(self, ended: EffectEnded) -> ItemResult[Self] | None:
        """React to the end of an effect of this item. None leaves a pending item to the platform, which closes it."""
        return None

    def render(self) -> RenderResult:
        """Return the messages a model reads, or pending while data is missing. Pure."""
        raise NotImplementedError(f"{type(self).__name__} has no render.")

    @classmethod
    def event_types(cls) -> tuple[type[Event], ...]:
        """Return the events this item takes."""
        parameters = type_parameters(cls, ContextItem)
        return union_members(parameters[0]) if parameters else ()

    @classmethod
    def accepts(cls, event_type: str) -> type[Event] | None:
        """Return the class of an event this item takes, or None."""
        return next((event for event in cls.event_types() if event.type_name() == event_type), None)

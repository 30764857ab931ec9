"""What an agent returns: states, prompts, and the updates its handlers ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal

from typing_extensions import TypeVar as TypeVarWithDefault

from .data import Data
from .effects import Effect
from .events import ContextItemEvent
from .items import ContextItem, ItemResult
from .messages import TextPart


class AgentState(Data):
    """Base of an agent's own data. Give every field a default, or make the first state in `create_session`.

    Example: `class BakerState(AgentState): loaves: int = 0`, used as `Agent[BakerState]`.
    """


class SessionArgs(Data):
    """Base of the arguments a session is created with. They become the form that starts a session.

    Example: `class TopicArgs(SessionArgs): topic: str`, used as `def create_session(self, args: TopicArgs)`. An agent
    without arguments uses this class as it is.
    """


@dataclass(frozen=True)
class SystemPromptRenderResult:
    """A system prompt: ready with text parts, or pending, and then generation waits.

    Example: `SystemPromptRenderResult.ready(f"Explain the answer for {state.audience}.")`.
    """

    status: Literal["pending", "ready"]
    parts: tuple[TextPart, ...] = ()

    @classmethod
    def pending(cls) -> SystemPromptRenderResult:
        """Return a prompt that is still missing something."""
        return cls("pending")

    @classmethod
    def ready(cls, *parts: TextPart | str) -> SystemPromptRenderResult:
        """Return a prompt of text parts; a plain string is a text part."""
        return cls("ready", tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts))


@dataclass(frozen=True)
class StateUpdate:
    """One change a session handler asks for.

    Made by `set_agent_state`, `set_context_item_order`, `set_title`, `add_context_item`, `delete_context_item` and
    `dispatch_to_context_item`, which only say what to do. A change that cannot be made fails the whole event.
    """


@dataclass(frozen=True)
class SetAgentState(StateUpdate):
    state: AgentState


@dataclass(frozen=True)
class SetContextItemOrder(StateUpdate):
    order: tuple[str, ...]


@dataclass(frozen=True)
class SetTitle(StateUpdate):
    title: str


@dataclass(frozen=True)
class AddContextItem(StateUpdate):
    item: ItemResult[Any]
    before: str | None = None
    after: str | None = None
    generate: bool = False


@dataclass(frozen=True)
class DeleteContextItem(StateUpdate):
    item_id: str


@dataclass(frozen=True)
class DispatchToContextItem(StateUpdate):
    item_id: str
    event: ContextItemEvent


def set_agent_state(state: AgentState) -> StateUpdate:
    """Replace the agent state. It must be of the agent's own state class.

    Example: `set_agent_state(state.agent_state.evolve(status="scheduled"))`.
    """
    return SetAgentState(state)


def set_context_item_order(order: Sequence[str]) -> StateUpdate:
    """Set the visible items and their order. An id left out is hidden, an id added back is restored.

    Only ids of top-level items, each once. A reply that is being written stays, and nothing moves past it.
    Example: `set_context_item_order([each for each in state.context_item_order if each != event.item_id])`.
    """
    return SetContextItemOrder(tuple(order))


def set_title(title: str) -> StateUpdate:
    """Set the session's title; what is longer than 200 characters is cut.

    Example: `set_title(f"Trip to {event.city}")`.
    """
    return SetTitle(title)


def add_context_item(
    item: ContextItem[Any] | ItemResult[Any],
    *,
    before: str | None = None,
    after: str | None = None,
    generate: bool = False,
) -> StateUpdate:
    """Add an item last, or `before` or `after` the visible item with that id.

    `generate=True` asks the model to answer once the item is ready; a `UserMessage` asks by itself.
    Example: `add_context_item(FlightSearch.create("Tokyo"), generate=True)`.
    """
    return AddContextItem(as_result(item), before, after, generate)


def delete_context_item(item_id: str) -> StateUpdate:
    """Remove an item for good; deleting an assistant message removes its calls and results too.

    A tool call cannot be deleted by itself. Example: `delete_context_item(event.item_id)`.
    """
    return DeleteContextItem(item_id)


def dispatch_to_context_item(item_id: str, event: ContextItemEvent) -> StateUpdate:
    """Send an event to an item, inside the event that is being handled: both are applied, or neither.

    The item must take the event and not be closed.
    Example: `dispatch_to_context_item(item_id, AnswerProvided(answer="Tea"))`.
    """
    return DispatchToContextItem(item_id, event)


def as_result(item: ContextItem[Any] | ItemResult[Any]) -> ItemResult[Any]:
    """Return an item as the result that creates it."""
    return item if isinstance(item, ItemResult) else ItemResult(item)


@dataclass(frozen=True)
class EventResult:
    """What `handle_event` returns: updates, applied in order and all or none, and effects to start.

    At most 1,000 updates and 100 effects.
    Example: `EventResult([set_agent_state(sending)], effects=[SendInvitation(title="Tea")])`.
    """

    state_updates: Sequence[StateUpdate] = ()
    effects: Sequence[Effect] = ()


StateT = TypeVarWithDefault("StateT", bound=AgentState, default=AgentState)


@dataclass(frozen=True)
class SessionResult(Generic[StateT]):
    """What `create_session` returns: first state, first items in order, first effects.

    Example: `SessionResult(PatientState(), effects=[LoadPatientData(patient_id=args.patient_id)])`.
    """

    agent_state: StateT
    context_items: Sequence[ContextItem[Any] | ItemResult[Any]] = field(default=())
    effects: Sequence[Effect] = field(default=())

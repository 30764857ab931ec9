"""Agents: what an author composes. An agent holds no data of any session; one instance serves them all."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, get_type_hints

from typing_extensions import TypeVar as TypeVarWithDefault

from .data import TypeParameters, type_parameters, union_members
from .effects import Effect, EffectEnded
from .errors import DefinitionError
from .events import Event, SessionEvent
from .items import ContextItem
from .language_model import LanguageModel
from .results import AgentState, EventResult, SessionArgs, SessionResult, StateT, SystemPromptRenderResult
from .tools import Tool

SessionEventT = TypeVarWithDefault("SessionEventT", bound=SessionEvent, default=SessionEvent)
ReadStateT = TypeVarWithDefault("ReadStateT", bound=AgentState, default=AgentState, covariant=True)


class SessionState(Protocol[ReadStateT]):
    """What `handle_event` may read. Items and order are read from storage only when they are asked for."""

    @property
    def agent_state(self) -> ReadStateT:
        """The agent's own state."""
        ...

    @property
    def context_item_order(self) -> list[str]:
        """Ids of the visible top-level items, in order."""
        ...

    @property
    def title(self) -> str:
        """The session's title."""
        ...

    def get_context_item(self, item_id: str) -> ContextItem[Any] | None:
        """Return an item, or None where there is none with this id."""
        ...


_agents: dict[str, type[Agent[Any, Any]]] = {}


def agent_classes() -> dict[str, type[Agent[Any, Any]]]:
    """Return the agents defined so far, by name."""
    return dict(_agents)


class Agent(TypeParameters, Generic[StateT, SessionEventT]):
    """An agent: its prompt, model and tools, its state, and the session events it takes.

    `system_prompt`, `model` and `tools` are attributes where they are constant; override `get_system_prompt`,
    `get_model` or `get_tools` where they depend on the agent state. `tools` always lists every tool the agent
    can offer; `get_tools` picks from it. Class keywords: `name`, and `version`, a label people see. The brackets name
    the state and the events: `Agent[State, Confirmed | Sent]`. Raises `DefinitionError` for a name that cannot be one.

        class LoafSold(SessionEvent, type="loaf-sold"):
            loaves: int = 1


        class BakerState(AgentState):
            sold: int = 0


        class Baker(Agent[BakerState, LoafSold], name="baker"):
            system_prompt, model = "You are a baker.", default_model()

            def handle_event(self, state, event):
                sold = state.agent_state.sold + event.loaves
                return EventResult([set_agent_state(BakerState(sold=sold))])
    """

    name: ClassVar[str]
    """What sessions, settings and commands call it: letters, digits and "-"."""
    version: ClassVar[str] = "1"
    """A label; it is shown and never compared."""
    title: ClassVar[str] = ""
    """What people read; the name in words where there is none."""
    description: ClassVar[str] = ""
    """One line that says what the agent is for."""
    examples: ClassVar[Sequence[str]] = ()
    """Prompts to start with, shown on an empty session's page."""
    system_prompt: str | None = None
    """The prompt, where it is always the same."""
    model: LanguageModel | None = None
    """The model, where it is always the same."""
    tools: Sequence[type[Tool[Any]]] = ()
    """Every tool the agent can offer."""
    context_items: Sequence[type[ContextItem[Any]]] = ()
    """Items that no tool, handler or `create_session` makes by name; others need not be listed."""
    effects: Sequence[type[Effect]] = ()
    """Effects that no handler starts by name; others need not be listed."""

    def __init_subclass__(cls, *, name: str | None = None, version: str = "1") -> None:
        super().__init_subclass__()
        if name is None:
            return
        if not name.strip() or "/" in name:
            raise DefinitionError(f'{cls.__name__}: "{name}" cannot be an agent name. Use letters, digits and "-".')
        cls.name = name
        cls.version = version
        _agents[name] = cls

    def get_system_prompt(self, state: StateT) -> SystemPromptRenderResult:
        """Return the system prompt for the next request, from the agent state at that moment."""
        return SystemPromptRenderResult.ready(*([self.system_prompt] if self.system_prompt else []))

    def get_model(self, state: StateT) -> LanguageModel:
        """Return the model for the next request. Raises `DefinitionError` where the agent has none."""
        if self.model is None:
            raise DefinitionError(f"{type(self).__name__} has no model. Set `model` or override `get_model`.")
        return self.model

    def get_tools(self, state: StateT) -> Sequence[type[Tool[Any]]]:
        """Return the tools to offer in the next request; each must stand in `tools`."""
        return self.tools

    def get_actions(self, state: StateT) -> Sequence[type[SessionEvent]]:
        """Return the public session events to offer to people right now."""
        return [event for event in self.event_types() if not event.is_private()]

    def create_session(self, args: Any) -> SessionResult[StateT]:
        """Return the first state, items and effects. Annotate `args` with a `SessionArgs` class to take arguments."""
        state: Any = self.state_type()()
        return SessionResult(state)

    def handle_event(self, state: SessionState[StateT], event: SessionEventT) -> EventResult:
        """Return what changes after an event. Pure: no clock, chance or I/O; `event.time` and `event.id` serve."""
        raise NotImplementedError(f"{type(self).__name__} takes {type(event).__name__} but has no handle_event.")

    def handle_effect_ended(self, state: SessionState[StateT], ended: EffectEnded) -> EventResult | None:
        """React to the end of a session effect. None leaves it to the platform."""
        return None

    @classmethod
    def state_type(cls) -> type[AgentState]:
        """Return the class of the agent state."""
        parameters = type_parameters(cls, Agent)
        found = parameters[0] if parameters else None
        return found if isinstance(found, type) and issubclass(found, AgentState) else AgentState

    @classmethod
    def args_type(cls) -> type[SessionArgs]:
        """Return the class of the arguments, read off the annotation of `create_session`."""
        hints = get_type_hints(cls.create_session)
        names = [name for name in inspect.signature(cls.create_session).parameters if name != "self"]
        found = hints.get(names[0]) if names else None
        return found if isinstance(found, type) and issubclass(found, SessionArgs) else SessionArgs

    @classmethod
    def event_types(cls) -> tuple[type[SessionEvent], ...]:
        """Return the session events this agent takes."""
        parameters = type_parameters(cls, Agent)
        return union_members(parameters[1]) if len(parameters) > 1 else ()

    @classmethod
    def accepts(cls, event_type: str) -> type[Event] | None:
        """Return the class of a session event this agent takes, or None."""
        return next((event for event in cls.event_types() if event.type_name() == event_type), None)

    def find_tool(self, name: str) -> type[Tool[Any]] | None:
        """Return a tool of the full catalogue by its name, or None."""
        return next((tool for tool in self.tools if tool.tool_name == name), None)

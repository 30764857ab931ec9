"""What a page shows of an agent. An agent's own code runs here, so everything it may do wrong is caught."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sessions_app.core.agent import Agent
from sessions_app.core.data import load
from sessions_app.core.events import SessionEvent
from sessions_app.forms import describe, in_words
from sessions_app.models import StoredSession
from sessions_app.reading import agent_state
from sessions_app.registry import get_agent

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class AgentView:
    """An agent in a catalogue, on its own page, and at the foot of its sessions."""

    name: str
    title: str
    version: str = ""
    purpose: str = ""
    examples: Sequence[str] = ()
    known: bool = True
    has_arguments: bool = False
    names_models: bool = False
    """Whether its answers say which model wrote them: it chooses among several."""


def agent_view(agent: Agent[Any, Any]) -> AgentView:
    """Return what a page shows of an agent."""
    return AgentView(
        name=agent.name,
        title=agent.title or in_words(agent.name),
        version=agent.version,
        purpose=_purpose(agent),
        examples=tuple(agent.examples),
        names_models=type(agent).get_model is not Agent.get_model,
        has_arguments=attempt(lambda: bool(describe(agent.args_type())), False),
    )


def _purpose(agent: Agent[Any, Any]) -> str:
    """The description written for people, else the first paragraph of the docstring."""
    described = getattr(agent, "description", "")
    if isinstance(described, str) and described:
        return described
    paragraph = inspect.cleandoc(type(agent).__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def agent_of(session: StoredSession) -> Agent[Any, Any] | None:
    """Return a session's agent, or None where this process has none of that name."""
    return attempt(lambda: get_agent(session.agent), None)


def view_of_session_agent(session: StoredSession) -> AgentView:
    """Return the agent of a session, also one that is not installed any more."""
    agent = agent_of(session)
    if agent is None:
        return AgentView(session.agent, in_words(session.agent), session.version, known=False)
    return agent_view(agent)


@dataclass(frozen=True)
class Offer:
    """What an agent offers in its present state: the model that would answer, and what a person may do.

    `values` is the state itself: the form of an action begins with what stands there under the names of its fields.
    """

    model: str = ""
    demo: bool = False
    actions: Sequence[type[SessionEvent]] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def offer_of(session: StoredSession) -> Offer:
    """Return what a session's agent offers now; less where its code fails or its stored state does not fit."""
    agent = agent_of(session)
    if agent is None:
        return Offer()
    values = agent_state(session)
    state = attempt(lambda: load(agent.state_type(), values), None)
    if state is None:
        return Offer()
    label = attempt(lambda: str(getattr(agent.get_model(state), "label", "")), "")
    nothing: tuple[type[SessionEvent], ...] = ()
    actions = attempt(lambda: _public(agent.get_actions(state)), nothing)
    return Offer(label, "demo model" in label.lower(), actions, values)


def _public(events: Sequence[type[SessionEvent]]) -> tuple[type[SessionEvent], ...]:
    return tuple(event for event in events if not event.is_private())


def attempt(look: Callable[[], T], otherwise: T) -> T:
    """Return what a piece of agent code says, or `otherwise` where it raises: a page must not fail for it."""
    try:
        return look()
    except Exception as error:
        logger.warning("agent code failed while a page was drawn", extra={"error": f"{type(error).__name__}: {error}"})
        return otherwise

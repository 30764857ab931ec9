"""Mistakes in what an agent composes: its model, tools, state and arguments."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage

from sessions_app.core.agent import Agent
from sessions_app.core.data import type_parameters
from sessions_app.core.results import SessionArgs
from sessions_app.core.tools import Tool
from sessions_app.models import StoredSession

from .definitions import Definitions, error, names, warning
from .rules_for_classes import Rule, fits, no_waiting, schema_of

AGENT_METHODS = (
    "create_session",
    "get_actions",
    "get_model",
    "get_system_prompt",
    "get_tools",
    "handle_effect_ended",
    "handle_event",
)


def one_agent_for_a_name(definitions: Definitions) -> Iterator[CheckMessage]:
    first: dict[str, type] = {}
    for agent in definitions.agents:
        other = first.setdefault(agent.name, agent)
        if other is not agent:
            reason = f'has the name "{agent.name}", and so has {other.__module__}.{other.__qualname__}.'
            yield error(2, agent, reason, "Sessions find their agent by name: give one of them another.")


def tools_tell_the_agent(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        for tool in _tools(agent):
            missing = [event for event in tool.emits() if event not in agent.event_types()]
            if missing:
                reason = f"offers {tool.__name__}, which sends {names(missing)}, and does not take it."
                yield error(6, agent, reason, f"Add it to the agent's events: Agent[…, {names(missing)}].")


def events_are_handled(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        yield from no_waiting(agent, AGENT_METHODS)
        if agent.event_types() and not _overrides(agent, "handle_event"):
            reason = f"takes {names(agent.event_types())} and has no handle_event."
            yield error(7, agent, reason, "Write `def handle_event(self, state, event)`.")


def a_model_answers(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        if agent.model is None and not _overrides(agent, "get_model"):
            yield error(11, agent, "has no model.", "Set `model = default_model()`, or override `get_model`.")
        elif agent.model is not None and not callable(getattr(agent.model, "generate_response", None)):
            reason = f"has {agent.model!r} as its model, which cannot answer."
            yield error(11, agent, reason, "Set a model of sessions_app.providers, such as default_model().")


def the_catalogue_holds_tools(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        tools: Any = agent.tools
        if not isinstance(tools, Sequence) or not all(
            isinstance(tool, type) and issubclass(tool, Tool) for tool in tools
        ):
            remedy = "List classes made from Tool that have a name: tools = (FindFlights, AskUser)."
            yield error(12, agent, f"has {tools!r} as its tools.", remedy)
        elif _overrides(agent, "get_tools") and not tools:
            reason = "picks tools in get_tools, and its catalogue `tools` is empty."
            yield error(14, agent, reason, "List in `tools` every tool that get_tools can return.")
        for name, count in Counter(tool.tool_name for tool in _tools(agent)).items():
            if count > 1:
                remedy = "A model calls tools by name: give one of them another, or list it once."
                yield error(13, agent, f'has {count} tools of the name "{name}".', remedy)


def names_fit_their_columns(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        yield from fits(agent, "name", agent.name, StoredSession, "agent")
        yield from fits(agent, "version", agent.version, StoredSession, "version")


def sessions_can_begin(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        yield from _state_is_state(agent)
        yield from _arguments_are_arguments(agent)
        required = [name for name, field in agent.state_type().model_fields.items() if field.is_required()]
        if required and not _overrides(agent, "create_session"):
            reason = f"begins with {agent.state_type().__name__}(), whose {', '.join(required)} has no default."
            yield error(16, agent, reason, "Give it one, or make the first state in `create_session`.")


def a_prompt_says_what_to_do(definitions: Definitions) -> Iterator[CheckMessage]:
    for agent in definitions.agents:
        prompt: Any = agent.system_prompt
        if prompt is None and not _overrides(agent, "get_system_prompt"):
            remedy = "Say in `system_prompt` what it is for, or override `get_system_prompt`."
            yield warning(2, agent, "has no system prompt, so its model is told nothing.", remedy)
        elif not isinstance(prompt, str | None):
            reason = f"has a {type(prompt).__name__} as its system prompt."
            yield error(17, agent, reason, "Make it one string, or return text parts from `get_system_prompt`.")


def _state_is_state(agent: type[Agent[Any, Any]]) -> Iterator[CheckMessage]:
    written = type_parameters(agent, Agent)
    if written and written[0] is not agent.state_type():
        reason = f"has {getattr(written[0], '__name__', written[0])} as its state, which is no AgentState."
        yield error(19, agent, reason, "Make the class of the state from AgentState.")
    else:
        yield from schema_of(agent, agent.state_type())


def _arguments_are_arguments(agent: type[Agent[Any, Any]]) -> Iterator[CheckMessage]:
    remedy = "Annotate it with a class made from SessionArgs that this module defines or imports."
    _, *parameters = inspect.signature(agent.create_session).parameters.values()
    written = parameters[0].annotation if parameters else inspect.Parameter.empty
    if not parameters:
        yield error(18, agent, "has a create_session that takes no arguments.", "Write `create_session(self, args)`.")
        return
    try:
        args = agent.args_type()
    except NameError as problem:
        yield error(18, agent, f"has a create_session whose annotation cannot be read: {problem}.", remedy)
        return
    if args is SessionArgs and written not in (inspect.Parameter.empty, Any, "Any", SessionArgs, "SessionArgs"):
        yield error(18, agent, f"has a create_session that takes {written}, which is no SessionArgs.", remedy)
    yield from schema_of(agent, args)


def _tools(agent: type[Agent[Any, Any]]) -> list[type[Tool[Any]]]:
    """Return the tools in the catalogue that have a name. What else stands there is told elsewhere."""
    tools: Any = agent.tools
    listed = tools if isinstance(tools, Sequence) else ()
    return [tool for tool in listed if isinstance(tool, type) and hasattr(tool, "tool_name")]


def _overrides(agent: type[Agent[Any, Any]], method: str) -> bool:
    return getattr(agent, method) is not getattr(Agent, method)


AGENT_RULES: tuple[Rule, ...] = (
    one_agent_for_a_name,
    tools_tell_the_agent,
    events_are_handled,
    a_model_answers,
    the_catalogue_holds_tools,
    names_fit_their_columns,
    sessions_can_begin,
    a_prompt_says_what_to_do,
)

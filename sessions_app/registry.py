"""Agent names to agents. An agent is one instance per process; it holds no data of any session."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sessions_app.conf import configuration
from sessions_app.core.agent import Agent, agent_classes
from sessions_app.core.errors import DefinitionError


def discover() -> None:
    """Import the modules named by the AGENTS setting, so that the agents in them are defined."""
    for path in configuration().AGENTS:
        try:
            import_module(path)
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise
            raise DefinitionError(
                f'AGENTSITE_AGENTS names "{path}", and there is no module "{error.name}". '
                "Correct the dotted path, or put the file where Python finds it."
            ) from error


_instances: dict[type[Agent[Any, Any]], Agent[Any, Any]] = {}


def _instance(cls: type[Agent[Any, Any]]) -> Agent[Any, Any]:
    return _instances.setdefault(cls, cls())


def get_agent(name: str) -> Agent[Any, Any]:
    """Return an agent. Raises `LookupError` where this process has none of that name."""
    cls = agent_classes().get(name)
    if cls is None:
        raise LookupError(f'There is no agent "{name}" here.')
    return _instance(cls)


def agents() -> list[Agent[Any, Any]]:
    """Return all agents, by name."""
    return [_instance(cls) for _, cls in sorted(agent_classes().items())]

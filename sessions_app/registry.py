"""Agent names to agents. An agent is one instance per process; it holds no data of any session."""

from __future__ import annotations

from typing import Any

from sessions_app.core.agent import Agent, agent_classes

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

"""The travel helper as an agent, without a session."""

import inspect

import tools_app.agents
from sessions_app.providers import label_of
from sessions_app.sdk import Agent, AgentState
from tools_app.agents import TravelAgent
from tools_app.tools.ask_user import AskUser
from tools_app.tools.flights import FindFlights


def test_naming_the_module_offers_its_agents() -> None:
    found = [value for value in vars(tools_app.agents).values() if inspect.isclass(value) and issubclass(value, Agent)]
    assert TravelAgent in found
    assert sorted(agent.__name__ for agent in found) == sorted(tools_app.agents.__all__)


def test_the_agent_is_complete() -> None:
    agent, state = TravelAgent(), AgentState()
    assert agent.name == "flights"
    assert agent.title
    assert agent.description
    assert agent.examples
    assert agent.get_tools(state) == (FindFlights, AskUser)
    prompt = agent.get_system_prompt(state)
    assert prompt.status == "ready"
    assert all(tool.tool_name in prompt.parts[0].text for tool in agent.tools)


def test_which_model_answers_is_known_at_the_request_not_at_the_import() -> None:
    assert label_of(TravelAgent().get_model(AgentState())) in ("demo model", "claude-sonnet-5-5")

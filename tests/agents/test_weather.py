"""The weather helper: service, item, tool, and a tool that is offered only while it is switched on."""

import pytest

from sessions_app.core.data import dump, load
from sessions_app.providers import demo
from sessions_app.sdk import Message, RenderResult, ToolContext
from sessions_app.testing import AgentHarness, tool_calls
from tools_app.agents import WeatherAgent
from tools_app.agents.weather import SWITCH_ON, WeatherState, WeatherSwitchedOff, WeatherSwitchedOn
from tools_app.services.weather import WeatherServiceDown, weather_in
from tools_app.tools.notice import Notice
from tools_app.tools.weather import WeatherResult, WeatherTool


async def test_the_same_city_has_the_same_weather() -> None:
    assert await weather_in("Tokyo") == await weather_in("  tokyo ")
    assert await weather_in("Tokyo") != await weather_in("Rome")
    with pytest.raises(WeatherServiceDown, match="did not answer"):
        await weather_in("Nowhere")


async def test_snow_falls_where_it_is_cold_and_only_there() -> None:
    for number in range(200):
        sky, degrees, _ = (await weather_in(f"city {number}")).split(", ")
        assert (sky == "Snow") == (int(degrees.removesuffix(" °C").replace("−", "-")) < 3)


async def test_the_tool_makes_an_item_that_the_model_reads_as_one_line() -> None:
    (item,) = (await WeatherTool(city="Tokyo").execute(ToolContext(idempotency_key="key"))).context_items
    assert isinstance(item, WeatherResult)
    assert item.render() == RenderResult.ready(Message.user(f"Tokyo: {await weather_in('Tokyo')}"))
    assert load(WeatherResult, dump(item)) == item


def test_the_tool_is_offered_while_it_is_switched_on() -> None:
    look = tool_calls(WeatherTool(city="Tokyo"))
    session = AgentHarness(WeatherAgent, model=[look, "Fine.", "It is off.", "It is on."])
    session.say("What is the weather in Tokyo?")
    session.run_all()
    assert session.item(WeatherResult).city == "Tokyo"
    session.dispatch(WeatherSwitchedOff())
    session.say("And now?")
    session.run_all()
    session.dispatch(WeatherSwitchedOn())
    session.say("And now?")
    session.run_all()
    assert session.answer == "It is on."
    offered = [[tool.name for tool in request.tools] for request in session.model.requests]
    assert offered == [["get_weather"], ["get_weather"], [], ["get_weather"]]
    assert [SWITCH_ON in request.system[0] for request in session.model.requests] == [False, False, True, False]
    assert session.model.faults == []


def test_a_call_of_the_tool_while_it_is_off_looks_nothing_up() -> None:
    session = AgentHarness(WeatherAgent, model=[tool_calls(WeatherTool(city="Tokyo")), "It is off."])
    session.dispatch(WeatherSwitchedOff())
    session.say("What is the weather in Tokyo?")
    session.run_all()
    assert session.items(WeatherResult) == []
    assert session.answer == "It is off."


def test_only_the_switch_that_changes_something_is_offered() -> None:
    agent = WeatherAgent()
    assert agent.get_actions(WeatherState(weather_enabled=True)) == [WeatherSwitchedOff]
    assert agent.get_actions(WeatherState(weather_enabled=False)) == [WeatherSwitchedOn]
    session = AgentHarness(WeatherAgent, model=[])
    assert session.dispatch(WeatherSwitchedOn()).operations == ()
    session.dispatch(WeatherSwitchedOff())
    assert session.item(Notice).text == "The weather is switched off."


def test_with_the_demo_model() -> None:
    session = AgentHarness(WeatherAgent, model=demo())

    def answer_to(text: str) -> str:
        session.say(text)
        session.run_all()
        return session.answer

    assert "Tokyo: " in answer_to("What is the weather in Tokyo?")
    assert session.answer.endswith("The weather is made up.")
    compared = answer_to("Compare the weather in Oslo and Rome")
    assert "Oslo: " in compared
    assert "Rome: " in compared
    failed = answer_to("What is the weather in Nowhere?")
    assert failed == (
        "The weather in Nowhere could not be looked up: The weather service did not answer. "
        "Ask again to look once more."
    )
    assert answer_to("How is the weather?").startswith("Write the city too")
    assert "“What is the weather in Tokyo?”" in answer_to("Hello")
    session.dispatch(WeatherSwitchedOff())
    assert answer_to("What is the weather in Tokyo?").endswith(f"Press “{SWITCH_ON}” and ask again.")
    session.dispatch(WeatherSwitchedOn())
    assert "Tokyo: " in answer_to("What is the weather in Tokyo?")

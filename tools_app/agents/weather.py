"""The weather helper: the agent state says whether its tool is offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    SessionEvent,
    SessionState,
    SystemPromptRenderResult,
    Tool,
    add_context_item,
    set_agent_state,
)
from tools_app.tools.notice import Notice
from tools_app.tools.weather import WeatherTool

SWITCH_ON = "Switch the weather on"
SWITCH_OFF = "Switch the weather off"


class WeatherState(AgentState):
    """Whether the weather can be looked up."""

    weather_enabled: bool = True


class WeatherSwitchedOn(SessionEvent, type="weather-switched-on", label=SWITCH_ON):
    """The weather can be looked up from now on."""


class WeatherSwitchedOff(SessionEvent, type="weather-switched-off", label=SWITCH_OFF):
    """The weather cannot be looked up from now on."""


class WeatherAgent(Agent[WeatherState, WeatherSwitchedOn | WeatherSwitchedOff], name="weather"):
    """Tells the weather while its tool is switched on."""

    title = "Weather helper"
    description = "Looks the weather up in a city, while its tool is switched on. The weather is made up."
    examples = (
        "What is the weather in Tokyo?",
        "Compare the weather in Oslo and Rome",
        "What is the weather in Nowhere?",
    )
    model = default_model()
    tools = (WeatherTool,)

    def get_system_prompt(self, state: WeatherState) -> SystemPromptRenderResult:
        able = (
            "Look it up with get_weather, once for each city, and say that it is made up."
            if state.weather_enabled
            else "The weather service is switched off now. Say so, also where you could look before, and that the "
            f"button “{SWITCH_ON}” switches it on."
        )
        return SystemPromptRenderResult.ready(f"You tell people the weather in a city. {able}")

    def get_tools(self, state: WeatherState) -> Sequence[type[Tool[Any]]]:
        return self.tools if state.weather_enabled else ()

    def get_actions(self, state: WeatherState) -> Sequence[type[SessionEvent]]:
        return [WeatherSwitchedOff if state.weather_enabled else WeatherSwitchedOn]

    def handle_event(
        self, state: SessionState[WeatherState], event: WeatherSwitchedOn | WeatherSwitchedOff
    ) -> EventResult:
        match event:
            case WeatherSwitchedOn():
                return _switch(state.agent_state, enabled=True)
            case WeatherSwitchedOff():
                return _switch(state.agent_state, enabled=False)


def _switch(state: WeatherState, *, enabled: bool) -> EventResult:
    if state.weather_enabled == enabled:
        return EventResult()
    notice = Notice(text=f"The weather is switched {'on' if enabled else 'off'}.")
    return EventResult([set_agent_state(state.evolve(weather_enabled=enabled)), add_context_item(notice)])

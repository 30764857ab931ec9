"""Mistakes that the type checker finds. Each line that has one ends in a comment with the code of its error."""

from __future__ import annotations

from typing import Self

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItem,
    ContextItemEvent,
    EffectContext,
    EventResult,
    ItemResult,
    Message,
    RenderResult,
    SessionEffect,
    SessionEvent,
    SessionState,
    Tool,
    ToolContext,
    ToolResult,
    set_agent_state,
)


class Weather(AgentState):
    degrees: int = 0


class Measured(SessionEvent, type="planted-measured"):
    degrees: int


class Other(SessionEvent, type="planted-other"):
    pass


class Noted(ContextItemEvent, type="planted-noted"):
    text: str


class Thermometer(Tool[Measured], name="planted_thermometer"):
    """Measure."""

    place: str

    async def execute(self, context: ToolContext) -> ToolResult[Measured]:
        return ToolResult(events=[Other()])  # E: list-item


class Waits(Tool, name="planted_waits"):
    """Does not wait."""

    def execute(self, context: ToolContext) -> ToolResult:  # E: override
        return ToolResult()


class Report(SessionEffect[Measured], type="planted-report"):
    async def run(self, context: EffectContext[Measured]) -> Measured:
        await context.dispatch_event(Other())  # E: arg-type
        return Measured(degree=3)  # E: call-arg


class Returns(SessionEffect[Measured], type="planted-returns"):
    async def run(self, context: EffectContext[Measured]) -> Other:  # E: override
        return Other()


class WrongKind(SessionEffect[Noted], type="planted-wrong-kind"):  # E: type-var
    pass


class Note(ContextItem[Noted], type="planted-note"):
    text: str = ""

    def handle_event(self, event: Noted) -> ItemResult[Self]:
        self.text = event.text  # E: misc
        return ItemResult(self.evolve(text=event.txt))  # E: attr-defined

    def render(self) -> RenderResult:
        return Message.user(self.text)  # E: return-value


class WeatherAgent(Agent[Weather, Measured], name="planted-weather"):
    system_prompt = "Tell the weather."
    model = default_model()
    tools = (Thermometer(place="Oslo"),)  # E: assignment

    def handle_event(self, state: SessionState[Weather], event: Measured) -> EventResult:
        if event.degrees > 40:
            return None  # E: return-value
        if event.degrees > 30:
            return EventResult([state.agent_state])  # E: list-item
        return EventResult([set_agent_state(Weather(degrees="hot"))])  # E: arg-type

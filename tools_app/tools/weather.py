"""The weather in a city, as a context item of its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sessions_app.sdk import ContextItem, Message, RenderResult, Tool, ToolContext, ToolResult
from tools_app.services.weather import weather_in

City = Annotated[str, Field(min_length=1, max_length=80, description="A city, such as Tokyo.")]


class WeatherResult(ContextItem, type="weather-result", label="Weather"):
    """What the weather in a city is like."""

    city: str
    summary: str

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(f"{self.city}: {self.summary}"))


class WeatherTool(Tool, name="get_weather"):
    """Get the weather in a city. Call it once for each city."""

    city: City

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[WeatherResult(city=self.city, summary=await weather_in(self.city))])

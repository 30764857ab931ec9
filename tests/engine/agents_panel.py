"""An agent whose tools are called side by side: they ask, rate, work, fail, and need approval."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from sessions_app.sdk import (
    ContextItem,
    ContextItemEvent,
    ItemResult,
    Message,
    RenderResult,
    Tool,
    ToolContext,
    ToolResult,
)
from tests.engine.desk import DeskAgent
from tests.engine.items import Note
from tests.engine.stage import gate


class Rated(ContextItemEvent, type="t-rated"):
    stars: Annotated[int, Field(ge=1, le=10)]


class Rating(ContextItem[Rated], type="t-rating"):
    stars: int | None = None

    def handle_event(self, event: Rated) -> ItemResult[Self]:
        return ItemResult(self.evolve(stars=event.stars))

    def render(self) -> RenderResult:
        return RenderResult.pending("How was it?") if self.stars is None else RenderResult.ready(Message.user("Rated."))


class Rate(Tool, name="rate"):
    """Ask for stars."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([Rating()])


class Fail(Tool, name="fail"):
    """Raises at once."""

    async def execute(self, context: ToolContext) -> ToolResult:
        raise RuntimeError("no such thing")


class Send(Tool, name="send", requires_approval=True):
    """What a person must approve before it runs."""

    to: str

    async def execute(self, context: ToolContext) -> ToolResult:
        gate.begun[self.to] += 1
        return ToolResult([Note(text=f"sent to {self.to}")])


class PanelAgent(DeskAgent, name="t-panel"):
    """Has every kind of tool."""

    tools = (*DeskAgent.tools, Rate, Fail, Send)

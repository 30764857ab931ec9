"""The agent that talks and calls tools. All types begin with "t-"."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from sessions_app.sdk import (
    Agent,
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    EffectContext,
    EventResult,
    ItemResult,
    Message,
    RenderResult,
    SessionEvent,
    SessionState,
    Tool,
    ToolContext,
    ToolResult,
    add_context_item,
    set_agent_state,
    set_context_item_order,
)
from tests.engine.agents import Added, Broke, Filled, Tally
from tests.engine.items import Note, Question
from tests.engine.stage import brain, gate


class Progressed(ContextItemEvent, type="t-progressed", private=True):
    done: int


class Finished(ContextItemEvent, type="t-finished", private=True):
    text: str
    broken: bool = False


class Download(ContextItemEffect[Progressed | Finished], type="t-download"):
    name: str

    async def run(self, context: EffectContext[Progressed | Finished]) -> Finished:
        for done in (1, 2):
            await context.dispatch_event(Progressed(done=done))
        await gate.passed(self.name)
        return Finished(text=f"{self.name} is here", broken=self.name == "broken")


class File(ContextItem[Progressed | Finished], type="t-file"):
    """What a tool fetches."""

    name: str
    done: int = 0
    text: str | None = None

    @classmethod
    def create(cls, name: str) -> ItemResult[Self]:
        return ItemResult(cls(name=name), effects=[Download(name=name)])

    def handle_event(self, event: Progressed | Finished) -> ItemResult[Self]:
        match event:
            case Progressed(done=done):
                return ItemResult(self.evolve(done=done))
            case Finished(broken=True):
                raise RuntimeError("the file is broken")
            case Finished(text=text):
                return ItemResult(self.evolve(text=text))

    def render(self) -> RenderResult:
        if self.text is None:
            return RenderResult.pending(f"Fetching {self.name}", self.done / 3)
        return RenderResult.ready(Message.user(self.text))


class Fetch(Tool, name="fetch"):
    """Fetch a file."""

    name: str

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([File.create(self.name)])


class Ask(Tool, name="ask"):
    """Ask the user."""

    text: str

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([Question(text=self.text)])


class Work(Tool[Added], name="work"):
    """Work, tell the session twice, and note what came of it."""

    name: str
    times: int = 1

    async def execute(self, context: ToolContext) -> ToolResult[Added]:
        await gate.passed(self.name)
        return ToolResult([Note(text=f"worked on {self.name}")], [Added(by=5) for _ in range(self.times)])


class Stubborn(Tool, name="stubborn", timeout=0.3):
    """Ignore that it is cancelled."""

    async def execute(self, context: ToolContext) -> ToolResult:
        while not gate.opened.is_set():
            try:
                await gate.passed("stubborn")
            except asyncio.CancelledError:
                continue
        return ToolResult()


class Hid(SessionEvent, type="t-hid"):
    item_id: str


class DeskAgent(Agent[Tally, Added | Broke | Hid | Filled], name="t-desk"):
    """Talks, and calls tools."""

    model = brain
    system_prompt = "You help."
    tools = (Fetch, Ask, Work, Stubborn)

    def get_tools(self, state: Tally) -> Sequence[type[Tool[Any]]]:
        if state.broken:
            raise RuntimeError("no tools to be found")
        return self.tools

    def handle_event(self, state: SessionState[Tally], event: Added | Broke | Hid | Filled) -> EventResult:
        match event:
            case Hid(item_id=hidden):
                order = [item_id for item_id in state.context_item_order if item_id != hidden]
                return EventResult([set_context_item_order(order)])
            case Filled(count=count):
                return EventResult([add_context_item(Note(text=f"note {number}")) for number in range(count)])
            case Broke():
                return EventResult([set_agent_state(state.agent_state.evolve(broken=True))])
            case Added(by=by):
                return EventResult([set_agent_state(state.agent_state.evolve(total=state.agent_state.total + by))])

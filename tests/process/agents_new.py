"""The release after tests/process/agents_old.py: an agent with a new effect and a new tool, and a new agent."""

import asyncio
from typing import Any

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EventResult,
    ModelRequest,
    ModelResponse,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    TextPart,
    Tool,
    ToolCallPart,
    ToolContext,
    ToolResult,
    set_agent_state,
)


class WorkDone(SessionEvent, type="work-done", private=True):
    """The new work is done."""


class NewWork(SessionEffect[WorkDone], type="new-work"):
    async def run(self, context: EffectContext[WorkDone]) -> WorkDone:
        return WorkDone()


class FleetingWork(SessionEffect[WorkDone], type="fleeting-work", timeout=3):
    async def run(self, context: EffectContext[WorkDone]) -> WorkDone:
        return WorkDone()


class NewTool(Tool, name="new_tool"):
    """Hang in the first attempt."""

    async def execute(self, context: ToolContext) -> ToolResult:
        if context.attempt == 1:
            await asyncio.sleep(50)
        return ToolResult()


class GrowingArgs(SessionArgs):
    work: str = ""


class GrowingState(AgentState):
    done: bool = False


def answer(request: ModelRequest) -> str | ModelResponse:
    if isinstance(request.messages[-1].parts[-1], TextPart):
        return ModelResponse(parts=(ToolCallPart(id="", name="new_tool", arguments="{}"),))
    return "The tool has run."


class GrowingAgent(Agent[GrowingState, WorkDone], name="growing", version="2"):
    """With the argument `work` it starts its new effect."""

    system_prompt = "Grow."
    model = ScriptedModel(answer)
    tools = (NewTool,)

    def create_session(self, args: GrowingArgs) -> SessionResult[GrowingState]:
        effects: dict[str, list[Any]] = {"new": [NewWork()], "fleeting": [FleetingWork()]}
        return SessionResult(GrowingState(), effects=effects.get(args.work, []))

    def handle_event(self, state: SessionState[GrowingState], event: WorkDone) -> EventResult:
        return EventResult([set_agent_state(GrowingState(done=True))])


class BrandNewAgent(Agent, name="brand-new"):
    """The old release has no such agent."""

    system_prompt = "Be new."
    model = ScriptedModel(lambda request: "The new worker answered.")


class SteadyAgent(Agent, name="steady"):
    """The same in both releases."""

    system_prompt = "Stay."
    model = ScriptedModel(lambda request: "Steady.")

"""An agent whose effects leave a line in a file each time they begin, so that a test can count how often they ran.

“append 6” asks for six lines by effects that may run again after a lost worker, “append 6 once” for six that may
not, “append 6 ask” for six and an answer to a question. The file is named by LEDGER; PAUSE says how many seconds an
effect takes after it has written.
"""

import asyncio
import os
from pathlib import Path
from typing import Self

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import (
    Agent,
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    EffectContext,
    ItemResult,
    Message,
    ModelRequest,
    ModelResponse,
    RenderResult,
    TextPart,
    Tool,
    ToolCallPart,
    ToolContext,
    ToolResult,
    ToolResultPart,
)
from tools_app.tools.ask_user import AskUser


class LineWritten(ContextItemEvent, type="line-written", private=True):
    """The line stands in the ledger."""


def add_line(text: str) -> None:
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(text + "\n")


async def write(context: EffectContext[LineWritten]) -> LineWritten:
    add_line(context.idempotency_key)
    await asyncio.sleep(float(os.environ.get("PAUSE", "0.3")))
    return LineWritten()


class WriteLine(ContextItemEffect[LineWritten], type="write-line"):
    async def run(self, context: EffectContext[LineWritten]) -> LineWritten:
        return await write(context)


class WriteLineOnce(ContextItemEffect[LineWritten], type="write-line-once", delivery="at-most-once"):
    async def run(self, context: EffectContext[LineWritten]) -> LineWritten:
        return await write(context)


class Line(ContextItem[LineWritten], type="line"):
    written: bool = False

    def handle_event(self, event: LineWritten) -> ItemResult[Self]:
        return ItemResult(self.evolve(written=True))

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user("Written.")) if self.written else RenderResult.pending("Writing…")


class Append(Tool, name="append"):
    """Write a line."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[ItemResult(Line(), effects=[WriteLine()])])


class AppendOnce(Tool, name="append_once"):
    """Write a line, never twice."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[ItemResult(Line(), effects=[WriteLineOnce()])])


def answer(request: ModelRequest) -> str | ModelResponse:
    results = [part.text for part in request.messages[-1].parts if isinstance(part, ToolResultPart)]
    if results:
        return f"Results: {', '.join(results)}"
    said = request.messages[-1].text.split()
    call = ToolCallPart(id="", name="append_once" if "once" in said else "append", arguments="{}")
    calls = [call] * int(said[1])
    if "ask" in said:
        calls.append(ToolCallPart(id="", name="ask_user", arguments='{"question": "Which city?"}'))
    return ModelResponse(parts=(TextPart(text="Writing."), *calls))


class LedgerAgent(Agent, name="ledger"):
    """Writes lines."""

    system_prompt = "Write lines."
    model = ScriptedModel(answer)
    tools = (Append, AppendOnce, AskUser)

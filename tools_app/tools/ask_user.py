"""A question to the person: it waits as long as it takes, and the answer goes to the model."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints

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

Answer = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), Field(title="Your answer")
]


class AnswerProvided(ContextItemEvent, type="answer-provided"):
    """A person's answer."""

    answer: Answer


class UserQuestion(ContextItem[AnswerProvided], type="user-question"):
    """A question that is open until somebody answers it."""

    question: str
    answer: str | None = None

    def handle_event(self, event: AnswerProvided) -> ItemResult[Self]:
        return ItemResult(self.evolve(answer=event.answer))

    def render(self) -> RenderResult:
        if self.answer is None:
            return RenderResult.pending(self.question)
        return RenderResult.ready(Message.user(self.answer))


class AskUser(Tool, name="ask_user"):
    """Ask the user a question and wait for the answer."""

    question: Annotated[str, Field(min_length=1, max_length=1000, description="One question, in the user's language.")]

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[UserQuestion(question=self.question)])

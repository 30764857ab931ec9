"""Items that the test agents share."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from sessions_app.sdk import ContextItem, ContextItemEvent, ItemResult, Message, RenderResult


class Note(ContextItem, type="t-note"):
    text: str

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.text))


class Replied(ContextItemEvent, type="t-replied"):
    text: Annotated[str, Field(min_length=1, max_length=2000)]


class Question(ContextItem[Replied], type="t-question"):
    text: str
    reply: str | None = None

    def handle_event(self, event: Replied) -> ItemResult[Self]:
        return ItemResult(self.evolve(reply=event.text))

    def render(self) -> RenderResult:
        if self.reply is None:
            return RenderResult.pending(self.text)
        return RenderResult.ready(Message.user(self.reply))

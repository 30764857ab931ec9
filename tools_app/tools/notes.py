"""Research notes: taking one adds an item, hiding one takes it out of the order, and it can be put back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sessions_app.sdk import (
    ContextItem,
    Message,
    RenderResult,
    SessionEvent,
    Tool,
    ToolContext,
    ToolResult,
    UserMessage,
)

NoteText = Annotated[str, Field(min_length=1, max_length=2000)]
ItemId = Annotated[str, Field(max_length=40)]


class NoteTaken(SessionEvent, type="note-taken", private=True):
    """The model took a note."""

    text: NoteText


class HideContextItem(SessionEvent, type="hide-context-item", private=True):
    """The model needs an item no longer."""

    context_item_id: ItemId


class RestoreNote(SessionEvent, type="restore-note", label="Restore a note"):
    """A person wants a hidden note back."""

    note_id: ItemId = Field(
        default="", title="Number of the note", description="Leave it empty for the note that was hidden last."
    )


class DigestDue(SessionEvent, type="digest-due", label="Write a digest"):
    """It is time for a digest: a schedule sends this every day, or a person now."""


class ResearchNote(ContextItem, type="research-note", label="Research note"):
    """A note. It tells the model its own id, which is what `hide_note` asks for."""

    text: NoteText

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(f"Research note {self.id}: {self.text}"))


class DigestRequest(ContextItem, type="digest-request", label="Digest of the notes"):
    """What asks the model for a digest."""

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user("A digest is due. Write a short digest of the research notes above."))


class TakeNote(Tool[NoteTaken], name="take_note"):
    """Take a research note. It stays in the conversation, with a number of its own."""

    text: Annotated[NoteText, Field(description="One finding, in a sentence or two.")]

    async def execute(self, context: ToolContext) -> ToolResult[NoteTaken]:
        return ToolResult([UserMessage(text="Note taken.")], [NoteTaken(text=self.text)])


class HideNote(Tool[HideContextItem], name="hide_note"):
    """Hide a research note that is no longer needed. A person can restore it."""

    context_item_id: Annotated[ItemId, Field(description="The number of the note, such as 4_1.")]

    async def execute(self, context: ToolContext) -> ToolResult[HideContextItem]:
        answer = UserMessage(text="Note hidden: it is no longer part of the conversation.")
        return ToolResult([answer], [HideContextItem(context_item_id=self.context_item_id)])

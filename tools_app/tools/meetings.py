"""Meetings: a suggestion, a person's confirmation, and the invitation that goes out after it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import Field, NaiveDatetime, StringConstraints

from sessions_app.sdk import (
    ContextItem,
    EffectContext,
    Message,
    RenderResult,
    SessionEffect,
    SessionEvent,
    Tool,
    ToolContext,
    ToolResult,
)
from tools_app.services.calendar import create_invitation, find_free_time

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
StartTime = Annotated[NaiveDatetime, Field(description="In the calendar's own time.")]


class MeetingSuggested(SessionEvent, type="meeting-suggested", private=True):
    """The calendar has room for a meeting."""

    title: Title
    start_time: StartTime


class MeetingConfirmed(SessionEvent, type="meeting-confirmed", label="Confirm the meeting"):
    """A person wants the invitation to go out."""

    title: Title
    start_time: StartTime


class InvitationSent(SessionEvent, type="invitation-sent", private=True):
    """The invitation went out."""

    meeting_url: str


class SendInvitation(
    SessionEffect[InvitationSent], type="send-invitation", label="Sending the invitation", timeout=60, retries=1
):
    """Asks the calendar to send the invitation.

    Delivered at least once: the calendar knows a repeat by its key and invites nobody twice, so a lost worker costs
    a second request. At most once would leave a person to find out what became of it.
    """

    title: Title
    start_time: StartTime

    async def run(self, context: EffectContext[InvitationSent]) -> InvitationSent:
        url = await create_invitation(self.title, self.start_time, context.idempotency_key)
        return InvitationSent(meeting_url=url)


class MeetingSuggestion(ContextItem, type="meeting-suggestion", label="Suggested time"):
    """A time that would do, as the result of a call."""

    title: Title
    start_time: StartTime

    def render(self) -> RenderResult:
        free = f"The calendar has room for “{self.title}” on {spoken(self.start_time)} ({self.start_time.isoformat()})."
        return RenderResult.ready(Message.user(f"{free} The person confirms it with “Confirm the meeting”."))


class Invitation(ContextItem, type="invitation", label="Invitation", label_done="Invitation sent"):
    """An invitation that went out."""

    title: Title
    start_time: StartTime
    meeting_url: str

    def render(self) -> RenderResult:
        sent = f"The invitation to “{self.title}” on {spoken(self.start_time)} was sent: {self.meeting_url}"
        return RenderResult.ready(Message.user(sent))


class InvitationProblem(ContextItem, type="invitation-problem", label="Sending the invitation failed"):
    """An invitation of which nobody knows that it went out. `note` says what is known and what can be done."""

    title: Title
    start_time: StartTime
    note: str

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(f"The invitation to “{self.title}”: {self.note}"))


class SuggestTime(Tool[MeetingSuggested], name="suggest_time"):
    """Look for a free time in the calendar and suggest it. Only the person can confirm it; nothing is sent yet."""

    title: Annotated[Title, Field(description="What the meeting is called.")]
    day: Annotated[date | None, Field(description="The first day to look at; without it, tomorrow.")] = None

    async def execute(self, context: ToolContext) -> ToolResult[MeetingSuggested]:
        day = self.day or datetime.now(UTC).date() + timedelta(days=1)
        found = await find_free_time(self.title, day)
        return ToolResult(
            [MeetingSuggestion(title=self.title, start_time=found)],
            [MeetingSuggested(title=self.title, start_time=found)],
        )


def spoken(moment: datetime) -> str:
    """Return a time as it is said: Tuesday 8 December 2026 at 10:00."""
    return f"{moment:%A} {moment.day} {moment:%B %Y} at {moment:%H:%M}"

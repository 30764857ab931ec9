"""The meeting scheduler: it suggests, a person confirms, and only then an effect sends the invitation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import NaiveDatetime

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    Data,
    EffectEnded,
    EventRejected,
    EventResult,
    SessionEvent,
    SessionState,
    StateUpdate,
    add_context_item,
    set_agent_state,
)
from tools_app.tools.meetings import (
    Invitation,
    InvitationProblem,
    InvitationSent,
    MeetingConfirmed,
    MeetingSuggested,
    SendInvitation,
    SuggestTime,
)


class Meeting(Data):
    """What was confirmed."""

    title: str
    start_time: NaiveDatetime


class SchedulingState(AgentState):
    """`title` and `start_time` are the last suggestion, with which the form that confirms begins.

    `meeting` is what was confirmed, and `meeting_url` the address that the calendar gave it.
    """

    status: Literal["open", "scheduling", "scheduled", "failed"] = "open"
    title: str = ""
    start_time: NaiveDatetime | None = None
    meeting: Meeting | None = None
    meeting_url: str | None = None


class SchedulingAgent(Agent[SchedulingState, MeetingSuggested | MeetingConfirmed | InvitationSent], name="scheduling"):
    """Finds a time for a meeting and sends the invitation once a person has confirmed it."""

    title = "Meeting scheduler"
    description = "Suggests a time and sends the invitation when you confirm it. The calendar is made up."
    examples = ("Plan a review of the budget", "Find a time for lunch with Kim", "Plan an outage")
    system_prompt = (
        "You help a person schedule a meeting. Look for a time with suggest_time and tell the person which one it is. "
        "You cannot send invitations: the person confirms with “Confirm the meeting”, and may change title and time "
        "there. If they want another time, suggest one again, from a later day on. When an invitation failed, say so "
        "and that it can be confirmed again."
    )
    model = default_model()
    tools = (SuggestTime,)

    def get_actions(self, state: SchedulingState) -> Sequence[type[SessionEvent]]:
        suggested = state.start_time is not None
        return [MeetingConfirmed] if suggested and state.status != "scheduling" else []

    def handle_event(
        self, state: SessionState[SchedulingState], event: MeetingSuggested | MeetingConfirmed | InvitationSent
    ) -> EventResult:
        now = state.agent_state
        match event:
            case MeetingSuggested(title=title, start_time=start_time):
                return EventResult([set_agent_state(now.evolve(title=title, start_time=start_time))])
            case MeetingConfirmed() if now.status == "scheduling":
                raise EventRejected("conflict", "An invitation is on its way. Wait until it has gone out.")
            case MeetingConfirmed(title=title, start_time=start_time):
                meeting = Meeting(title=title, start_time=start_time)
                waiting = now.evolve(
                    status="scheduling", title=title, start_time=start_time, meeting=meeting, meeting_url=None
                )
                send = SendInvitation(title=title, start_time=start_time)
                return EventResult([set_agent_state(waiting)], effects=[send])
            case InvitationSent(meeting_url=url):
                scheduled = set_agent_state(now.evolve(status="scheduled", meeting_url=url))
                return EventResult([scheduled, *_announced(now.meeting, url)])

    def handle_effect_ended(self, state: SessionState[SchedulingState], ended: EffectEnded) -> EventResult | None:
        match ended.effect:
            case SendInvitation(title=title, start_time=start_time):
                problem = InvitationProblem(title=title, start_time=start_time, note=_what_is_known(ended))
                failed = set_agent_state(state.agent_state.evolve(status="failed"))
                return EventResult([failed, add_context_item(problem)])
            case _:
                return None


def _announced(meeting: Meeting | None, url: str) -> list[StateUpdate]:
    if meeting is None:
        return []
    return [add_context_item(Invitation(title=meeting.title, start_time=meeting.start_time, meeting_url=url))]


def _what_is_known(ended: EffectEnded) -> str:
    match ended.outcome:
        case "failed":
            return "The calendar did not take it, so nobody was invited. Confirm the meeting again to try once more."
        case _:
            return (
                "It is not known whether anybody was invited. Look into the calendar before you confirm the meeting "
                "again."
            )

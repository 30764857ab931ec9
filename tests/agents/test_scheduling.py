"""The meeting scheduler: nothing is sent before a person confirms, and what failed can be confirmed again."""

from datetime import date, datetime

import pytest

from sessions_app.providers import demo
from sessions_app.sdk import EffectContext, EventRejected
from sessions_app.testing import AgentHarness, tool_calls
from tests.agents.test_flights import Dispatched
from tools_app.agents import SchedulingAgent
from tools_app.agents.scheduling import SchedulingState
from tools_app.services.calendar import HOURS, CalendarDown, create_invitation, find_free_time
from tools_app.tools.meetings import (
    Invitation,
    InvitationProblem,
    InvitationSent,
    MeetingConfirmed,
    MeetingSuggestion,
    SendInvitation,
    SuggestTime,
)

SATURDAY, MONDAY = date(2030, 1, 5), date(2030, 1, 7)
TEN = datetime.fromisoformat("2030-01-08T10:00")
REVIEW = MeetingConfirmed(title="Review", start_time=TEN)


def state(session: AgentHarness) -> SchedulingState:
    assert isinstance(session.state, SchedulingState)
    return session.state


def can_confirm(session: AgentHarness) -> bool:
    return MeetingConfirmed in SchedulingAgent().get_actions(state(session))


async def test_the_calendar_is_free_in_working_hours_and_says_so_again() -> None:
    found = await find_free_time("Review", SATURDAY)
    assert found == await find_free_time(" review ", SATURDAY)
    assert found.date() == MONDAY
    assert found.hour in HOURS


async def test_the_same_key_is_the_same_invitation() -> None:
    first = await create_invitation("Review", TEN, "key")
    assert first == await create_invitation("Review", TEN, "key")
    assert first != await create_invitation("Review", TEN, "another key")
    with pytest.raises(CalendarDown):
        await create_invitation(" Outage ", TEN, "key")


async def test_a_second_attempt_uses_the_key_of_the_first() -> None:
    first: EffectContext[InvitationSent] = Dispatched(attempt=1)
    second: EffectContext[InvitationSent] = Dispatched(attempt=2)
    effect = SendInvitation(title="Review", start_time=TEN)
    assert await effect.run(first) == await effect.run(second)
    assert SendInvitation.policy_in_force().delivery == "at-least-once"


def test_a_suggestion_sends_nothing() -> None:
    session = AgentHarness(SchedulingAgent, model=[tool_calls(SuggestTime(title="Review", day=MONDAY)), "Monday?"])
    session.say("Plan a review")
    session.run_all()
    suggestion = session.item(MeetingSuggestion)
    assert suggestion.start_time.date() == MONDAY
    assert state(session) == SchedulingState(title="Review", start_time=suggestion.start_time)
    assert session.items(Invitation) == []
    assert can_confirm(session)


def test_a_confirmed_meeting_is_sent_once_and_shown() -> None:
    session = AgentHarness(SchedulingAgent, model=[])
    session.dispatch(REVIEW)
    assert state(session).status == "scheduling"
    assert not can_confirm(session)
    with pytest.raises(EventRejected, match="An invitation is on its way"):
        session.dispatch(REVIEW)
    assert len(session.effects) == 1

    session.run(SendInvitation)
    invitation = session.item(Invitation)
    assert (invitation.title, invitation.start_time) == ("Review", TEN)
    assert invitation.meeting_url == state(session).meeting_url
    assert state(session).status == "scheduled"
    assert can_confirm(session)
    assert invitation.meeting_url in session.messages()[0].text


def test_a_suggestion_that_comes_while_it_is_sent_changes_nothing_of_it() -> None:
    session = AgentHarness(SchedulingAgent, model=[tool_calls(SuggestTime(title="Lunch", day=MONDAY)), "Lunch?"])
    session.say("Plan a lunch")
    session.dispatch(REVIEW)
    sending = session.effects[-1]
    while session.effects != [sending]:
        session.run(session.effects[0] if session.effects[0] != sending else session.effects[1])
    session.run(sending)
    assert session.item(Invitation).title == "Review"
    assert state(session).title == "Lunch"


def test_a_failure_is_shown_and_the_meeting_can_be_confirmed_again() -> None:
    session = AgentHarness(SchedulingAgent, model=["It did not go out."])
    session.dispatch(MeetingConfirmed(title="Outage", start_time=TEN))
    session.run(SendInvitation)
    problem = session.item(InvitationProblem)
    assert "nobody was invited" in problem.note
    assert (state(session).status, state(session).title, state(session).start_time) == ("failed", "Outage", TEN)
    assert can_confirm(session)
    session.say("Did it work?")
    session.run_all()
    assert problem.note in session.model.requests[0].messages[0].text

    session.dispatch(REVIEW)
    session.run(SendInvitation)
    assert session.item(Invitation).title == "Review"


@pytest.mark.parametrize("outcome", ["timed out", "outcome unknown", "cancelled"])
def test_where_nobody_knows_the_outcome_the_page_says_so(outcome: str) -> None:
    session = AgentHarness(SchedulingAgent, model=[])
    session.dispatch(REVIEW)
    session.end(SendInvitation, outcome)
    assert "It is not known whether anybody was invited" in session.item(InvitationProblem).note
    assert can_confirm(session)


def test_only_the_session_itself_says_that_an_invitation_was_sent() -> None:
    session = AgentHarness(SchedulingAgent, model=[])
    with pytest.raises(EventRejected):
        session.dispatch(InvitationSent(meeting_url="https://elsewhere.example/"))


def test_with_the_demo_model() -> None:
    session = AgentHarness(SchedulingAgent, model=demo())
    session.say("Plan a review of the budget")
    session.run_all()
    first = state(session)
    assert first.title == "Review of the budget"
    assert first.start_time is not None
    assert f"at {first.start_time:%H:%M}" in session.answer
    assert "Confirm the meeting" in session.answer
    session.say("Another day, please")
    session.run_all()
    second = state(session)
    assert second.title == first.title
    assert second.start_time is not None
    assert second.start_time.date() > first.start_time.date()
    session.dispatch(MeetingConfirmed(title=second.title, start_time=second.start_time))
    session.run_all()
    assert session.item(Invitation).start_time == second.start_time

"""What an effect may send is declared, and what it sends besides, wrongly, late or not at all has a written end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sessions_app import engine
from sessions_app.background import background_loop
from sessions_app.core.errors import HandlerError
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredSession
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EventResult,
    SessionEffect,
    SessionEvent,
    SessionState,
    set_agent_state,
)
from tests.engine.conftest import Pump
from tests.engine.work import claim, lose, only_effect

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.fault("B73")]


class Promised(SessionEvent, type="t-promised", private=True):
    number: int


class Foreign(SessionEvent, type="t-foreign", private=True):
    pass


class Started(SessionEvent, type="t-started"):
    how: str


kept: list[EffectContext[Promised]] = []


class Wander(SessionEffect[Promised], type="t-wander"):
    how: str

    async def run(self, context: EffectContext[Promised]) -> Any:
        match self.how:
            case "sends another":
                await context.dispatch_event(Foreign())  # type: ignore[arg-type]  # what this is about
            case "returns another":
                return Foreign()
            case "makes it wrong":
                await context.dispatch_event(Promised(number="seven"))  # type: ignore[arg-type]
            case "keeps its context":
                kept.append(context)
        return None


class Kept(AgentState):
    numbers: tuple[int, ...] = ()


class WanderAgent(Agent[Kept, Promised | Started], name="t-wanderer"):
    effects = (Wander,)

    def handle_event(self, state: SessionState[Kept], event: Promised | Started) -> EventResult:
        match event:
            case Started(how=how):
                return EventResult(effects=[Wander(how=how)])
            case Promised(number=number):
                kept = state.agent_state
                return EventResult([set_agent_state(kept.evolve(numbers=(*kept.numbers, number)))])


@pytest.fixture
def session(user: Any) -> StoredSession:
    return engine.create_session(WanderAgent.name, {}, user=user)


def ended(session: StoredSession, ann: Sender, pump: Pump, how: str) -> tuple[str, str]:
    """Return how such an effect ended, after seeing that the session goes on."""
    engine.dispatch_event(session, "t-started", {"how": how}, sender=ann)
    pump()
    effect = session.effects.latest("id")
    again = engine.dispatch_event(session, "t-started", {"how": "does nothing"}, sender=ann)
    assert again.status == "applied"
    pump()
    assert session.effects.latest("id").outcome == "done"
    return effect.outcome, effect.message


@pytest.mark.parametrize("how", ["sends another", "returns another"])
def test_an_event_it_does_not_declare_is_refused_with_both_names(
    session: StoredSession, ann: Sender, pump: Pump, how: str
) -> None:
    outcome, message = ended(session, ann, pump, how)
    assert outcome == "failed"
    assert "Wander sent Foreign, but declares Promised" in message
    assert not StoredEvent.objects.filter(type="t-foreign").exists()


def test_an_event_it_makes_wrong_is_refused_with_class_and_field(
    session: StoredSession, ann: Sender, pump: Pump
) -> None:
    outcome, message = ended(session, ann, pump, "makes it wrong")
    assert outcome == "failed"
    assert "Promised" in message
    assert "number" in message
    assert not StoredEvent.objects.filter(type="t-promised").exists()


def test_a_wrong_payload_from_other_code_is_on_record_and_changes_nothing(session: StoredSession, ann: Sender) -> None:
    """During a deploy another version may send what this one does not take."""
    engine.dispatch_event(session, "t-started", {"how": "does nothing"}, sender=ann)
    effect = only_effect(session)
    receipt = engine.dispatch_from_effect(effect, claim(effect).attempt, 1, "t-promised", {"numbers": "seven"})
    assert receipt.status == "failed"
    event = StoredEvent.objects.get(session=session, seq=receipt.seq)
    assert "Promised was sent with a payload it does not take" in event.reason
    assert event.delta == "[]"
    lose(effect)
    ended(session, ann, Pump(), "does nothing")


async def late(context: EffectContext[Promised]) -> None:
    await context.dispatch_event(Promised(number=7))


def test_after_it_has_returned_it_can_send_no_more(session: StoredSession, ann: Sender, pump: Pump) -> None:
    kept.clear()
    assert ended(session, ann, pump, "keeps its context") == ("done", "")
    with pytest.raises(HandlerError, match="Wander has returned and can send no more events"):
        asyncio.run_coroutine_threadsafe(late(kept[0]), background_loop()).result(5)
    assert not StoredEvent.objects.filter(type="t-promised").exists()


def test_an_effect_that_sends_nothing_has_simply_ended(session: StoredSession, ann: Sender, pump: Pump) -> None:
    assert ended(session, ann, pump, "does nothing") == ("done", "")

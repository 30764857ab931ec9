"""Agent code that never ends or is not pure is found, and harms nobody else."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from sessions_app import engine, guards
from sessions_app.core.events import Sender
from sessions_app.core.purity import without_clock_and_chance
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from sessions_app.sdk import (
    Agent,
    EffectContext,
    EffectEnded,
    EventResult,
    SessionEffect,
    SessionEvent,
    SessionState,
    set_title,
)
from tests.engine.agents import Tally
from tests.engine.conftest import Pump, in_threads

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def short_limit(settings: Any) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "HANDLER_LIMIT": 0.5}


@pytest.mark.usefixtures("short_limit")
@pytest.mark.fault("B74")
def test_a_handler_that_never_ends_is_failed(counter: StoredSession, ann: Sender) -> None:
    started = time.monotonic()
    receipt = engine.dispatch_event(counter, "t-spun", {}, sender=ann)
    assert (receipt.status, receipt.seq) == ("failed", 2)
    assert time.monotonic() - started < 5
    assert "Handling took longer than allowed" in StoredEvent.objects.get(session=counter, seq=2).reason
    assert engine.dispatch_event(counter, "t-added", {}, sender=ann).status == "applied"


@pytest.mark.usefixtures("short_limit")
def test_a_handler_that_swallows_its_end_is_told_again(counter: StoredSession, ann: Sender) -> None:
    assert engine.dispatch_event(counter, "t-spun-on", {}, sender=ann).seq == 2
    assert engine.dispatch_event(counter, "t-added", {}, sender=ann).seq == 3


@pytest.mark.usefixtures("short_limit")
@pytest.mark.fault("B74")
def test_other_sessions_go_on_meanwhile(user: Any, counter: StoredSession, ann: Sender) -> None:
    others = [engine.create_session("t-counter", {}, user=user) for _ in range(3)]

    def send(session: StoredSession, type: str) -> Any:
        return lambda: engine.dispatch_event(session, type, {}, sender=ann)

    results = in_threads(send(counter, "t-spun"), *[send(session, "t-added") for session in others])
    assert [result.status for result in results] == ["failed", "applied", "applied", "applied"]


@pytest.mark.parametrize(("clock", "used"), [(True, "the clock"), (False, "chance")])
def test_a_handler_that_is_not_pure_is_found(counter: StoredSession, ann: Sender, clock: bool, used: str) -> None:
    receipt = engine.dispatch_event(counter, "t-guessed", {"clock": clock}, sender=ann)
    assert receipt.status == "failed"
    assert f"A handler used {used}." in StoredEvent.objects.get(session=counter, seq=2).reason
    counter.refresh_from_db()
    assert counter.title == ""


def test_it_is_looked_for_only_where_it_is_asked_for(counter: StoredSession, ann: Sender, settings: Any) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": False}
    assert engine.dispatch_event(counter, "t-guessed", {}, sender=ann).status == "applied"
    counter.delete()  # Its history cannot be replayed: that is why handlers must be pure.


@pytest.mark.parametrize("what", ["query", "file", "socket"])
def test_a_handler_that_reaches_for_the_outside_is_found(counter: StoredSession, ann: Sender, what: str) -> None:
    receipt = engine.dispatch_event(counter, "t-reached", {"what": what}, sender=ann)
    assert receipt.status == "failed"
    assert "A handler used" in StoredEvent.objects.get(session=counter, seq=2).reason


told = count()


class Guess(SessionEvent, type="t-guess-later"):
    pass


class Fail(SessionEffect, type="t-fail"):
    async def run(self, context: EffectContext) -> None:
        raise RuntimeError("It did not work.")


class GuessingAgent(Agent[Tally, Guess], name="t-guessing-hook"):
    def handle_event(self, state: SessionState[Tally], event: Guess) -> EventResult:
        return EventResult(effects=[Fail()])

    def handle_effect_ended(self, state: SessionState[Tally], ended: EffectEnded) -> EventResult:
        return EventResult([set_title(str(next(told)))])


def test_a_hook_that_is_not_pure_does_not_keep_its_effect_open(user: Any, ann: Sender, pump: Pump) -> None:
    session = engine.create_session(GuessingAgent.name, {}, user=user)
    engine.dispatch_event(session, "t-guess-later", {}, sender=ann)
    pump()
    pump()
    ends = StoredEvent.objects.filter(session=session, type="@platform/effect-ended").order_by("seq")
    assert [event.status for event in ends] == ["failed", "failed", "applied"]
    assert "two different results" in ends[0].reason
    assert StoredEffect.objects.get(session=session).outcome == "failed"
    assert StoredItem.objects.filter(session=session, type="@platform/effect-failed").count() == 1
    session.delete()  # What was not pure cannot be replayed.


def test_calls_can_be_watched_again_after_an_overrun() -> None:
    """Python 3.11 would not get on in a watched call if an error were left signalled."""
    ended: list[bool] = []

    def spin() -> None:
        deadline = time.monotonic() + 5
        with suppress(guards.HandlerOverran):
            while time.monotonic() < deadline:
                pass

    def watch() -> None:
        guards.limited(spin, 0.2)
        with without_clock_and_chance():
            ended.append((lambda: True)())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    thread.join(10)
    assert ended == [True]

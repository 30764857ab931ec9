"""What one event costs, exactly, and that it costs the same in a long session as in a short one."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app import engine, leases
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredItem, StoredSession
from tests.engine.conftest import Pump
from tests.engine.measuring import Cost, cost
from tests.engine.stage import calls, gate
from tests.engine.work import claim

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MESSAGE = "@platform/user-message"
QUERIES = {
    # event: (reading statements, writing statements)
    "user message": (4, 4),
    "effect progress": (5, 3),
    "answer": (4, 6),
    "model response": (3, 5),
}
"""Read: the session with its state, its open items, its open effects; an item's ancestors; who used this key before.
Written: the session, the event, each item, each effect. It is the same in every session, however long."""


class Talk:
    """A session in which each common kind of event can be measured."""

    def __init__(self, session: StoredSession, sender: Sender, pump: Pump, script: Callable[..., Any]) -> None:
        self.session, self.sender, self.pump, self.script = session, sender, pump, script

    def say(self, text: str) -> None:
        engine.dispatch_event(self.session, MESSAGE, {"text": text}, sender=self.sender)

    def fill(self, items: int) -> None:
        """Bring the session to so many items, most at once, some by real turns of the conversation."""
        self.script(*["Noted."] * 3)
        for number in range(3):
            self.say(f"message {number}")
            self.pump()
        missing = items - StoredItem.objects.filter(session=self.session).count()
        engine.dispatch_event(self.session, "t-filled", {"count": missing}, sender=self.sender)
        assert StoredItem.objects.filter(session=self.session).count() == items

    def measure(self) -> dict[str, Cost]:
        gate.reset()
        self.script(calls(("fetch", {"name": "map"}), ("ask", {"text": "Which?"})), "Fine.", "Done.")
        return {
            "user message": self.user_message(),
            "effect progress": self.progress(),
            "answer": self.answer(),
            "model response": self.model_response(),
        }

    def user_message(self) -> Cost:
        key = uuid.uuid4().hex
        with cost() as counted:
            engine.dispatch_event(self.session, MESSAGE, {"text": "Hello"}, sender=self.sender, client_key=key)
        return counted

    def progress(self) -> Cost:
        self.pump.until(lambda: gate.begun["map"])
        effect = self.session.effects.select_related("session").exclude(status="ended").get()
        with cost() as counted:
            engine.dispatch_from_effect(effect, effect.attempt, 3, "t-progressed", {"done": 3})
        return counted

    def answer(self) -> Cost:
        gate.opened.set()
        self.pump()
        question = StoredItem.objects.get(session=self.session, render_status="pending", type="t-question")
        with cost() as counted:
            engine.dispatch_event(
                self.session, "t-replied", {"text": "That."}, sender=self.sender,
                item_id=question.item_id, answers_seen=0,
            )  # fmt: skip
        return counted

    def model_response(self) -> Cost:
        effect = StoredEffect.objects.select_related("session").exclude(status="ended").get(session=self.session)
        response = {"parts": [{"type": "text", "text": "Fine."}]}
        payload = {"effect_id": effect.effect_id, "response": response}
        assert leases.report(claim(effect), "@platform/model-responded", payload)
        with cost() as counted:
            engine.apply_result(effect)
        return counted


@pytest.fixture
def long_talk(talk: StoredSession, ann: Sender, pump: Pump, script: Any, settings: Any) -> Talk:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": False}
    return Talk(talk, ann, pump, script)


def test_each_event_costs_so_many_statements(long_talk: Talk) -> None:
    found = {kind: (counted.reads, counted.writes) for kind, counted in long_talk.measure().items()}
    assert found == QUERIES


def test_what_an_event_costs_does_not_grow_with_its_session(long_talk: Talk) -> None:
    figures = {}
    for items in (500, 1000, 2000):
        long_talk.fill(items)
        figures[items] = long_talk.measure()
    for kind, first in figures[500].items():
        for items in (1000, 2000):
            later = figures[items][kind]
            assert later.summary == first.summary, (kind, items)
            # Numbers with more digits are all that may come to it.
            assert later.bytes_written <= first.bytes_written + 100, (kind, items)

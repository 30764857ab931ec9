"""Stopping: what runs ends, what was written stays, and late news of it changes nothing."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from sessions_app import engine, leases, runner, sweeper
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredItem, StoredSession, StoredStream
from sessions_app.sdk import ModelRequest, ModelResponse, TextPart
from tests.engine.conftest import Pump, in_threads, wait_for
from tests.engine.stage import brain, calls, gate
from tests.engine.work import claim, only_effect

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MESSAGE = "@platform/user-message"


class Speaker:
    """Streams a few words, then waits for the gate."""

    def __init__(self, *words: str) -> None:
        self.words = words

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        for word in self.words:
            request.reporter.text(word)
        await gate.passed("speaker")
        return ModelResponse(parts=(TextPart(text="".join(self.words) + " and so on"),))


def stop(session: StoredSession, sender: Sender) -> None:
    assert engine.dispatch_event(session, "@platform/stop", {}, sender=sender).status == "applied"


def test_the_text_so_far_is_kept(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    brain.model = Speaker("Once ", "upon ", "a time")
    engine.dispatch_event(talk, MESSAGE, {"text": "Tell me"}, sender=ann)
    pump.until(lambda: StoredStream.objects.filter(text="Once upon a time").exists())
    stop(talk, ann)
    reply = StoredItem.objects.get(session=talk, type="@platform/assistant-message")
    assert json.loads(reply.data) == {"text": "Once upon a time", "note": "stopped", "model": "", "reasoning": []}
    assert not StoredStream.objects.exists()
    talk.refresh_from_db()
    assert (talk.stopped, talk.request, talk.owed_seq <= talk.answered_seq) == (True, "", True)
    # The event says what was there, so that a replay comes to the same.
    assert json.loads(StoredEvent.objects.get(session=talk, type="@platform/stop").payload) == {
        "partial": "Once upon a time",
        "begun": [],
    }
    sweeper.renew_leases()
    wait_for(lambda: not runner.running_claims(), "the request is cancelled where it runs")
    model = script("Well then.")
    engine.dispatch_event(talk, MESSAGE, {"text": "Go on"}, sender=ann)
    gate.opened.set()
    pump()
    assert [message.text for message in model.requests[0].messages] == ["Tell me", "Once upon a time", "Go on"]


def test_nothing_written_leaves_no_message(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    brain.model = Speaker()
    engine.dispatch_event(talk, MESSAGE, {"text": "Tell me"}, sender=ann)
    pump.until(lambda: gate.begun["speaker"])
    stop(talk, ann)
    assert not StoredItem.objects.filter(session=talk, type="@platform/assistant-message").exists()
    gate.opened.set()
    pump()
    assert not StoredEvent.objects.filter(session=talk, type="@platform/model-responded").exists()


def test_nobody_can_say_what_was_written(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    brain.model = Speaker()
    engine.dispatch_event(talk, MESSAGE, {"text": "Tell me"}, sender=ann)
    pump.until(lambda: gate.begun["speaker"])
    engine.dispatch_event(talk, "@platform/stop", {"partial": "words nobody wrote"}, sender=ann)
    assert not StoredItem.objects.filter(session=talk, type="@platform/assistant-message").exists()


@pytest.mark.fault("B20")
def test_a_running_tool_is_cancelled(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    model = script(calls(("work", {"name": "a"}), ("ask", {"text": "Which?"})), "Fine.")
    engine.dispatch_event(talk, MESSAGE, {"text": "Go"}, sender=ann)
    pump.until(lambda: gate.begun["a"] and StoredItem.objects.filter(type="t-question").exists())
    late = only_effect(talk)
    stop(talk, ann)
    closed = StoredItem.objects.filter(session=talk).exclude(closed="").order_by("id")
    assert {(item.type, item.closed, item.closed_reason) for item in closed} == {
        ("@platform/tool-call", "cancelled", "Stopped by ann."),
        ("t-question", "cancelled", "Stopped by ann."),
    }
    late.refresh_from_db()
    assert (late.status, late.outcome) == ("ended", "cancelled")
    gate.opened.set()
    pump()
    assert not StoredItem.objects.filter(session=talk, type="t-note").exists()
    assert not leases.report(leases.Claim(late, late.attempt, 1), "@platform/tool-finished", {})
    engine.dispatch_event(talk, MESSAGE, {"text": "Again"}, sender=ann)
    pump()
    results = [part for message in model.requests[1].messages for part in message.parts if part.type == "tool_result"]
    assert [(result.is_error, "cancelled" in result.text) for result in results] == [(True, True)] * 2
    assert model.faults == []


def test_stopping_twice_is_no_harm(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(talk, MESSAGE, {"text": "Go"}, sender=ann)
    stop(talk, ann)
    stop(talk, ann)
    pump()
    assert StoredEvent.objects.filter(session=talk).count() == 4


def test_a_stop_and_an_outcome_at_the_same_moment(user: Any, ann: Sender) -> None:
    """Whichever comes first counts; the other finds nothing to do, and the session is usable."""
    for _ in range(10):
        session = engine.create_session("t-counter", {}, user=user)
        engine.dispatch_event(session, "t-launched", {"what": "pay"}, sender=ann)
        effect = only_effect(session)
        payload = {"effect_id": effect.effect_id, "outcome": "done"}
        payload["event"] = {"type": "t-secret", "payload": {"word": "paid"}}
        assert leases.report(claim(effect), "@platform/effect-ended", payload)
        in_threads(partial(stop, session, ann), partial(engine.apply_result, effect))
        effect.refresh_from_db()
        session.stored_state.refresh_from_db()
        paid = json.loads(session.stored_state.data)["words"]
        assert (effect.outcome, paid) in [("done", ["paid"]), ("outcome unknown", [])]
        assert engine.dispatch_event(session, "t-added", {}, sender=ann).status == "applied"


def test_what_has_begun_and_may_happen_once_is_not_said_to_be_cancelled(
    counter: StoredSession, ann: Sender, pump: Pump
) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "pay", "name": "begun"}, sender=ann)
    pump.until(lambda: gate.begun["begun"])
    engine.dispatch_event(counter, "t-launched", {"what": "pay", "name": "waiting"}, sender=ann)
    engine.dispatch_event(counter, "t-launched", {"what": "report", "name": "again"}, sender=ann)
    stop(counter, ann)
    outcomes = counter.effects.order_by("id").values_list("outcome", flat=True)
    assert list(outcomes) == ["outcome unknown", "cancelled", "cancelled"]


def test_nobody_can_say_what_has_begun(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    effect = only_effect(counter)
    engine.dispatch_event(counter, "@platform/stop", {"begun": [effect.effect_id]}, sender=ann)
    effect.refresh_from_db()
    assert effect.outcome == "cancelled"

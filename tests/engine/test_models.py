"""Model requests: faults that pass, faults that stay, and the request that is sent again as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sessions_app import endings, engine, history
from sessions_app.core.data import load
from sessions_app.core.events import Sender
from sessions_app.core.language_model import Terminated
from sessions_app.core.request import prepare_request
from sessions_app.models import StoredBlob, StoredEvent, StoredItem, StoredSession
from sessions_app.registry import get_agent
from sessions_app.sdk import ModelRequest, ModelResponse, Usage
from tests.engine.agents import Tally
from tests.engine.conftest import Pump
from tests.engine.stage import gate
from tests.engine.work import only_effect

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MESSAGE = "@platform/user-message"
OVERLOADED = ModelResponse(status=Terminated(reason="overloaded", message="Too busy.", retryable=True))


def ask(session: StoredSession, sender: Sender, text: str = "Hello") -> None:
    engine.dispatch_event(session, MESSAGE, {"text": text}, sender=sender)


def responded(session: StoredSession) -> dict[str, Any]:
    event = StoredEvent.objects.filter(session=session, type="@platform/model-responded").latest("seq")
    payload: dict[str, Any] = json.loads(event.payload)
    return payload


def rebuilt_digest(session: StoredSession, response: dict[str, Any]) -> str:
    """Return the digest of a request as it is built again from the history alone."""
    effect = session.effects.get(effect_id=response["effect_id"])
    then = history.state_at(session, response["seen_seq"])
    return prepare_request(get_agent(session.agent), load(Tally, then.agent_state), then, effect.owner_item).digest


def between_attempts(session: StoredSession) -> bool:
    effect = session.effects.exclude(status="ended").first()
    return effect is not None and (effect.status, effect.attempt) == ("pending", 1)


def test_a_passing_fault_is_tried_again_with_the_same_request(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(OVERLOADED, OVERLOADED, "Here I am.", "And here.")
    ask(talk, ann)
    pump.until(lambda: between_attempts(talk))
    waiting = only_effect(talk)
    assert waiting.message == "Too busy."
    assert waiting.due_at > waiting.created_at
    ask(talk, ann, "And another thing")  # It is no part of the request that is sent again.
    pump()
    assert model.requests[0] == model.requests[1] == model.requests[2]
    assert [message.text for message in model.requests[3].messages] == ["Hello", "Here I am.", "And another thing"]
    effects = talk.effects.order_by("id")
    assert [(effect.outcome, effect.attempt, effect.request) for effect in effects] == [
        ("done", 3, ""),
        ("done", 1, ""),
    ]
    assert StoredEvent.objects.filter(session=talk, type="@platform/model-responded").count() == 2


def test_a_request_sent_again_can_be_rebuilt_from_the_history(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    """What it had seen is what its first attempt saw, whatever has changed until the last one."""
    model = script("First.", OVERLOADED, "Second.", "Third.")
    ask(talk, ann)
    pump()
    ask(talk, ann, "More")
    pump.until(lambda: between_attempts(talk))
    engine.dispatch_event(talk, "t-hid", {"item_id": "2_0"}, sender=ann)
    pump()
    ask(talk, ann, "Much more")
    pump()
    first, second, third = StoredEvent.objects.filter(session=talk, type="@platform/model-responded").order_by("seq")
    seen = []
    for event in (first, second, third):
        payload = json.loads(event.payload)
        assert payload["request_digest"] == rebuilt_digest(talk, payload)
        seen.append(payload["seen_seq"])
    assert seen == [2, 4, 7]
    assert model.requests[1] == model.requests[2]
    assert StoredBlob.objects.get(digest=json.loads(second.payload)["system_digest"]).text == '["You help."]'


@pytest.mark.fault("B28", "B30")
def test_a_fault_that_does_not_pass_ends_after_five_attempts(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(*[OVERLOADED] * 5, "Back again.")
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (len(model.requests), talk.blocked_code, talk.blocked_reason) == (5, "overloaded", "Too busy.")
    assert talk.effects.get().outcome == "done"
    engine.dispatch_event(talk, "@platform/retry", {}, sender=ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, responded(talk)["response"]["parts"][0]["text"]) == ("", "Back again.")


@pytest.mark.parametrize("reason", ["authentication", "invalid_request", "refused", "error"])
@pytest.mark.fault("B29")
def test_a_permanent_fault_blocks_at_once(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any, reason: Any
) -> None:
    model = script(ModelResponse(status=Terminated(reason=reason, message="No."), usage=Usage(input_tokens=3)), "Yes.")
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (len(model.requests), talk.blocked_code, talk.blocked_reason) == (1, reason, "No.")
    assert (talk.input_tokens, talk.request) == (3, "")
    assert [item.type for item in StoredItem.objects.filter(session=talk)] == [MESSAGE]
    ask(talk, ann, "Please")
    pump()
    talk.refresh_from_db()
    assert talk.blocked_code == ""


def test_a_message_that_comes_while_the_model_writes_is_answered_next(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    async def slowly(request: ModelRequest) -> str:
        await gate.passed("slow")
        return "First answer."

    model = script(slowly, "Second answer.")
    ask(talk, ann, "One")
    pump.until(lambda: gate.begun["slow"])
    ask(talk, ann, "Two")
    ask(talk, ann, "Three")
    gate.opened.set()
    pump()
    texts = [[message.text for message in request.messages] for request in model.requests]
    assert texts == [["One"], ["One", "First answer.", "Two\n\nThree"]]


def test_pauses_between_attempts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings.random, "random", lambda: 0.0)
    assert [endings.backoff(number) for number in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert replace(endings.Ending(), retry_after=1.0).retry_after == 1.0

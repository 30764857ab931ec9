"""Events one by one: messages, keys that make a repeat harmless, failures and trying again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import transaction

from sessions_app import engine, outbox
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump, in_threads

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

USER_MESSAGE = "@platform/user-message"


def total(session: StoredSession) -> int:
    session.refresh_from_db()
    session.stored_state.refresh_from_db()
    value: int = json.loads(session.stored_state.data)["total"]
    return value


def test_a_message_is_stored_and_answered(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    model = script("Hello, Ann.")
    receipt = engine.dispatch_event(talk, USER_MESSAGE, {"text": "Hello"}, sender=ann)
    assert (receipt.seq, receipt.status, receipt.repeated) == (2, "applied", False)
    event = StoredEvent.objects.get(session=talk, seq=2)
    assert (event.sender_kind, event.sender_id, event.sender_name) == ("person", ann.id, "ann")
    talk.refresh_from_db()
    assert (talk.seq, talk.owed_seq, talk.answered_seq, talk.request, talk.title) == (2, 2, 0, "2_2", "Hello")
    pump()
    talk.refresh_from_db()
    assert (talk.seq, talk.owed_seq, talk.answered_seq, talk.request) == (3, 2, 2, "")
    items = StoredItem.objects.filter(session=talk).order_by("position")
    assert [json.loads(item.data)["text"] for item in items] == ["Hello", "Hello, Ann."]
    assert talk.input_tokens > 0
    assert [message.text for message in model.requests[0].messages] == ["Hello"]


def test_a_repeated_key_gets_the_first_receipt(counter: StoredSession, ann: Sender) -> None:
    first = engine.dispatch_event(counter, "t-added", {"by": 3}, sender=ann, client_key="k")
    for _ in range(3):
        again = engine.dispatch_event(counter, "t-added", {"by": 3}, sender=ann, client_key="k")
        assert (again.seq, again.status, again.repeated) == (first.seq, first.status, True)
    assert total(counter) == 3
    assert StoredEvent.objects.get(session=counter, seq=2).repeats == 3


def test_a_failed_event_counts_as_handled_too(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    for _ in range(2):
        assert engine.dispatch_event(counter, "t-fragile", {}, sender=ann, client_key="k").status == "failed"
    assert StoredEvent.objects.filter(session=counter, type="t-fragile").count() == 1


@pytest.mark.parametrize(("type", "payload"), [("t-added", {"by": 4}), ("t-broke", {}), ("t-added", {})])
def test_a_key_used_for_something_else_is_refused(
    counter: StoredSession, ann: Sender, type: str, payload: dict[str, Any]
) -> None:
    engine.dispatch_event(counter, "t-added", {"by": 3}, sender=ann, client_key="k")
    with pytest.raises(EventRejected) as rejection:
        engine.dispatch_event(counter, type, payload, sender=ann, client_key="k")
    assert rejection.value.code == "invalid"
    assert total(counter) == 3


def test_keys_of_different_senders_are_different(counter: StoredSession, ann: Sender) -> None:
    for sender in (ann, Sender("command", ann.id), Sender("person", "0")):
        assert not engine.dispatch_event(counter, "t-added", {}, sender=sender, client_key="k").repeated
    assert total(counter) == 3


def test_the_order_of_keys_makes_no_other_event(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-added", {"by": 1, "note": "x"}, sender=ann, client_key="k")
    assert engine.dispatch_event(counter, "t-added", {"note": "x", "by": 1}, sender=ann, client_key="k").repeated


def test_a_key_sent_by_two_tabs_at_once_counts_once(counter: StoredSession, ann: Sender) -> None:
    def send() -> Any:
        return engine.dispatch_event(counter, "t-added", {"by": 1}, sender=ann, client_key="k")

    receipts = in_threads(*[send] * 8)
    assert [receipt.seq for receipt in receipts] == [2] * 8
    assert sum(not receipt.repeated for receipt in receipts) == 1
    assert (total(counter), StoredEvent.objects.get(seq=2).repeats) == (1, 7)


def test_a_key_that_cannot_be_stored_is_refused(counter: StoredSession, ann: Sender) -> None:
    for key in ("x" * 81, "\x00", "\ud800"):
        with pytest.raises(EventRejected) as rejection:
            engine.dispatch_event(counter, "t-added", {}, sender=ann, client_key=key)
        assert rejection.value.code == "invalid"


def test_a_handler_that_raises_leaves_the_session_as_it_was(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    receipt = engine.dispatch_event(counter, "t-fragile", {}, sender=ann)
    assert (receipt.seq, receipt.status) == (3, "failed")
    event = StoredEvent.objects.get(session=counter, seq=3)
    assert event.delta == "[]"
    assert event.reason.startswith("Traceback")
    assert "it broke" in event.reason
    assert "\x00" not in event.reason
    assert engine.dispatch_event(counter, "t-added", {"by": 1}, sender=ann).status == "applied"
    assert total(counter) == 1


@pytest.mark.fault("B74")
def test_a_failed_event_can_be_tried_again_until_it_succeeds(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    engine.dispatch_event(counter, "t-fragile", {}, sender=ann)
    assert engine.dispatch_event(counter, "t-fragile", {}, sender=ann, retry_of=3).status == "failed"
    engine.dispatch_event(counter, "t-mended", {}, sender=ann)
    receipt = engine.dispatch_event(counter, "t-fragile", {}, sender=ann, retry_of=3)
    assert (receipt.seq, receipt.status, total(counter)) == (6, "applied", 1000)
    assert StoredEvent.objects.get(session=counter, seq=6).retry_of == 3
    with pytest.raises(EventRejected) as rejection:
        engine.dispatch_event(counter, "t-fragile", {}, sender=ann, retry_of=3)
    assert rejection.value.code == "conflict"
    assert total(counter) == 1000


def test_only_a_failed_event_can_be_tried_again(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    engine.dispatch_event(counter, "t-fragile", {}, sender=ann)
    engine.dispatch_event(counter, "t-added", {"by": 1}, sender=ann)
    wrong: list[tuple[str, dict[str, Any], int, str]] = [
        ("t-added", {"by": 3}, 3, "invalid"),  # another type
        ("t-fragile", {"x": 1}, 3, "invalid"),  # another payload
        ("t-added", {"by": 1}, 4, "conflict"),  # it did not fail
        ("t-fragile", {}, 99, "conflict"),
        ("t-fragile", {}, 10**30, "conflict"),
        ("t-fragile", {}, -1, "conflict"),
    ]
    for type, payload, retry_of, code in wrong:
        with pytest.raises(EventRejected) as rejection:
            engine.dispatch_event(counter, type, payload, sender=ann, retry_of=retry_of)
        assert rejection.value.code == code
    assert StoredEvent.objects.count() == 4


def test_two_who_try_again_at_once_succeed_once(counter: StoredSession, ann: Sender) -> None:
    for type in ("t-broke", "t-fragile", "t-mended"):
        engine.dispatch_event(counter, type, {}, sender=ann)

    def send() -> Any:
        return engine.dispatch_event(counter, "t-fragile", {}, sender=ann, retry_of=3)

    results = in_threads(*[send] * 4)
    assert sum(not isinstance(result, EventRejected) for result in results) == 1
    assert total(counter) == 1000


def test_a_change_that_is_rolled_back_is_announced_to_nobody(
    talk: StoredSession, ann: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[Any] = []
    monkeypatch.setattr(outbox, "announce", lambda *what: announced.append(what))
    with transaction.atomic():
        assert engine.dispatch_event(talk, USER_MESSAGE, {"text": "Hello"}, sender=ann).seq == 2
        transaction.set_rollback(True)
    talk.refresh_from_db()
    assert (talk.seq, StoredEvent.objects.count(), StoredItem.objects.count()) == (1, 1, 0)
    assert not StoredEffect.objects.exists()
    assert announced == []
    engine.dispatch_event(talk, USER_MESSAGE, {"text": "Hello"}, sender=ann)
    assert announced == [(talk.key.hex, 2, [StoredEffect.objects.get().pk])]

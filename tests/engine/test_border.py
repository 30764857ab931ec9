"""What may come in: everything else is refused with a reason and leaves no row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app import engine
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

USER_MESSAGE = "@platform/user-message"
LIMIT = 64 * 1024


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    # type, payload, item, and the code of the refusal
    ("t-secret", {"word": "x"}, "", "forbidden"),
    ("@platform/session-created", {"agent": "t-counter", "version": "1"}, "", "forbidden"),
    ("@platform/model-responded", {"effect_id": "1_0", "response": {}}, "", "forbidden"),
    ("@platform/effect-ended", {"effect_id": "1_0", "outcome": "done"}, "", "forbidden"),
    ("@platform/nothing", {}, "", "forbidden"),
    ("t-finished", {"text": "x"}, "", "forbidden"),
    ("t-unheard-of", {}, "", "invalid"),
    ("t-replied", {"text": "x"}, "", "invalid"),
    ("t" * 500, {}, "", "invalid"),
    ("a\x00b", {}, "", "invalid"),
    ("t-added", {"by": "x"}, "", "invalid"),
    ("t-added", {"times": 1}, "", "invalid"),
    ("t-filled", {}, "", "invalid"),
    (USER_MESSAGE, {"text": ""}, "", "invalid"),
    (USER_MESSAGE, {"text": " \u200b\n"}, "", "invalid"),
    (USER_MESSAGE, {}, "", "invalid"),
    ("t-replied", {"text": "x"}, "9_9", "not_found"),
    ("t-replied", {"text": "x"}, "../../etc", "not_found"),
    ("t-replied", {"text": "x"}, "a\x00b", "not_found"),
    ("t-replied", {"text": "x"}, "\ud800", "not_found"),
    ("t-replied", {"text": "x"}, "9" * 5000, "not_found"),
    ("t-added", {"by": 1}, "1_0", "invalid"),
    ("t-replied", {"text": ""}, "1_0", "invalid"),
    ("t-progressed", {"done": 1}, "1_0", "forbidden"),
    ("@platform/retry", {}, "", "conflict"),
    ("@platform/try-again", {}, "1_0", "conflict"),
    ("t-added", {"by": float("nan")}, "", "invalid"),
    ("t-added", {"by": float("-inf")}, "", "invalid"),
    ("t-added", {"by": 2**63}, "", "invalid"),
    ("t-added", {"by": {1: 2}}, "", "invalid"),
    ("t-added", {"by": {1, 2}}, "", "invalid"),
    ("t-added", {"note": b"bytes"}, "", "invalid"),
    ("t-added", deep(51), "", "invalid"),
    ("t-added", deep(10_000), "", "invalid"),
    ("t-added", json.loads('{"by":' + "[" * 900 + "]" * 900 + "}"), "", "invalid"),
    ("t-added", {"note": "x" * LIMIT}, "", "too_large"),
    ("t-added", {"note": "ä" * (LIMIT // 2)}, "", "too_large"),
    ("t-added", {"x" * LIMIT: 1}, "", "too_large"),
]  # fmt: skip


@pytest.mark.fault("B34")
def test_what_is_refused_leaves_no_trace(user: Any, ann: Sender) -> None:
    session = engine.create_session("t-counter", {"questions": 1}, user=user)
    for type, payload, item_id, code in REFUSED:
        with pytest.raises(EventRejected) as rejection:
            engine.dispatch_event(session, type, payload, sender=ann, item_id=item_id)
        assert rejection.value.code == code, type
        assert len(rejection.value.message) < 700
    assert StoredEvent.objects.count() == 1
    session.refresh_from_db()
    assert (session.seq, session.title, session.owed_seq) == (1, "", 0)


def test_a_payload_of_just_the_limit_is_taken(counter: StoredSession, ann: Sender) -> None:
    frame = len('{"note":""}')
    receipt = engine.dispatch_event(counter, "t-added", {"note": "x" * (LIMIT - frame)}, sender=ann)
    assert receipt.status == "applied"
    assert len(StoredEvent.objects.get(seq=2).payload) == LIMIT


@pytest.mark.fault("B32")
def test_what_no_database_takes_is_replaced(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(talk, USER_MESSAGE, {"text": "a\x00b \ud83d\ude00 \ud800 😀"}, sender=ann)
    pump()
    assert json.loads(StoredItem.objects.get(session=talk, item_id="2_0").data) == {
        "text": "a\ufffdb \ufffd\ufffd \ufffd 😀"
    }
    talk.refresh_from_db()
    assert talk.title == "a\ufffdb \ufffd\ufffd \ufffd 😀"


@pytest.mark.parametrize("kind", ["person", "command", "schedule"])
def test_only_what_is_inside_may_send_private_events(counter: StoredSession, kind: Any) -> None:
    with pytest.raises(EventRejected, match="can only be sent by the session's own work"):
        engine.dispatch_event(counter, "t-secret", {"word": "x"}, sender=Sender(kind, "1"))
    assert engine.dispatch_event(counter, "t-secret", {"word": "x"}, sender=Sender("system")).status == "applied"


@pytest.mark.fault("B32")
def test_a_title_no_database_takes_is_replaced(counter: StoredSession, ann: Sender) -> None:
    receipt = engine.dispatch_event(counter, "t-entitled", {"title": "ä" * 199 + "\x00b"}, sender=ann)
    assert receipt.status == "applied"
    counter.refresh_from_db()
    assert counter.title == "ä" * 199 + "\ufffd"


def test_a_handler_may_look_at_the_order_of_keys(counter: StoredSession, ann: Sender) -> None:
    # It sees them as a replay does, which the fixture around every test checks.
    engine.dispatch_event(counter, "t-listed", {"words": {"b": "", "a": "", "c": ""}}, sender=ann)
    counter.refresh_from_db()
    assert counter.title == "a b c"


def test_long_texts_that_stand_twice_in_a_payload_replay(counter: StoredSession, ann: Sender) -> None:
    long = "the same long text " * 5
    engine.dispatch_event(counter, "t-listed", {"words": {"b": long, "a": long}}, sender=ann)
    engine.dispatch_event(counter, "t-entitled", {"title": long}, sender=ann)
    counter.refresh_from_db()
    assert counter.title == long


def test_depth_fifty_is_taken(counter: StoredSession, ann: Sender) -> None:
    with pytest.raises(EventRejected, match="not filled in right"):
        engine.dispatch_event(counter, "t-added", deep(50), sender=ann)  # refused for its field, not for its depth


def test_a_session_that_is_gone_takes_nothing(counter: StoredSession, ann: Sender) -> None:
    StoredSession.objects.filter(pk=counter.pk).delete()
    for send in gone(counter, ann):
        with pytest.raises(EventRejected) as rejection:
            send()
        assert rejection.value.code == "not_found"
    assert not StoredEvent.objects.exists()


def gone(session: StoredSession, sender: Sender) -> list[Callable[[], Any]]:
    return [
        lambda: engine.dispatch_event(session, "t-added", {}, sender=sender),
        lambda: engine.dispatch_event(session, "t-replied", {"text": "x"}, sender=sender, item_id="1_0"),
        lambda: engine.dispatch_event(session, "t-added", {}, sender=sender, client_key="k"),
        lambda: engine.dispatch_event(session, "t-added", {}, sender=sender, retry_of=1),
    ]

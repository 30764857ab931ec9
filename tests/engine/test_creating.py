"""Creating sessions: arguments, first state, and a key that makes a repeat harmless."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from sessions_app import engine, history
from sessions_app.core.errors import EventRejected, HandlerError
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession, StoredState
from tests.engine.conftest import in_threads

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_session_begins_with_one_event(user: Any) -> None:
    session = engine.create_session("t-counter", {"start": 7, "questions": 2}, user=user)
    assert (session.agent, session.version, session.owner, session.seq) == ("t-counter", "1", user, 1)
    event = StoredEvent.objects.get(session=session)
    assert (event.seq, event.type, event.status) == (1, "@platform/session-created", "applied")
    assert (event.sender_kind, event.sender_id, event.sender_name) == ("person", str(user.pk), "ann")
    assert StoredState.objects.get(session=session).data == '{"broken":false,"total":7,"words":[]}'
    items = StoredItem.objects.filter(session=session)
    assert list(items.values_list("item_id", "type", "created_seq")) == [
        ("1_0", "t-question", 1),
        ("1_1", "t-question", 1),
    ]
    assert session.created_at == session.updated_at == event.time == items[0].created_at


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"start": -1}, ("start",)),
        ({"start": "many"}, ("start",)),
        ({"begin": 1}, ("begin",)),
        ({"start": None}, ("start",)),
    ],
)
def test_wrong_arguments_name_their_field_and_store_nothing(user: Any, args: dict[str, Any], path: tuple[str]) -> None:
    with pytest.raises(EventRejected) as rejection:
        engine.create_session("t-counter", args, user=user)
    assert rejection.value.code == "invalid"
    assert [where for where, _ in rejection.value.errors] == [path]
    assert nothing_stored()


def test_every_wrong_field_is_named(user: Any) -> None:
    with pytest.raises(EventRejected) as rejection:
        engine.create_session("t-counter", {"start": 1000, "title": 1, "questions": "x"}, user=user)
    assert sorted(where for where, _ in rejection.value.errors) == [("questions",), ("start",), ("title",)]


def test_an_unknown_agent_is_refused(user: Any) -> None:
    with pytest.raises(EventRejected, match='There is no agent "t-nobody" here') as rejection:
        engine.create_session("t-nobody", {}, user=user)
    assert rejection.value.code == "not_found"


def test_an_agent_that_fails_to_create_stores_nothing(user: Any) -> None:
    with pytest.raises(HandlerError, match="no such session"):
        engine.create_session("t-counter", {"title": "fail"}, user=user)
    assert nothing_stored()


def test_the_same_key_gives_the_same_session(user: Any) -> None:
    first = engine.create_session("t-counter", {"start": 1}, user=user, key="k")
    assert engine.create_session("t-counter", {"start": 2}, user=user, key="k") == first
    assert engine.create_session("t-counter", {"start": 1}, user=user, key="other") != first
    assert engine.create_session("t-desk", {}, user=user, key="k") != first
    stranger = get_user_model().objects.create_user("sam")
    assert engine.create_session("t-counter", {"start": 1}, user=stranger, key="k") != first
    assert StoredSession.objects.count() == StoredEvent.objects.count() == 4


def test_the_same_key_at_the_same_moment_gives_one_session(user: Any) -> None:
    for key in map(str, range(10)):
        create = partial(engine.create_session, "t-counter", {"questions": 1}, user=user, key=key)
        created = in_threads(create, create)
        assert created[0] == created[1]
        assert created[0].seq == created[1].seq == 1
    assert StoredSession.objects.count() == StoredEvent.objects.count() == StoredItem.objects.count() == 10


def test_a_key_that_cannot_be_stored_is_refused(user: Any) -> None:
    for key in ("x" * 65, "a\x00b", "\ud800"):
        with pytest.raises(EventRejected) as rejection:
            engine.create_session("t-counter", {}, user=user, key=key)
        assert rejection.value.code == "invalid"
    assert nothing_stored()


def test_the_first_event_replays(user: Any) -> None:
    session = engine.create_session("t-counter", {"start": 3, "questions": 3}, user=user)
    assert history.replay(session) is None
    assert history.state_at(session, 1).order() == ["1_0", "1_1", "1_2"]


def nothing_stored() -> bool:
    return not any(model.objects.exists() for model in (StoredSession, StoredEvent, StoredItem, StoredEffect))

"""Questions: one answer counts, and whoever comes second learns who was first."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from sessions_app import engine
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from sessions_app.receipts import Receipt
from tests.engine.conftest import Pump, in_threads
from tests.engine.stage import calls

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

SAM = Sender("person", "0", "sam")


@pytest.fixture
def survey(user: Any) -> StoredSession:
    return engine.create_session("t-counter", {"questions": 2}, user=user)


def answer(session: StoredSession, sender: Sender, text: str, item_id: str = "1_0", seen: int | None = 0) -> Receipt:
    return engine.dispatch_event(
        session, "t-replied", {"text": text}, sender=sender, item_id=item_id, answers_seen=seen
    )


def stored(session: StoredSession, item_id: str) -> StoredItem:
    return StoredItem.objects.get(session=session, item_id=item_id)


def test_an_answer_settles_its_question(survey: StoredSession, ann: Sender) -> None:
    assert answer(survey, ann, "yes").status == "applied"
    row = stored(survey, "1_0")
    assert (json.loads(row.data)["reply"], row.render_status, row.answers) == ("yes", "ready", 1)
    assert row.settled_at == StoredEvent.objects.get(session=survey, seq=2).time
    assert stored(survey, "1_1").render_status == "pending"


@pytest.mark.parametrize("seen", [0, 1, None])
@pytest.mark.fault("B37", "B38")
def test_the_second_answer_learns_who_was_first(survey: StoredSession, ann: Sender, seen: int | None) -> None:
    answer(survey, ann, "yes")
    with pytest.raises(EventRejected) as rejection:
        answer(survey, SAM, "no", seen=seen)
    first = StoredEvent.objects.get(session=survey, seq=2)
    assert rejection.value.code == "conflict"
    assert rejection.value.details | {"closed": ""} == {
        "who": "ann", "what": {"text": "yes"}, "when": first.time, "type": "t-replied", "item_id": "1_0", "closed": "",
    }  # fmt: skip
    assert json.loads(stored(survey, "1_0").data)["reply"] == "yes"
    assert StoredEvent.objects.count() == 2


@pytest.mark.fault("B38")
def test_an_answer_to_what_was_skipped_learns_so(survey: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(survey, "@platform/skip", {}, sender=ann, item_id="1_0")
    with pytest.raises(EventRejected, match="closed before") as rejection:
        answer(survey, SAM, "no")
    assert rejection.value.details["closed"] == "skipped"


def test_a_form_that_has_seen_other_answers_is_refused(survey: StoredSession, ann: Sender) -> None:
    with pytest.raises(EventRejected, match="Somebody answered this a moment ago"):
        answer(survey, ann, "yes", seen=3)
    assert answer(survey, ann, "yes", seen=None).status == "applied"


@pytest.mark.fault("B21")
def test_a_repeated_answer_is_the_first_one(survey: StoredSession, ann: Sender) -> None:
    send = partial(
        engine.dispatch_event, survey, "t-replied", {"text": "yes"},
        sender=ann, item_id="1_0", answers_seen=0, client_key="k",
    )  # fmt: skip
    assert not send().repeated
    assert send().repeated


@pytest.mark.fault("B37")
def test_of_two_simultaneous_answers_one_counts(user: Any, ann: Sender) -> None:
    survey = engine.create_session("t-counter", {"questions": 50}, user=user)
    for number in range(50):
        item_id = f"1_{number}"
        results = in_threads(
            partial(answer, survey, ann, "from ann", item_id), partial(answer, survey, SAM, "from sam", item_id)
        )
        (receipt,) = [result for result in results if isinstance(result, Receipt)]
        (rejection,) = [result for result in results if isinstance(result, EventRejected)]
        assert (receipt.status, rejection.code) == ("applied", "conflict")
        winner = "ann" if results[0] is receipt else "sam"
        assert rejection.details["who"] == winner
        assert json.loads(stored(survey, item_id).data)["reply"] == f"from {winner}"
    assert StoredEvent.objects.filter(session=survey, type="t-replied").count() == 50


@pytest.mark.fault("B16")
def test_an_answer_under_a_call_goes_to_the_model(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    model = script(calls(("ask", {"text": "Which?"}), ("ask", {"text": "When?"})), "Fine.")
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Hi"}, sender=ann)
    pump()
    first, second = StoredItem.objects.filter(session=talk, type="t-question").order_by("index", "id")
    answer(talk, ann, "this", first.item_id)
    talk.refresh_from_db()
    assert talk.request == ""
    answer(talk, ann, "now", second.item_id)
    talk.refresh_from_db()
    assert talk.request != ""
    pump()
    parts = [part for message in model.requests[1].messages for part in message.parts]
    results = [part.text for part in parts if part.type == "tool_result"]
    assert sorted(results) == ["now", "this"]
    assert model.faults == []

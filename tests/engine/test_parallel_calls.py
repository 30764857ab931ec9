"""Calls of one reply: each runs, fails, asks and waits for itself, and the model gets all results in call order."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db.models import DateTimeField, F, Model

from sessions_app import engine, sweeper
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from sessions_app.receipts import Receipt
from sessions_app.sdk import ModelRequest
from tests.engine.agents_panel import PanelAgent
from tests.engine.conftest import Pump, in_threads, open_effects
from tests.engine.stage import calls, gate

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

SAM = Sender("person", "0", "sam")


@pytest.fixture
def panel(user: Any) -> StoredSession:
    return engine.create_session(PanelAgent.name, {}, user=user)


def say(session: StoredSession, sender: Sender, text: str = "Go") -> None:
    engine.dispatch_event(session, "@platform/user-message", {"text": text}, sender=sender)


def items(session: StoredSession, type: str) -> list[StoredItem]:
    return list(StoredItem.objects.filter(session=session, type=type).order_by("parent", "id"))


def results(request: ModelRequest) -> list[tuple[str, bool]]:
    parts = [part for message in request.messages for part in message.parts]
    return [(part.text, part.is_error) for part in parts if part.type == "tool_result"]


def age(by: timedelta) -> None:
    """Let time pass: every moment that is stored lies further back."""
    models: list[type[Model]] = [StoredSession, StoredEvent, StoredItem, StoredEffect]
    for model in models:
        names = [field.name for field in model._meta.fields if isinstance(field, DateTimeField)]
        model._default_manager.update(**{name: F(name) - by for name in names})


@pytest.mark.fault("B23")
def test_one_call_that_fails_at_once_takes_nothing_from_four_that_run(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    work = [("work", {"name": name}) for name in "abcd"]
    model = script(calls(*work[:2], ("fail", {}), *work[2:]), "Done.")
    say(panel, ann)
    pump.until(lambda: items(panel, "@platform/tool-error") and all(gate.begun[name] for name in "abcd"))
    gate.opened.set()
    pump()
    assert gate.begun == dict.fromkeys("abcd", 1)
    found = results(model.requests[1])
    assert [error for _, error in found] == [False, False, True, False, False]
    assert [text for text, error in found if not error] == [f"worked on {name}" for name in "abcd"]
    assert "no such thing" in found[2][0]
    assert (len(model.requests), model.faults) == (2, [])


@pytest.mark.fault("B15", "B16")
def test_three_questions_of_one_reply_are_open_together_and_each_gets_its_own_answer(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(calls(*[("ask", {"text": text}) for text in ("Who?", "Where?", "When?")]), "Fine.")
    say(panel, ann)
    pump()
    asked = items(panel, "t-question")
    assert [json.loads(question.data)["text"] for question in asked] == ["Who?", "Where?", "When?"]
    assert len({question.item_id for question in asked}) == 3
    who, where, when = [
        partial(engine.dispatch_event, panel, "t-replied", {"text": text}, sender=ann, item_id=question.item_id)
        for text, question in zip(("Ada", "Oslo", "Today"), asked, strict=True)
    ]
    when()
    assert open_effects() == []  # The model is not asked for as long as a question is open.
    in_threads(where, who)
    assert [effect[1] for effect in open_effects()] == ["@platform/generate-response"]
    pump()
    assert [question.item_id for question in items(panel, "t-question")] == [q.item_id for q in asked]
    replies = [json.loads(question.data)["reply"] for question in items(panel, "t-question")]
    assert replies == ["Ada", "Oslo", "Today"]
    assert results(model.requests[1]) == [("Ada", False), ("Oslo", False), ("Today", False)]
    assert (len(model.requests), model.faults) == (2, [])


@pytest.mark.fault("B02", "B24")
@pytest.mark.parametrize(
    ("decision", "told"), [("@platform/approve", "sent to Bob"), ("@platform/decline", "declined this call: Not now")]
)
def test_calls_beside_one_that_needs_approval_run_at_once_and_once(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any, decision: str, told: str
) -> None:
    model = script(calls(("work", {"name": "a"}), ("send", {"to": "Bob"}), ("work", {"name": "c"})), "Done.")
    gate.opened.set()
    say(panel, ann)
    pump()
    assert gate.begun == {"a": 1, "c": 1}
    assert len(model.requests) == 1
    (approval,) = items(panel, "@platform/approval")
    payload = {"digest": json.loads(approval.data)["digest"]} if "approve" in decision else {"reason": "Not now"}
    engine.dispatch_event(panel, decision, payload, sender=ann, item_id=approval.item_id)
    pump()
    assert gate.begun == {"a": 1, "c": 1} | ({"Bob": 1} if "approve" in decision else {})
    found = results(model.requests[1])
    assert [error for _, error in found] == [False, "decline" in decision, False]
    assert (found[0][0], found[2][0]) == ("worked on a", "worked on c")
    assert told in found[1][0]
    assert model.faults == []


@pytest.mark.fault("B18", "B19")
def test_messages_while_calls_are_open_stand_behind_their_results_once_and_in_order(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(calls(("work", {"name": "a"}), ("ask", {"text": "Well?"}), ("send", {"to": "Bob"})), "Fine.")
    say(panel, ann)
    pump.until(lambda: gate.begun["a"] and items(panel, "t-question"))
    in_threads(*[partial(say, panel, ann, f"message {number}") for number in range(5)])
    gate.opened.set()
    pump()
    in_threads(*[partial(say, panel, ann, f"message {number}") for number in range(5, 10)])
    pump()
    (question,), (approval,) = items(panel, "t-question"), items(panel, "@platform/approval")
    engine.dispatch_event(panel, "t-replied", {"text": "Yes"}, sender=ann, item_id=question.item_id)
    pump()
    assert len(model.requests) == 1
    engine.dispatch_event(panel, "@platform/skip", {}, sender=ann, item_id=approval.item_id)
    pump()
    assert (len(model.requests), model.faults) == (2, [])
    assert [text for text, _ in results(model.requests[1])][:2] == ["worked on a", "Yes"]
    stored = [json.loads(item.data)["text"] for item in items(panel, "@platform/user-message")[1:]]
    assert sorted(stored) == [f"message {number}" for number in range(10)]
    *_, last = model.requests[1].messages
    assert last.text == "\n\n".join(stored)


@pytest.mark.fault("B37")
def test_of_an_approval_and_a_refusal_at_the_same_moment_one_counts(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    count = 20
    script(calls(*[("send", {"to": str(number)}) for number in range(count)]), "Done.")
    say(panel, ann)
    pump()
    approved = 0
    for approval in items(panel, "@platform/approval"):
        send = partial(engine.dispatch_event, panel, item_id=approval.item_id, answers_seen=0)
        digest = json.loads(approval.data)["digest"]
        yes, no = in_threads(
            partial(send, "@platform/approve", {"digest": digest}, sender=ann),
            partial(send, "@platform/decline", {"reason": "No"}, sender=SAM),
        )
        assert {type(yes), type(no)} == {Receipt, EventRejected}
        refused = yes if isinstance(yes, EventRejected) else no
        assert refused.code == "conflict"
        assert refused.details["who"] == ("sam" if refused is yes else "ann")
        approved += refused is no
    pump()
    assert sum(gate.begun.values()) == approved
    assert len(items(panel, "@platform/tool-error")) == count - approved


@pytest.mark.fault("B40")
@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({}, "invalid"),
        ({"stars": "many"}, "invalid"),
        ({"stars": 0}, "invalid"),
        ({"stars": 11}, "invalid"),
        ({"stars": 2.5}, "invalid"),
        ({"stars": None}, "invalid"),
        ({"stars": [5]}, "invalid"),
        ({"stars": "x" * 50_000}, "invalid"),
        ({"stars": "x" * 5_000_000}, "too_large"),
    ],
)
def test_an_answer_that_breaks_its_declared_form_changes_nothing(
    panel: StoredSession, ann: Sender, pump: Pump, script: Any, payload: dict[str, Any], code: str
) -> None:
    model = script(calls(("rate", {})), "Thanks.")
    say(panel, ann)
    pump()
    (rating,) = items(panel, "t-rating")
    panel.refresh_from_db()
    seq = panel.seq
    with pytest.raises(EventRejected) as refused:
        engine.dispatch_event(panel, "t-rated", payload, sender=ann, item_id=rating.item_id)
    assert refused.value.code == code
    assert [path for path, _ in refused.value.errors] == ([("stars",)] if code == "invalid" else [])
    panel.refresh_from_db()
    assert (panel.seq, items(panel, "t-rating")[0].data, open_effects()) == (seq, rating.data, [])
    engine.dispatch_event(panel, "t-rated", {"stars": 10}, sender=ann, item_id=rating.item_id)
    pump()
    assert results(model.requests[1]) == [("Rated.", False)]


@pytest.mark.fault("B39")
def test_waiting_for_a_month_takes_nothing_and_every_session_goes_on(
    user: Any, ann: Sender, pump: Pump, script: Any
) -> None:
    count = 20
    model = script(*[calls(("ask", {"text": "Well?"}))] * count, *["Fine."] * count)
    waiting = [engine.create_session(PanelAgent.name, {}, user=user) for _ in range(count)]
    for session in waiting:
        say(session, ann)
    pump()
    threads = threading.active_count()
    age(timedelta(days=30))
    assert (sweeper.sweep(), open_effects(), threading.active_count()) == (0, [], threads)
    for session in waiting:
        (question,) = items(session, "t-question")
        engine.dispatch_event(session, "t-replied", {"text": "At last"}, sender=ann, item_id=question.item_id)
    pump()
    assert len(model.requests) == 2 * count
    assert all(results(request) == [("At last", False)] for request in model.requests[count:])

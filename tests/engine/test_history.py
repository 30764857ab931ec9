"""History: earlier states, replay, and what replay finds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app import engine, history
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump
from tests.engine.stage import calls, gate

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_any_earlier_state_can_be_shown(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-added", {"by": 2}, sender=ann)
    engine.dispatch_event(counter, "t-filled", {"count": 2}, sender=ann)
    engine.dispatch_event(counter, "t-arranged", {"order": ["3_1", "3_0"]}, sender=ann)
    engine.dispatch_event(counter, "t-arranged", {"order": ["3_1"], "deleted": ["3_0"]}, sender=ann)
    before = [history.state_at(counter, seq) for seq in range(6)]
    assert [memory.session.seq for memory in before] == [0, 1, 2, 3, 4, 5]
    assert [memory.agent_state.get("total") for memory in before] == [None, 0, 2, 2, 2, 2]
    assert [memory.order() for memory in before[2:]] == [[], ["3_0", "3_1"], ["3_1", "3_0"], ["3_1"]]
    assert before[1].session.agent == "t-counter"


def test_a_whole_conversation_replays(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    gate.opened.set()
    script(calls(("fetch", {"name": "map"}), ("work", {"name": "shed", "times": 2})), "There you are.", "Good bye.")
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Get the map"}, sender=ann)
    pump()
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Thanks"}, sender=ann)
    pump()
    assert history.replay(talk) is None
    assert history.differences_with_rows(talk) == []
    assert StoredEvent.objects.filter(session=talk, cause__isnull=False).count() == 3
    (last,) = StoredItem.objects.filter(session=talk, position__isnull=False).order_by("-position")[:1]
    assert last.data == '{"model":"scripted model","note":"","reasoning":[],"text":"Good bye."}'


@pytest.mark.parametrize(
    ("tampered", "what"),
    [
        ({"payload": '{"by":4,"note":""}'}, "delta"),
        ({"delta": "[]"}, "delta"),
        ({"status": "failed"}, "status"),
        ({"type": "t-broke", "payload": "{}"}, "delta"),
        ({"cause": 1}, "events caused"),
    ],
)
def test_replay_finds_the_first_event_that_comes_out_otherwise(
    counter: StoredSession, ann: Sender, tampered: dict[str, Any], what: str
) -> None:
    engine.dispatch_event(counter, "t-added", {"by": 3}, sender=ann)
    events = StoredEvent.objects.filter(session=counter, seq=2)
    (whole,) = events.values("payload", "delta", "status", "type", "cause")
    events.update(**tampered)
    difference = history.replay(counter)
    assert difference is not None
    assert difference.what == what
    assert difference.seq == (1 if what == "events caused" else 2)
    events.update(**whole)


def test_rows_that_are_not_what_the_history_gives_are_named(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-filled", {"count": 3}, sender=ann)
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    row = StoredItem.objects.get(session=counter, item_id="2_1")
    StoredItem.objects.filter(pk=row.pk).update(data='{"text": "note 1"}', position=7, answers=3)
    StoredSession.objects.filter(pk=counter.pk).update(stopped=True)
    counter.stored_state.data = json.dumps({"total": 1})
    counter.stored_state.save()
    counter.effects.update(owner_item="2_2")
    found = {difference.what for difference in history.differences_with_rows(counter)}
    assert found == {"stopped", "agent state", "item 2_1: data", "item 2_1: answers", "order", "effect 3_0: owner"}
    assert str(history.replay(counter)).startswith("rows: stopped: stored 'True', found 'False'")
    counter.delete()


def test_missing_rows_are_named(counter: StoredSession, ann: Sender) -> None:
    engine.dispatch_event(counter, "t-filled", {"count": 1}, sender=ann)
    StoredItem.objects.filter(session=counter).delete()
    assert [str(difference) for difference in history.differences_with_rows(counter)] == [
        "rows: item 2_0: stored 'missing', found 'there'",
        "rows: order: stored '[]', found \"['2_0']\"",
    ]
    counter.delete()

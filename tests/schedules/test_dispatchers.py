"""Many dispatchers on the same slots: each slot is sent once, by the claim and, without it, by the constraints."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from sessions_app import schedules, sweeper
from sessions_app.models import StoredEvent, StoredSchedule, StoredSession
from sessions_app.schedules import Target, When, dispatching
from tests.engine.conftest import in_threads
from tests.schedules.conftest import AGENT, NOTED, keys, set_due

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

DISPATCHERS = 4


def hourly(target: Target) -> StoredSchedule:
    return schedules.schedule(target, When(every=3600), NOTED)


def new_diaries(user: Any) -> Target:
    return Target(user, agent=AGENT, args={"about": "tea"})


def test_one_claims_and_the_others_pass(diary: StoredSession) -> None:
    rows = [hourly(Target.of(diary)) for _ in range(20)]
    slot = set_due(*rows)
    found = in_threads(*[schedules.dispatch_due] * DISPATCHERS)
    assert [run.outcome for runs in found for run in runs] == ["applied"] * len(rows)
    assert keys(diary) == [slot.isoformat()] * len(rows)
    assert set(diary.events.values_list("repeats", flat=True)) == {0}
    assert not StoredSchedule.objects.filter(next_at__lte=Now()).exists()


@pytest.mark.parametrize("new", [True, False])
def test_without_a_claim_the_constraints_keep_the_promise(diary: StoredSession, user: Any, new: bool) -> None:
    for _ in range(10):
        row = hourly(new_diaries(user) if new else Target.of(diary))
        slot = set_due(row)
        claimed = StoredSchedule.objects.select_related("owner", "session").annotate(now=Now()).get(pk=row.pk)
        runs = in_threads(*[lambda row=claimed: dispatching._dispatch(row)] * DISPATCHERS)
        assert {(run.outcome, run.seq) for run in runs} == {("applied", runs[0].seq)}
        event = StoredEvent.objects.get(sender_kind="schedule", sender_id=str(row.pk))
        assert event.client_key == slot.isoformat()
        row.refresh_from_db()
        assert (row.status, row.last_seq, row.last_session_id) == ("active", event.seq, event.session_id)
        assert row.next_at is not None
        assert row.next_at > slot
    assert StoredSession.objects.count() == (11 if new else 1)


def test_nobody_is_disturbed_by_changes(diary: StoredSession) -> None:
    """One-offs are due while another schedule is paused, resumed and changed all the time, and due itself."""
    restless = hourly(Target.of(diary))
    one_offs = [hourly(Target.of(diary)) for _ in range(15)]
    StoredSchedule.objects.filter(pk__in=[row.pk for row in one_offs]).update(every=0)
    set_due(restless, *one_offs)
    done = threading.Event()

    def dispatch() -> list[schedules.Run]:
        runs: list[schedules.Run] = []
        while not done.is_set():
            runs += schedules.dispatch_due(limit=2)
        return runs

    def disturb() -> None:
        try:
            for number in range(20):
                schedules.change(restless.pk, name=f"name {number}", payload={"text": str(number)})
                schedules.pause(restless.pk)
                schedules.resume(restless.pk)
                set_due(restless)
            while StoredSchedule.objects.filter(due_at__lte=Now()).exists():
                pass
        finally:
            done.set()

    found = in_threads(dispatch, dispatch, disturb)
    assert found[2] is None
    assert sorted(run.schedule.pk for runs in found[:2] for run in runs if run.schedule.pk != restless.pk) == [
        row.pk for row in one_offs
    ]
    sent = StoredEvent.objects.filter(session=diary, type=NOTED).values_list("sender_id", "client_key")
    assert len(sent) == len(set(sent))
    assert {row.pk for row in one_offs} <= {int(sender) for sender, _ in sent}


def test_the_sweeper_of_every_worker_dispatches(diary: StoredSession) -> None:
    slot = set_due(hourly(Target.of(diary)))
    sweeper.sweep()
    connection.close()
    assert keys(diary) == [slot.isoformat()]

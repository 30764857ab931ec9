"""Pausing, resuming, cancelling and changing, also while a slot is being sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sessions_app import engine, schedules
from sessions_app.core.errors import EventRejected
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.schedules import Target, When
from tests.schedules.conftest import NOTED, Clock, keys

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MORNING = datetime(2026, 1, 1, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def hourly(diary: StoredSession, clock: Clock) -> StoredSchedule:
    return schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED, {"text": "old"})


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something in the moment between the sending of a slot and the move to the next."""

    def then(act: Callable[[], object]) -> None:
        dispatch = engine.dispatch_event

        def dispatch_and_act(*given: Any, **options: Any) -> Any:
            receipt = dispatch(*given, **options)
            act()
            return receipt

        monkeypatch.setattr(engine, "dispatch_event", dispatch_and_act)

    return then


def test_a_pause_sends_nothing_and_is_not_made_up(diary: StoredSession, hourly: StoredSchedule, clock: Clock) -> None:
    assert schedules.pause(hourly.pk).status == "paused"
    clock.now = MORNING + 2.5 * HOUR
    assert schedules.dispatch_due() == []
    assert schedules.resume(hourly.pk).next_at == MORNING + 3 * HOUR
    assert schedules.dispatch_due() == []
    clock.now = MORNING + 3 * HOUR
    schedules.dispatch_due()
    assert [key[11:16] for key in keys(diary)] == ["11:00"]


def test_a_one_off_whose_time_passed_in_a_pause(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED)
    schedules.pause(row.pk)
    clock.now = MORNING
    with pytest.raises(EventRejected, match="None of its times is still to come"):
        schedules.resume(row.pk)
    row.refresh_from_db()
    assert row.status == "paused"
    schedules.change(row.pk, when=When(at=MORNING + HOUR))
    schedules.resume(row.pk)
    clock.now = MORNING + HOUR
    schedules.dispatch_due()
    assert [key[11:16] for key in keys(diary)] == ["09:00"]


def test_what_was_cancelled_stays_so(diary: StoredSession, hourly: StoredSchedule, clock: Clock) -> None:
    schedules.cancel(hourly.pk)
    clock.now = MORNING
    assert schedules.dispatch_due() == []
    for act in (schedules.pause, schedules.resume, schedules.cancel, schedules.change):
        with pytest.raises(EventRejected, match=f"Schedule {hourly.pk} is cancelled, so there is nothing to do"):
            act(hourly.pk)


def test_each_is_refused_where_there_is_nothing_to_do(hourly: StoredSchedule) -> None:
    with pytest.raises(EventRejected, match="is active"):
        schedules.resume(hourly.pk)
    schedules.pause(hourly.pk)
    with pytest.raises(EventRejected, match="is paused"):
        schedules.pause(hourly.pk)
    with pytest.raises(EventRejected, match="There is no schedule 4711"):
        schedules.pause(4711)


def test_a_change_of_words_keeps_the_slot_that_is_due(
    diary: StoredSession, hourly: StoredSchedule, clock: Clock
) -> None:
    clock.now = MORNING
    schedules.change(hourly.pk, payload={"text": "new"}, name="Renamed", missed="skip")
    (run,) = schedules.dispatch_due()
    assert (run.schedule.next_at, run.schedule.name) == (MORNING, "Renamed")
    assert diary.events.get(seq=2).payload == '{"text":"new"}'


def test_a_change_of_times_lets_go_what_is_due(diary: StoredSession, hourly: StoredSchedule, clock: Clock) -> None:
    clock.now = MORNING
    row = schedules.change(hourly.pk, when=When(cron="30 * * * *", zone="Asia/Kolkata"))
    assert row.next_at == row.due_at == MORNING + HOUR
    assert schedules.dispatch_due() == []
    assert schedules.when_of(row) == When(MORNING, 0, "30 * * * *", "Asia/Kolkata")


def test_a_paused_schedule_can_be_changed_and_stays_paused(hourly: StoredSchedule, clock: Clock) -> None:
    schedules.pause(hourly.pk)
    row = schedules.change(hourly.pk, when=When(every=60))
    assert (row.status, row.due_at) == ("paused", None)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"when": When(every=5)}, ("every",)),
        ({"payload": {"count": 0}}, ("payload", "count")),
        ({"name": "x" * 101}, ("name",)),
        ({"missed": "never"}, ("missed",)),
    ],
)
def test_a_wrong_change_changes_nothing(hourly: StoredSchedule, wrong: dict[str, Any], field: tuple[str, ...]) -> None:
    before = StoredSchedule.objects.values().get()
    with pytest.raises(EventRejected) as refused:
        schedules.change(hourly.pk, **{"name": "fine", **wrong})
    assert [path for path, _ in refused.value.errors] == [field]
    assert StoredSchedule.objects.values().get() == before


def test_a_pause_while_a_slot_is_sent(
    hourly: StoredSchedule, clock: Clock, meanwhile: Any, diary: StoredSession
) -> None:
    meanwhile(lambda: schedules.pause(hourly.pk))
    clock.now = MORNING
    schedules.dispatch_due()
    hourly.refresh_from_db()
    assert (hourly.status, hourly.due_at, hourly.last_outcome) == ("paused", None, "applied")
    assert hourly.next_at == MORNING + HOUR
    clock.pass_(hours=3)
    assert schedules.dispatch_due() == []
    assert len(keys(diary)) == 1


def test_a_cancellation_while_a_slot_is_sent(hourly: StoredSchedule, clock: Clock, meanwhile: Any) -> None:
    meanwhile(lambda: schedules.cancel(hourly.pk))
    clock.now = MORNING
    schedules.dispatch_due()
    hourly.refresh_from_db()
    assert (hourly.status, hourly.next_at, hourly.due_at) == ("cancelled", None, None)
    assert (hourly.last_outcome, hourly.last_slot) == ("applied", MORNING)


def test_new_times_while_a_slot_is_sent(hourly: StoredSchedule, clock: Clock, meanwhile: Any) -> None:
    meanwhile(lambda: schedules.change(hourly.pk, when=When(at=MORNING + 5 * HOUR)))
    clock.now = MORNING
    schedules.dispatch_due()
    hourly.refresh_from_db()
    assert (hourly.status, hourly.next_at, hourly.due_at) == ("active", MORNING + 5 * HOUR, MORNING + 5 * HOUR)
    assert hourly.last_outcome == "applied"


def test_a_pause_and_a_resumption_while_a_slot_is_sent(
    hourly: StoredSchedule, clock: Clock, meanwhile: Any, diary: StoredSession
) -> None:
    meanwhile(lambda: (schedules.pause(hourly.pk), schedules.resume(hourly.pk)))
    clock.now = MORNING
    schedules.dispatch_due()
    assert schedules.dispatch_due() == []
    hourly.refresh_from_db()
    assert (hourly.status, hourly.next_at, hourly.due_at) == ("active", MORNING + HOUR, MORNING + HOUR)
    assert len(keys(diary)) == 1

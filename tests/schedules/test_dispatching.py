"""What a dispatcher does with what is due. The clock stands until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError, connection

from sessions_app import conf, engine, schedules
from sessions_app.models import StoredEvent, StoredSchedule, StoredSession
from sessions_app.schedules import Target, When, dispatching
from tests.engine.measuring import cost
from tests.schedules.conftest import AGENT, MESSAGE, NOTED, Clock, keys

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MORNING = datetime(2026, 1, 1, 8, tzinfo=UTC)


def outcome(row: StoredSchedule) -> tuple[str, str, str]:
    row.refresh_from_db()
    return row.status, row.last_outcome, row.last_reason


def new_diaries(user: Any) -> Target:
    return Target(user, agent=AGENT, args={"about": "tea"})


def test_a_one_off_is_sent_once_and_ends(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED, {"text": "tea"}, name="Morning")
    clock.now = MORNING - timedelta(microseconds=1)
    assert schedules.dispatch_due() == []
    clock.now = MORNING
    (run,) = schedules.dispatch_due()
    assert (run.outcome, run.session, run.seq) == ("applied", diary, 2)
    clock.pass_(days=400)
    assert schedules.dispatch_due() == []
    event = StoredEvent.objects.get(session=diary, type=NOTED)
    assert (event.sender_kind, event.sender_id, event.sender_name) == ("schedule", str(row.pk), "Morning")
    assert event.client_key == "2026-01-01T08:00:00+00:00"
    assert outcome(row) == ("ended", "applied", "")
    assert (row.next_at, row.due_at, row.last_slot, row.last_at) == (None, None, MORNING, MORNING)
    assert (row.last_session, row.last_seq) == (diary, 2)


def test_an_interval_goes_on_from_its_first_slot(diary: StoredSession, clock: Clock) -> None:
    schedules.schedule(Target.of(diary), When(at=MORNING, every=5400), NOTED)
    clock.now = MORNING
    while clock.now < MORNING + timedelta(hours=5):
        schedules.dispatch_due()
        clock.pass_(seconds=47)
    assert [key[11:16] for key in keys(diary)] == ["08:00", "09:30", "11:00", "12:30"]


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        ("Europe/Berlin", "2026-03-29"),
        ("Europe/Berlin", "2026-10-25"),
        ("America/New_York", "2026-03-08"),
        ("America/New_York", "2026-11-01"),
        ("Australia/Sydney", "2026-04-05"),
        ("Australia/Sydney", "2026-10-04"),
        ("Asia/Kolkata", "2026-03-29"),
        ("UTC", "2026-10-25"),
    ],
)
def test_the_clock_is_moved_through_a_change(diary: StoredSession, clock: Clock, zone: str, midnight: str) -> None:
    local = ZoneInfo(zone)
    start = datetime.fromisoformat(midnight).replace(tzinfo=local)
    end = (start + timedelta(hours=13)).astimezone(UTC)
    clock.now = start.astimezone(UTC) - timedelta(minutes=30)
    lines = {"noon": "0 12 * * *", "night": "30 2 * * *", "hourly": "0 * * * *"}
    for name, line in lines.items():
        schedules.schedule(Target.of(diary), When(cron=line, zone=zone), NOTED, name=name)
    while clock.now < end:
        schedules.dispatch_due()
        clock.pass_(minutes=10)
    sent: dict[str, list[datetime]] = {name: [] for name in lines}
    for event in StoredEvent.objects.filter(session=diary, type=NOTED).order_by("seq"):
        sent[event.sender_name].append(datetime.fromisoformat(event.client_key or ""))
    assert [slot.astimezone(local).strftime("%H:%M") for slot in sent["noon"]] == ["12:00"]
    assert len(sent["night"]) == 1
    assert sent["hourly"] == [sent["hourly"][0] + timedelta(hours=n) for n in range(len(sent["hourly"]))]
    assert (sent["hourly"][0].astimezone(local), sent["hourly"][-1]) == (start, end - timedelta(hours=1))


def test_missed_slots_are_made_up_by_one_event(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED)
    clock.now = MORNING + timedelta(hours=4, minutes=10)
    assert [run.outcome for run in schedules.dispatch_due()] == ["applied"]
    assert schedules.dispatch_due() == []
    row.refresh_from_db()
    assert row.next_at == MORNING + timedelta(hours=5)
    clock.pass_(hours=1)
    schedules.dispatch_due()
    assert [key[11:16] for key in keys(diary)] == ["08:00", "13:00"]


def test_missed_slots_are_skipped(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED, missed="skip")
    clock.now = MORNING + timedelta(hours=4, seconds=20)
    assert [run.outcome for run in schedules.dispatch_due()] == ["skipped"]
    assert outcome(row) == ("active", "skipped", "No dispatcher saw it within a minute.")
    assert keys(diary) == []
    schedules.dispatch_due()  # the slot of twenty seconds ago is on time
    assert [key[11:16] for key in keys(diary)] == ["12:00"]


def test_a_missed_one_off_is_made_up_or_ends(diary: StoredSession, clock: Clock) -> None:
    made_up = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED)
    skipped = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED, missed="skip")
    clock.now = MORNING + timedelta(days=3)
    schedules.dispatch_due()
    assert outcome(made_up)[:2] == ("ended", "applied")
    assert outcome(skipped)[:2] == ("ended", "skipped")
    assert len(keys(diary)) == 1


def test_a_new_session_each_time(user: Any, clock: Clock) -> None:
    row = schedules.schedule(new_diaries(user), When(at=MORNING, every=3600), NOTED, {"text": "new"})
    for hour in range(3):
        clock.now = MORNING + timedelta(hours=hour)
        schedules.dispatch_due()
        schedules.dispatch_due()
    sessions = StoredSession.objects.order_by("pk")
    assert [session.create_key for session in sessions] == [
        f"schedule-{row.pk}-2026-01-01T{hour:02}:00:00+00:00" for hour in (8, 9, 10)
    ]
    assert [session.owner for session in sessions] == [user] * 3
    assert [list(session.events.order_by("seq").values_list("type", flat=True)) for session in sessions] == [
        ["@platform/session-created", NOTED]
    ] * 3
    row.refresh_from_db()
    assert (row.last_session, row.last_seq) == (sessions[2], 2)


def test_a_new_session_and_nothing_more(user: Any, clock: Clock) -> None:
    row = schedules.schedule(new_diaries(user), When(at=MORNING))
    clock.now = MORNING
    schedules.dispatch_due()
    session = StoredSession.objects.get()
    assert (outcome(row)[:2], row.last_session, row.last_seq) == (("ended", "created"), session, None)


def test_a_message_wakes_the_model(user: Any, clock: Clock) -> None:
    schedules.schedule(new_diaries(user), When(at=MORNING), MESSAGE, {"text": "Which tea?"})
    clock.now = MORNING
    schedules.dispatch_due()
    session = StoredSession.objects.get()
    assert session.title == "Which tea?"
    assert session.effects.get().type == "@platform/generate-response"


# --- what goes wrong


@pytest.mark.parametrize("when", [When(at=MORNING), When(at=MORNING, every=3600)])
def test_a_schedule_ends_with_its_session(diary: StoredSession, clock: Clock, when: When) -> None:
    row = schedules.schedule(Target.of(diary), when, NOTED)
    diary.delete()
    clock.now = MORNING
    schedules.dispatch_due()
    assert outcome(row) == ("ended", "refused", "Its session was deleted.")


def test_a_session_deleted_in_the_very_moment(
    diary: StoredSession, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED)
    dispatch = engine.dispatch_event

    def delete_first(session: StoredSession, *given: Any, **options: Any) -> Any:
        StoredSession.objects.filter(pk=session.pk).delete()
        return dispatch(session, *given, **options)

    monkeypatch.setattr(engine, "dispatch_event", delete_first)
    clock.now = MORNING
    schedules.dispatch_due()
    assert outcome(row) == ("ended", "refused", "This session does not exist.")


def test_an_event_that_is_refused_on_the_day(diary: StoredSession, user: Any, clock: Clock) -> None:
    every = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED)
    once = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED)
    new = schedules.schedule(new_diaries(user), When(at=MORNING), NOTED)
    # As if the agent had changed since.
    StoredSchedule.objects.update(payload='{"count":0}')
    clock.now = MORNING
    schedules.dispatch_due()
    words = '"s-noted" is not filled in right.'
    assert outcome(every)[:2] == ("active", "refused")
    assert outcome(once)[:2] == ("ended", "refused")
    assert outcome(every)[2].startswith(f"{words} count: ")
    assert outcome(new)[2].startswith(f"{words} payload.count: ")
    assert StoredSession.objects.count() == 1  # none was created for an event it would not take


def test_an_event_whose_handler_fails(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), "s-burnt")
    clock.now = MORNING
    schedules.dispatch_due()
    assert outcome(row) == ("active", "failed", "Event 2 says why.")


def test_an_agent_that_cannot_begin(user: Any, clock: Clock) -> None:
    row = schedules.schedule(Target(user, agent=AGENT, args={"about": "nothing"}), When(at=MORNING, every=3600), NOTED)
    clock.now = MORNING
    schedules.dispatch_due()
    reason = "DiaryAgent.create_session failed. ValueError: There is nothing to write about."
    assert outcome(row) == ("active", "failed", reason)


def test_a_person_who_may_not_sign_in_any_more(diary: StoredSession, user: Any, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED)
    type(user).objects.update(is_active=False)
    clock.now = MORNING
    schedules.dispatch_due()
    assert outcome(row) == ("active", "refused", "ann may not sign in any more.")


@pytest.mark.parametrize("new", [True, False])
def test_an_agent_that_is_not_here_yet(diary: StoredSession, user: Any, clock: Clock, new: bool) -> None:
    target = new_diaries(user) if new else Target.of(diary)
    row = schedules.schedule(target, When(at=MORNING, every=3600), NOTED)
    StoredSession.objects.update(agent="s-tomorrow")
    StoredSchedule.objects.filter(agent=AGENT).update(agent="s-tomorrow")
    clock.now = MORNING
    assert [run.outcome for run in schedules.dispatch_due()] == ["waiting"]
    assert schedules.dispatch_due() == []  # others get a chance first
    row.refresh_from_db()
    assert (row.trouble, row.last_outcome, row.next_at) == ('There is no agent "s-tomorrow" here.', "", MORNING)
    assert not schedules.is_late(row, clock.now)
    clock.pass_(minutes=2)
    assert schedules.is_late(row, clock.now)
    StoredSession.objects.update(agent=AGENT)
    StoredSchedule.objects.filter(agent="s-tomorrow").update(agent=AGENT)
    schedules.dispatch_due()
    assert outcome(row)[:2] == ("active", "applied")
    assert row.trouble == ""


def test_a_busy_session_is_asked_again(diary: StoredSession, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    row = schedules.schedule(Target.of(diary), When(at=MORNING), NOTED)
    with monkeypatch.context() as patch:
        patch.setattr("sessions_app.engine.store.load", raising(OperationalError("locked")))
        clock.now = MORNING
        assert [run.outcome for run in schedules.dispatch_due()] == ["waiting"]
    row.refresh_from_db()
    assert row.trouble == "The session is busy. Try again in a moment."
    clock.pass_(seconds=conf.configuration().LEASE)
    schedules.dispatch_due()
    assert outcome(row)[:2] == ("ended", "applied")


def raising(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


def test_one_that_cannot_be_dispatched_does_not_hold_up_the_others(
    diary: StoredSession, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    first, second = (schedules.schedule(Target.of(diary), When(at=MORNING), NOTED) for _ in range(2))
    dispatch = dispatching._dispatch

    def fail_first(row: StoredSchedule) -> Any:
        if row.pk == first.pk:
            raise OperationalError("the connection is gone")
        return dispatch(row)

    monkeypatch.setattr(dispatching, "_dispatch", fail_first)
    clock.now = MORNING
    schedules.dispatch_due()
    assert (outcome(first)[0], outcome(second)[0]) == ("active", "ended")
    assert "will be tried again" in caplog.text


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("changed", [True, False])
@pytest.mark.parametrize("missed", ["run-once", "skip"])
def test_a_dispatcher_that_dies_before_it_moves_on(
    diary: StoredSession,
    user: Any,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    new: bool,
    changed: bool,
    missed: str,
) -> None:
    target = new_diaries(user) if new else Target.of(diary)
    row = schedules.schedule(target, When(at=MORNING, every=3600), NOTED, missed=missed)
    clock.now = MORNING
    with monkeypatch.context() as patch:
        patch.setattr(dispatching, "_move_on", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            schedules.dispatch_due()
    row.refresh_from_db()
    assert row.last_outcome == ""
    if changed:
        schedules.change(row.pk, payload={"text": "other words"})
    assert schedules.dispatch_due() == []  # it is claimed
    clock.pass_(minutes=10)
    assert [run.outcome for run in schedules.dispatch_due()] == ["applied"]
    assert StoredEvent.objects.filter(type=NOTED).count() == 1
    assert StoredSession.objects.count() == (2 if new else 1)
    row.refresh_from_db()
    assert row.next_at == MORNING + timedelta(hours=1)


# --- how much at a time, and at what cost


def test_a_look_takes_the_longest_overdue_first_and_can_be_stopped(diary: StoredSession, clock: Clock) -> None:
    rows = [
        schedules.schedule(Target.of(diary), When(at=MORNING + timedelta(minutes=minutes)), NOTED)
        for minutes in (2, 1, 3)
    ]
    clock.now = MORNING + timedelta(hours=1)
    assert [run.schedule.pk for run in schedules.dispatch_due(limit=1)] == [rows[1].pk]
    stops = iter([False, True])
    assert [run.schedule.pk for run in schedules.dispatch_due(stopped=lambda: next(stops))] == [rows[0].pk]


def test_a_look_that_finds_nothing_costs_one_indexed_query(diary: StoredSession) -> None:
    row = schedules.schedule(Target.of(diary), When(every=3600), NOTED)
    names = [field.attname for field in row._meta.concrete_fields if field.attname != "id"]
    ended = {name: getattr(row, name) for name in names} | {"status": "ended", "next_at": None, "due_at": None}
    StoredSchedule.objects.bulk_create(StoredSchedule(**ended) for _ in range(3000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with cost() as counted:
        assert schedules.dispatch_due() == []
    assert counted.summary == (1, 0, 0)
    plan = StoredSchedule.objects.filter(due_at__lte=dispatching.Now()).order_by("due_at").values_list("pk").explain()
    assert "schedules_due" in plan


def test_what_a_run_costs(diary: StoredSession, clock: Clock) -> None:
    schedules.schedule(Target.of(diary), When(at=MORNING, every=3600), NOTED)
    with cost() as alone:
        engine.dispatch_event(diary, NOTED, {}, sender=dispatching.Sender("command"), client_key="a")
    clock.now = MORNING
    with cost() as counted:
        schedules.dispatch_due()
    # Beside the event itself: what is due, the claim, the row, and moving on.
    assert (counted.reads - alone.reads, counted.writes - alone.writes) == (2, 2)

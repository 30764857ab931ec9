"""schedule_event, list_schedules, pause_, resume_ and cancel_schedule, dispatch_scheduled_events."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from sessions_app import schedules
from sessions_app.models import StoredEvent, StoredSchedule, StoredSession
from sessions_app.schedules import Target, When
from tests.commands.conftest import AGENT, Shell, run
from tests.schedules.conftest import NOTED, keys, set_due

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

MORNINGS = ("--cron", "0 9 * * MON-FRI", "--zone", "Europe/Berlin")
DATA = {
    "schedule", "name", "status", "owner", "session", "agent", "args", "event", "payload", "when", "at", "every",
    "cron", "zone", "until", "missed", "next", "upcoming", "late", "trouble", "last",
}  # fmt: skip


@pytest.fixture
def hourly(diary: StoredSession) -> StoredSchedule:
    return schedules.schedule(Target.of(diary), When(every=3600), NOTED, name="Hourly")


# --- schedule_event


def test_schedule_event_to_a_session(diary: StoredSession) -> None:
    words = [NOTED, "--payload", '{"text":"green"}', "--session", diary.key.hex[:8], *MORNINGS, "--name", "Morning"]
    shell = run("schedule_event", *words)
    row = StoredSchedule.objects.get()
    first, *others = shell.out.splitlines()
    assert (shell.code, shell.error) == (0, "")
    assert first == f"{row.pk}  active  Morning: {NOTED} to session {diary.key.hex}"
    assert others[0].strip() == "At 09:00 on Monday through Friday (Europe/Berlin)"
    assert others[1].endswith("09:00 Europe/Berlin")
    assert others[2].count("09:00 Europe/Berlin") == 4
    assert (row.session, row.payload, row.missed) == (diary, '{"text":"green"}', "run-once")


def test_schedule_event_to_new_sessions_as_json(user: Any) -> None:
    words = ["--agent", AGENT, "--user", "ann", "--args", '{"about":"tea"}', "--every", "1h30m", "--missed", "skip"]
    until = datetime.now(UTC) + timedelta(hours=4)
    shell = run("schedule_event", *words, "--until", until.isoformat(), "--json")
    data = shell.json
    assert data.keys() == DATA
    assert (data["agent"], data["args"], data["session"], data["event"]) == (AGENT, {"about": "tea"}, None, None)
    assert (data["every"], data["when"], data["missed"]) == (5400, "Every 90 minutes", "skip")
    assert len(data["upcoming"]) == 2
    assert data["next"] == data["upcoming"][0]
    assert datetime.fromisoformat(data["next"]).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "at", ["2040-03-26T09:00", "2040-03-26 09:00:00", "2040-03-26T07:00Z", "2040-03-26T09:00+02:00"]
)
def test_schedule_event_once(diary: StoredSession, at: str) -> None:
    shell = run("schedule_event", NOTED, "--session", diary.key.hex, "--at", at, "--zone", "Europe/Berlin")
    assert shell.out.splitlines()[1].strip() == "Once at Mon 2040-03-26 09:00 Europe/Berlin"
    assert len(shell.out.splitlines()) == 3


def test_schedule_event_without_doing_it(diary: StoredSession) -> None:
    shell = run("schedule_event", NOTED, "--session", diary.key.hex, *MORNINGS, "--dry-run")
    assert (shell.code, "nothing was changed" in shell.out) == (0, True)
    assert not StoredSchedule.objects.exists()


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([NOTED, "--session", "KEY"], 1, "at: Say when"),
        ([NOTED, "--session", "KEY", "--at", "2020-01-01T00:00Z"], 1, "at: There is no such time to come."),
        ([NOTED, "--session", "KEY", "--at", "2040-01-01T00:00"], 1, "zone: 2040-01-01 00:00:00 is a time on which"),
        ([NOTED, "--session", "KEY", "--every", "59s"], 1, "every: An interval has at least 60 seconds"),
        ([NOTED, "--session", "KEY", "--cron", "9 * *", "--zone", "UTC"], 1, "cron: Write five fields"),
        ([NOTED, "--session", "KEY", "--cron", "0 9 * * *"], 1, "zone: A cron line needs a time zone"),
        ([NOTED, "--session", "KEY", *MORNINGS, "--payload", '{"count":0}'], 1, "payload.count: "),
        (["s-whispered", "--session", "KEY", *MORNINGS], 1, "can only be sent by the session's own work"),
        (["--session", "KEY", *MORNINGS], 1, "event_type: Name an event."),
        (["--agent", AGENT, "--user", "ann", *MORNINGS], 1, "args.about: "),
        (["--agent", AGENT, "--user", "bob", *MORNINGS], 1, 'There is no user "bob".'),
        (["--agent", "s-nobody", "--user", "ann", *MORNINGS], 1, 'There is no agent "s-nobody" here.'),
        (["--agent", AGENT, *MORNINGS], 2, "Name the owner"),
        ([NOTED, *MORNINGS], 2, "Name a session, or an agent"),
        ([NOTED, "--session", "KEY", "--agent", AGENT, *MORNINGS], 2, "Name a session, or an agent"),
        ([NOTED, "--session", "KEY", "--user", "ann", *MORNINGS], 2, "a session has its owner"),
        ([NOTED, "--session", "KEY", "--at", "tomorrow"], 2, '"tomorrow" is no date and time'),
        ([NOTED, "--session", "KEY", "--every", "90"], 2, '"90" is no span of time'),
        ([NOTED, "--session", "KEY", *MORNINGS, "--missed", "never"], 2, "invalid choice"),
    ],
)
def test_schedule_event_refuses(diary: StoredSession, words: list[str], code: int, error: str) -> None:
    shell = run("schedule_event", *[diary.key.hex if word == "KEY" else word for word in words])
    assert (shell.code, shell.out) == (code, "")
    assert error in shell.error
    assert "Traceback" not in shell.error
    assert not StoredSchedule.objects.exists()


# --- list, pause, resume, cancel


def test_list_schedules(diary: StoredSession, hourly: StoredSchedule) -> None:
    slot = set_due(hourly)
    schedules.dispatch_due()
    cancelled = schedules.schedule(Target.of(diary), When(every=60), NOTED)
    schedules.cancel(cancelled.pk)
    late = schedules.schedule(Target.of(diary), When(every=60), NOTED)
    set_due(late, ago=timedelta(minutes=5))
    found = run("list_schedules", "--json").json
    assert [one["schedule"] for one in found] == [hourly.pk, late.pk]
    assert [one["late"] for one in found] == [False, True]
    assert {frozenset(one) for one in found} == {frozenset(DATA)}
    last = found[0]["last"]
    assert (last["outcome"], last["session"], last["seq"]) == ("applied", diary.key.hex, 2)
    assert datetime.fromisoformat(last["slot"]) == slot
    text = run("list_schedules", "--all").out
    for words in ("Every hour", ": applied session", "event 2", "cancelled", "Late. No dispatcher has taken it."):
        assert words in text


def test_list_schedules_where_there_are_none(user: Any) -> None:
    assert run("list_schedules").out == "There are no schedules.\n"
    assert run("list_schedules", "--json").json == []


def test_pause_resume_and_cancel(hourly: StoredSchedule) -> None:
    for command, status in (
        ("pause_schedule", "paused"),
        ("resume_schedule", "active"),
        ("cancel_schedule", "cancelled"),
    ):
        before = hourly.status
        assert run(command, hourly.pk, "--dry-run").code == 0
        hourly.refresh_from_db()
        assert hourly.status == before
        assert run(command, hourly.pk, "--json").json["status"] == status
        hourly.refresh_from_db()
        assert hourly.status == status
    again = run("cancel_schedule", hourly.pk)
    message = f"CommandError: Schedule {hourly.pk} is cancelled, so there is nothing to do.\n"
    assert (again.code, again.out, again.error) == (1, "", message)
    assert run("pause_schedule", 4711).error == "CommandError: There is no schedule 4711.\n"
    assert run("pause_schedule", "first").code == 2


# --- dispatch_scheduled_events


def test_dispatch_what_is_due(diary: StoredSession, hourly: StoredSchedule) -> None:
    assert run("dispatch_scheduled_events").out == "Nothing was due.\n"
    assert run("dispatch_scheduled_events", "--dry-run").out == "Nothing is due.\n"
    slot = set_due(hourly)
    look = run("dispatch_scheduled_events", "--dry-run", "--json").json
    assert look == [{"schedule": hourly.pk, "name": "Hourly", "slot": slot.isoformat()}]
    assert keys(diary) == []
    shell = run("dispatch_scheduled_events", "--json")
    (sent,) = shell.json
    assert sent == {
        "schedule": hourly.pk, "name": "Hourly", "slot": slot.isoformat(), "outcome": "applied", "reason": "",
        "session": diary.key.hex, "seq": 2,
    }  # fmt: skip
    assert run("dispatch_scheduled_events", "--json").json == []


def test_dispatch_all_that_is_due_however_much(diary: StoredSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules.dispatch_due, "__defaults__", (2, lambda: False))
    rows = [schedules.schedule(Target.of(diary), When(every=3600), NOTED) for _ in range(5)]
    set_due(*rows)
    shell = run("dispatch_scheduled_events")
    assert [line.split()[0] for line in shell.out.splitlines()] == [str(row.pk) for row in rows]
    assert "applied, event" in shell.out


@contextmanager
def interrupted(number: signal.Signals, when: Any) -> Iterator[None]:
    """Send this process a signal once something holds."""

    def send() -> None:
        while not when():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_loop_stops_when_it_is_asked_to(
    diary: StoredSession, hourly: StoredSchedule, number: signal.Signals
) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    set_due(hourly)
    with interrupted(number, StoredEvent.objects.filter(type=NOTED).exists):
        started = time.monotonic()
        shell = run("dispatch_scheduled_events", "--loop", 600)
        took = time.monotonic() - started
    assert (shell.code, shell.error) == (0, "")
    first, sent = shell.out.splitlines()
    assert first == "Dispatching what is due. Ctrl-C stops."
    assert ": applied, event 2 of session" in sent
    assert took < 10
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_the_loop_outlives_a_database_that_does_not_answer(
    diary: StoredSession, hourly: StoredSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatch_due, failures = schedules.dispatch_due, [OperationalError("gone"), OperationalError("gone")]

    def fail_first(**options: Any) -> list[schedules.Run]:
        if failures:
            raise failures.pop()
        return dispatch_due(**options)

    monkeypatch.setattr(schedules, "dispatch_due", fail_first)
    set_due(hourly)
    with interrupted(signal.SIGINT, StoredEvent.objects.filter(type=NOTED).exists):
        shell = run("dispatch_scheduled_events", "--loop", 0.01, "--json")
    assert shell.error.splitlines() == ["The database did not answer and is asked again. OperationalError: gone"] * 2
    assert [json.loads(line)["outcome"] for line in shell.out.splitlines()] == ["applied"]


@pytest.mark.parametrize("pause", ["0", "-1", "nan", "1e400", "soon"])
def test_the_loop_needs_a_pause(user: Any, pause: str) -> None:
    shell = run("dispatch_scheduled_events", f"--loop={pause}")
    assert isinstance(shell, Shell)
    assert shell.code == 2

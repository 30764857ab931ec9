"""Fixtures of the tests about time. After every one of them the history of every session must give its rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import DateTimeField, Value

from sessions_app import engine, history
from sessions_app.models import StoredEvent, StoredSchedule, StoredSession
from sessions_app.schedules import controls, dispatching
from tests.schedules.agents import DiaryAgent

AGENT = DiaryAgent.name
NOTED = "s-noted"
MESSAGE = "@platform/user-message"


@pytest.fixture
def history_gives_the_rows(transactional_db: None) -> Iterator[None]:
    yield
    differences = [history.replay(session) for session in StoredSession.objects.all()]
    connection.close()
    assert not [str(difference) for difference in differences if difference]


@pytest.fixture
def user(history_gives_the_rows: None) -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def diary(user: Any) -> StoredSession:
    return engine.create_session(AGENT, {"about": "tea"}, user=user)


class Clock:
    """The database's time, as schedules see it. It stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def expression(self) -> Value:
        return Value(self.now, output_field=DateTimeField())

    def pass_(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (controls, dispatching):
        monkeypatch.setattr(module, "Now", clock.expression)
    monkeypatch.setattr("sessions_app.store.database_now", lambda user_pk: clock.now)
    return clock


def keys(session: StoredSession) -> list[str]:
    """Return the slots that schedules have sent to a session, in order."""
    events = StoredEvent.objects.filter(session=session, sender_kind="schedule").order_by("seq")
    return [event.client_key or "" for event in events]


def set_due(*rows: StoredSchedule, ago: timedelta = timedelta(seconds=1)) -> datetime:
    """Let the next slot of schedules be some time ago by the real clock, and return it."""
    slot = (datetime.now(UTC) - ago).replace(microsecond=0)
    StoredSchedule.objects.filter(pk__in=[row.pk for row in rows]).update(next_at=slot, due_at=slot)
    return slot

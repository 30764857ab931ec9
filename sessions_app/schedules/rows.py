"""The times of a schedule, in its row and out of it."""

from __future__ import annotations

from datetime import datetime

from sessions_app.models import StoredSchedule
from sessions_app.schedules.slots import ON_TIME, When, next_slot


def when_of(row: StoredSchedule) -> When:
    """Return the times of a stored schedule."""
    return When(row.at, row.every, row.cron, row.zone, row.until)


def set_times(row: StoredSchedule, when: When, now: datetime) -> None:
    """Write checked times into a row, with the slot they begin with."""
    assert when.at is not None
    row.at, row.every, row.cron, row.zone, row.until = when.at, when.every, when.cron, when.zone, when.until
    row.next_at = next_slot(when, now)
    row.due_at = row.next_at if row.status == StoredSchedule.Status.ACTIVE else None


def agent_name(row: StoredSchedule) -> str:
    """Return the name of the agent a schedule's event is for; "" where its session was deleted."""
    return row.session.agent if row.session else row.agent


def is_late(row: StoredSchedule, now: datetime) -> bool:
    """Whether a slot waits for longer than it should: no dispatcher runs, or none could send it."""
    return row.due_at is not None and row.next_at is not None and now - row.next_at > ON_TIME

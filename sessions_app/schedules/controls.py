"""Pausing, resuming, cancelling and changing a schedule, under its row's lock, at any time: also while it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from sessions_app.core.canonical import canonical
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.locks import writing
from sessions_app.models import StoredSchedule
from sessions_app.schedules.checks import checked_event, checked_missed, checked_name, find_agent
from sessions_app.schedules.rows import agent_name, set_times, when_of
from sessions_app.schedules.slots import When, checked, next_slot

Status = StoredSchedule.Status


@contextmanager
def _locked(pk: int, *statuses: str) -> Iterator[tuple[StoredSchedule, datetime]]:
    """Hold a schedule that is in one of some statuses, with the database's time, and save it at the end."""
    with writing():
        row = StoredSchedule.objects.select_for_update().annotate(now=Now()).filter(pk=pk).first()
        if row is None:
            raise EventRejected("not_found", f"There is no schedule {pk}.")
        if row.status not in statuses:
            raise EventRejected("conflict", f"Schedule {pk} is {row.status}, so there is nothing to do.")
        yield row, row.now
        row.save()


def pause(pk: int) -> StoredSchedule:
    """Send nothing until it is resumed. Raises `EventRejected` where it is not active."""
    with _locked(pk, Status.ACTIVE) as (row, _):
        row.status, row.due_at, row.trouble = Status.PAUSED, None, ""
    return row


def resume(pk: int) -> StoredSchedule:
    """Go on with the slots still to come; those that passed during the pause are not made up.

    Raises `EventRejected` where it is not paused, or no slot is left.
    """
    with _locked(pk, Status.PAUSED) as (row, now):
        row.next_at = row.due_at = next_slot(when_of(row), now)
        if row.next_at is None:
            raise EventRejected("conflict", "None of its times is still to come. Schedule it anew.")
        row.status = Status.ACTIVE
    return row


def cancel(pk: int) -> StoredSchedule:
    """End a schedule for good; its last run stays on record. Raises `EventRejected` where it has ended."""
    with _locked(pk, Status.ACTIVE, Status.PAUSED) as (row, _):
        row.status, row.next_at, row.due_at, row.trouble = Status.CANCELLED, None, None, ""
    return row


def change(
    pk: int,
    *,
    when: When | None = None,
    payload: Mapping[str, Any] | None = None,
    name: str | None = None,
    missed: str | None = None,
) -> StoredSchedule:
    """Change what is given and leave the rest. With new times, what is due by the old ones is let go.

    Raises `EventRejected` with the fields that are wrong, or where the schedule has ended.
    """
    with _locked(pk, Status.ACTIVE, Status.PAUSED) as (row, now):
        if when is not None:
            set_times(row, checked(when, now), now)
        if payload is not None:
            agent = find_agent(agent_name(row))
            row.payload = canonical(checked_event(agent, row.event_type, payload, Sender("schedule"), now))
        if name is not None:
            row.name = checked_name(name)
        if missed is not None:
            row.missed = checked_missed(missed)
    return row

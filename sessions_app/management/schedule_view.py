"""A schedule as commands print it: as data, and the same in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sessions_app import schedules
from sessions_app.management.base import cut
from sessions_app.models import StoredSchedule

SLOTS_SHOWN = 5


def data_of(row: StoredSchedule, now: datetime) -> dict[str, Any]:
    """Return all there is to know of a schedule, with its next slots."""
    when = schedules.when_of(row)
    active = row.status == StoredSchedule.Status.ACTIVE
    return {
        "schedule": row.pk,
        "name": row.name,
        "status": row.status,
        "owner": row.owner.get_username(),
        "session": row.session.key.hex if row.session else None,
        "agent": row.agent or None,
        "args": json.loads(row.args),
        "event": row.event_type or None,
        "payload": json.loads(row.payload),
        "when": schedules.in_words(when),
        "at": row.at,
        "every": row.every or None,
        "cron": row.cron or None,
        "zone": row.zone or None,
        "until": row.until,
        "missed": row.missed,
        "next": row.next_at if active else None,
        "upcoming": schedules.upcoming(when, now, SLOTS_SHOWN) if active else [],
        "late": schedules.is_late(row, now),
        "trouble": row.trouble,
        "last": _last(row),
    }


def _last(row: StoredSchedule) -> dict[str, Any] | None:
    if not row.last_outcome:
        return None
    return {
        "slot": row.last_slot,
        "at": row.last_at,
        "outcome": row.last_outcome,
        "reason": row.last_reason,
        "session": row.last_session.key.hex if row.last_session else None,
        "seq": row.last_seq,
    }


def lines_of(row: StoredSchedule, now: datetime) -> Iterator[str]:
    """Return the same for a person, shorter."""
    yield f"{row.pk}  {row.status}  {f'{row.name}: ' if row.name else ''}{sending(row)}"
    yield f"    {schedules.in_words(schedules.when_of(row))}"
    if row.next_at and row.status == StoredSchedule.Status.ACTIVE:
        yield f"    next {schedules.local_time(row.next_at, row.zone)}"
    if schedules.is_late(row, now):
        yield f"    Late. {row.trouble or 'No dispatcher has taken it. Is a worker running?'}"
    if row.last_outcome and row.last_slot:
        yield f"    last {schedules.local_time(row.last_slot, row.zone)}: {row.last_outcome} {cut(_result(row))}"


def sending(row: StoredSchedule) -> str:
    """Return what goes where."""
    target = f"session {row.session.key.hex}" if row.session else "a session that was deleted"
    if row.agent:
        target = f"a new {row.agent} session of {row.owner.get_username()}"
    return f"{row.event_type} to {target}" if row.event_type else target


def _result(row: StoredSchedule) -> str:
    where = f"session {row.last_session.key.hex[:8]}" if row.last_session else ""
    event = f"event {row.last_seq}" if row.last_seq else ""
    return " ".join(filter(None, (where, event, row.last_reason)))

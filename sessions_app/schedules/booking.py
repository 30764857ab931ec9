"""Making a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions_app import store
from sessions_app.core.canonical import canonical
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.locks import writing
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.schedules.checks import checked_args, checked_event, checked_missed, checked_name, find_agent
from sessions_app.schedules.rows import set_times
from sessions_app.schedules.slots import When, checked


@dataclass(frozen=True)
class Target:
    """Where a schedule's event goes: to a session, or to a new one of an agent each time, which `owner` will own."""

    owner: Any
    session: StoredSession | None = None
    agent: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, session: StoredSession) -> Target:
        """Return a session as a target."""
        return cls(session.owner, session)


def schedule(
    target: Target,
    when: When,
    event_type: str = "",
    payload: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    missed: str = StoredSchedule.Missed.RUN_ONCE,
) -> StoredSchedule:
    """Send an event at given times, to a session or to a new session each time, and return the schedule.

    The event must be public and one that the agent takes; a new session needs none. `missed` says what becomes of
    slots that no dispatcher saw within a minute: "run-once" sends one event for all of them, "skip" sends none.
    Raises `EventRejected` with the fields that are wrong; nothing is stored then.
    """
    now = store.database_now(target.owner.pk)
    settled = checked(when, now)
    agent = find_agent(target.session.agent if target.session else target.agent)
    row = StoredSchedule(owner=target.owner, session=target.session, created_at=now, event_type=event_type)
    row.name, row.missed = checked_name(name), checked_missed(missed)
    if target.session is None:
        row.agent, row.args = agent.name, canonical(checked_args(agent, target.args))
    if event_type:
        row.payload = canonical(checked_event(agent, event_type, payload or {}, Sender("schedule"), now))
    elif target.session or payload:
        raise EventRejected("invalid", "Name an event.", errors=((("event_type",), "Name an event."),))
    set_times(row, settled, now)
    with writing():
        row.save(force_insert=True)
    return row

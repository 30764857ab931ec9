"""Dispatching what is due.

The event goes out under the key of its slot, so the first dispatcher's counts and another's changes nothing. Then the
schedule moves on, if it still stands at that slot. What could not be sent for a reason that may pass, such as a busy
session or an agent that this process does not have yet, stays due.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models.functions import Now

from sessions_app import engine, store
from sessions_app.conf import configuration
from sessions_app.core.agent import Agent
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.guards import HandlerOverran
from sessions_app.locks import writing
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.receipts import Receipt, receipt_of
from sessions_app.registry import get_agent
from sessions_app.schedules.checks import checked_event
from sessions_app.schedules.rows import agent_name, when_of
from sessions_app.schedules.slots import next_slot, plan
from sessions_app.sentences import sentence_of

logger = logging.getLogger(__name__)

AT_ONCE = 100
"""Schedules that one look dispatches at most."""
Status = StoredSchedule.Status


@dataclass(frozen=True)
class Run:
    """What came of a schedule's slot.

    `outcome` is "applied" or "failed" as the event was, "created" for a session without an event, "refused" where
    the session did not take it, "skipped" where it was missed, or "waiting" where it is tried again.
    """

    schedule: StoredSchedule
    """As it was, `next_at` being the slot."""
    outcome: str
    reason: str = ""
    session: StoredSession | None = None
    seq: int | None = None
    final: bool = False
    """Whether no later slot could fare better."""


def dispatch_due(limit: int = AT_ONCE, stopped: Callable[[], bool] = lambda: False) -> list[Run]:
    """Dispatch what is due, the longest overdue first, and return what came of it."""
    due = StoredSchedule.objects.filter(due_at__lte=Now()).order_by("due_at")
    runs: list[Run] = []
    for pk in due.values_list("pk", flat=True)[:limit]:
        if stopped():
            break
        try:
            if row := _claim(pk):
                runs.append(_dispatch(row))
        except (Exception, HandlerOverran):
            logger.exception("a schedule could not be dispatched and will be tried again", extra={"schedule": pk})
    return runs


def _claim(pk: int) -> StoredSchedule | None:
    """Keep a due schedule from other dispatchers for a while; None where another has it."""
    with writing():
        due = StoredSchedule.objects.filter(pk=pk, due_at__lte=Now())
        if not due.update(due_at=Now() + timedelta(seconds=configuration().LEASE)):
            return None
        return StoredSchedule.objects.select_related("owner", "session").annotate(now=Now()).get(pk=pk)


def _dispatch(row: StoredSchedule) -> Run:
    now: datetime = row.now  # type: ignore[attr-defined]  # annotated by the query
    assert row.next_at is not None
    sends, after = plan(row.next_at, now, skips=row.missed == StoredSchedule.Missed.SKIP)
    # One that was missed may have been sent in time by a dispatcher that died before it moved on.
    run = _send(row) if sends else _sent_before(row) or Run(row, "skipped", "No dispatcher saw it within a minute.")
    if run.outcome == "waiting":
        with writing():
            StoredSchedule.objects.filter(pk=row.pk, next_at=row.next_at).update(trouble=run.reason)
        return run
    _move_on(run, None if run.final else next_slot(when_of(row), after))
    return run


def _send(row: StoredSchedule) -> Run:
    if row.session is None and not row.agent:
        return Run(row, "refused", "Its session was deleted.", final=True)
    if not row.owner.is_active:
        return Run(row, "refused", f"{row.owner.get_username()} may not sign in any more.")
    try:
        agent = get_agent(agent_name(row))
    except LookupError as error:
        return Run(row, "waiting", str(error))
    try:
        return _sent(row, agent)
    except EventRejected as rejection:
        if rejection.code == "busy":
            return Run(row, "waiting", rejection.message)
        # It is no refusal where the event was changed after another dispatcher had sent it.
        gone = rejection.code == "not_found" and not row.agent
        return _sent_before(row) or Run(row, "refused", sentence_of(rejection), final=gone)
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("a scheduled event could not be sent", extra={"schedule": row.pk})
        return Run(row, "failed", sentence_of(error))


def _sent(row: StoredSchedule, agent: Agent[Any, Any]) -> Run:
    payload = json.loads(row.payload)
    session = row.session
    if session is None:
        if row.event_type:
            # Before there is a session, so that a refusal leaves none without its event.
            checked_event(agent, row.event_type, payload, _sender(row), row.next_at or row.at)
        session = engine.create_session(agent.name, json.loads(row.args), user=row.owner, key=_create_key(row))
    if not row.event_type:
        return Run(row, "created", session=session)
    receipt = engine.dispatch_event(session, row.event_type, payload, sender=_sender(row), client_key=_key(row))
    return _run_of(row, session, receipt)


def _sent_before(row: StoredSchedule) -> Run | None:
    """Return what came of a slot that was sent before, whatever the schedule has become since."""
    session = row.session or store.session_by_key(row.owner_id, row.agent, _create_key(row))
    if session is None:
        return None
    if not row.event_type:
        return Run(row, "created", session=session)
    sender = _sender(row)
    events = session.events.filter(sender_kind=sender.kind, sender_id=sender.id, client_key=_key(row))
    event = events.first()
    return _run_of(row, session, receipt_of(event)) if event else None


def _run_of(row: StoredSchedule, session: StoredSession, receipt: Receipt) -> Run:
    reason = "" if receipt.status == "applied" else f"Event {receipt.seq} says why."
    return Run(row, receipt.status, reason, session, receipt.seq)


def _sender(row: StoredSchedule) -> Sender:
    return Sender("schedule", str(row.pk), str(row))


def _key(row: StoredSchedule) -> str:
    assert row.next_at is not None
    return row.next_at.astimezone(UTC).isoformat()


def _create_key(row: StoredSchedule) -> str:
    return f"schedule-{row.pk}-{_key(row)}"


def _move_on(run: Run, following: datetime | None) -> None:
    """Note what came of a slot and go to the next, unless somebody has moved the schedule on meanwhile."""
    row = run.schedule
    noted = {
        "last_slot": row.next_at, "last_at": Now(), "last_outcome": run.outcome, "last_reason": run.reason,
        "last_session": run.session, "last_seq": run.seq, "trouble": "",
    }  # fmt: skip
    ended = {} if following else {"status": Status.ENDED}
    rows = StoredSchedule.objects.filter(pk=row.pk)
    there = rows.filter(next_at=row.next_at)
    with writing():
        if there.filter(status=Status.ACTIVE).update(**noted, next_at=following, due_at=following, **ended):
            return
        if not there.update(**noted, next_at=following, **ended):
            rows.update(**noted)

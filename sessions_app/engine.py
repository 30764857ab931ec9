"""The engine: the one door through which a session changes.

A person, a schedule, an effect: whoever has news for a session calls in here. The event is numbered, reduced and
stored with all it changed in one transaction under the session's lock; only then is anybody told. The lock is the
queue: there is no other, so there is nothing between a click and its state that could be lost or overtaken.

Reading, reducing and saving are three plain steps. The reducer is pure and may be run again: when it asks for a part
of the session that was not read, and when on SQLite another process moved the session on in between.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import OperationalError

from sessions_app import outbox, receipts, store
from sessions_app.conf import configuration
from sessions_app.core.agent import Agent
from sessions_app.core.canonical import NotStorable, canonical, clean
from sessions_app.core.errors import EventRejected, NotLoaded
from sessions_app.core.event_log import Incoming, Transition
from sessions_app.core.events import Sender
from sessions_app.core.platform import EffectHasEnded, SessionCreated, Stop
from sessions_app.core.reducer import reduce_event
from sessions_app.guards import HandlerOverran, guarded
from sessions_app.locks import locks_rows, session_lock, writing
from sessions_app.models import StoredEffect, StoredEvent, StoredSession
from sessions_app.receipts import Receipt
from sessions_app.registry import get_agent
from sessions_app.store import Conflict, LoadedSession

logger = logging.getLogger(__name__)
SYSTEM = Sender("system")
MOST_CONFLICTS = 50
MOST_READS = 5000


@dataclass(frozen=True)
class Proposal:
    """An event to be handled, with the columns only the engine knows."""

    incoming: Incoming
    columns: Mapping[str, Any]


Decide = Callable[[LoadedSession], Proposal | Receipt]
"""Looks at the locked session and returns the event to handle, or the receipt of one that was handled before."""


def dispatch_event(
    session: StoredSession,
    type: str,
    payload: Mapping[str, Any],
    *,
    sender: Sender,
    item_id: str = "",
    client_key: str | None = None,
    answers_seen: int | None = None,
    retry_of: int | None = None,
) -> Receipt:
    """Send an event to a session, or to one of its items, and return how it went.

    `client_key` makes a repeat harmless: the first event with that key from that sender counts. `answers_seen` is
    the number of answers the form had seen. `retry_of` names a failed event to try again with the same payload.
    Raises `EventRejected` where the event is refused; it leaves no row then.
    """
    limits = configuration()
    human = sender.outside and retry_of is None
    cleaned = bordered(payload, limits.PAYLOAD_LIMIT if human else limits.EFFECT_PAYLOAD_LIMIT)
    receipts.check_key(client_key, StoredEvent.client_key)
    receipts.check_item_id(item_id)
    fingerprint = receipts.fingerprint(type, item_id, cleaned)

    def decide(loaded: LoadedSession) -> Proposal | Receipt:
        if client_key is not None and (known := receipts.repeated(loaded.row.pk, sender, client_key, fingerprint)):
            return known
        if retry_of is not None:
            receipts.check_retry(loaded.row.pk, retry_of, type, item_id, cleaned)
        final = cleaned | receipts.what_runs(loaded) if type == Stop.type_name() else cleaned
        incoming = Incoming(type, final, sender, loaded.time, item_id, "", answers_seen, retry_of)
        return Proposal(incoming, {"client_key": client_key, "digest": fingerprint if client_key else ""})

    try:
        return _change(session.pk, decide, item_id)
    except EventRejected as rejection:
        if rejection.code == "conflict" and item_id:
            rejection.details |= receipts.who_answered(session.pk, item_id)
        raise


def bordered(payload: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return a payload as it may be stored. Raises `EventRejected` for what has no stored form or is too large."""
    try:
        cleaned: dict[str, Any] = clean(dict(payload))
    except NotStorable as error:
        raise EventRejected("invalid", "This cannot be stored.", errors=((error.path, error.message),)) from error
    text = canonical(cleaned)
    if len(text.encode()) > limit:
        raise EventRejected("too_large", f"This is too long: {limit // 1024} KB are allowed.", details={"limit": limit})
    # In the very form a replay will read: agent code may look at the order of keys.
    as_stored: dict[str, Any] = json.loads(text)
    return as_stored


def create_session(agent_name: str, args: Mapping[str, Any], *, user: Any, key: str | None = None) -> StoredSession:
    """Create a session for a user and store its first event with all it starts, in one transaction.

    `key` makes a repeat harmless: the same user, agent and key give the same session. Raises `EventRejected` for an
    unknown agent or wrong arguments; nothing is stored then.
    """
    try:
        agent = get_agent(agent_name)
    except LookupError as error:
        raise EventRejected("not_found", str(error)) from error
    receipts.check_key(key, StoredSession.create_key)
    if key is not None and (known := store.session_by_key(user.pk, agent.name, key)):
        return known
    cleaned = receipts.checked_args(agent, bordered(args, configuration().PAYLOAD_LIMIT))
    with _busy_is_a_rejection():
        return _create(agent, cleaned, user, key)


def _create(agent: Agent[Any, Any], args: Mapping[str, Any], user: Any, key: str | None) -> StoredSession:
    payload = SessionCreated(agent=agent.name, version=agent.version, args=args).model_dump(mode="json")
    now = store.database_now(user.pk)
    sender = Sender("person", str(user.pk), user.get_username())
    blank = StoredSession(owner=user, create_key=key, agent=agent.name, version=agent.version)
    blank.created_at = blank.updated_at = now
    loaded = LoadedSession.blank(blank, now)
    transitions = _reduce(agent, loaded, Incoming(SessionCreated.type_name(), payload, SYSTEM, now))
    receipts.check_created(agent, transitions)
    with writing():
        row = store.insert_session(blank)
        if row.pk != blank.pk:
            return row
        _save(loaded, transitions, {"sender_kind": sender.kind, "sender_id": sender.id, "sender_name": sender.name})
    row.refresh_from_db()
    return row


def dispatch_from_effect(
    effect: StoredEffect, attempt: int, ordinal: int, type: str, payload: Mapping[str, Any]
) -> Receipt:
    """Send an event of a running effect to its owner. The k-th of its type counts once, whatever attempt sends it."""
    cleaned = bordered(payload, configuration().EFFECT_PAYLOAD_LIMIT)
    sender = Sender("effect", effect.effect_id, effect.type)

    def decide(loaded: LoadedSession) -> Proposal | Receipt:
        if known := receipts.sent_before(effect, type, ordinal):
            return known
        row = loaded.effect_rows.get(effect.effect_id)
        if row is None or row.attempt != attempt:
            late = "This attempt had been given up, or its effect had ended, before the event arrived."
            return Proposal(Incoming(type, cleaned, sender, loaded.time, effect.owner_item, late=late), {})
        incoming = Incoming(type, cleaned, sender, loaded.time, effect.owner_item, effect.effect_id)
        return Proposal(incoming, {"ordinal": ordinal})

    return _change(effect.session_id, decide, effect.owner_item)


def apply_result(effect: StoredEffect) -> Receipt | None:
    """Apply the saved result of an effect. None where it was applied before, or the effect was cancelled meanwhile."""

    def decide(loaded: LoadedSession) -> Proposal | Receipt:
        row = loaded.effect_rows.get(effect.effect_id)
        if row is None or row.status != StoredEffect.Status.REPORTED:
            return receipts.NOTHING
        type, payload = receipts.saved_result(row)
        return Proposal(Incoming(type, payload, SYSTEM, loaded.time), {})

    receipt = _change(effect.session_id, decide, effect.owner_item)
    if receipt.status == "failed":
        message = f"Its result could not be applied; event {receipt.seq} says why."
        effect.refresh_from_db(fields=["attempt"])
        end_effect(effect, "failed", message, result_too=True)
    return None if receipt is receipts.NOTHING else receipt


def end_effect(
    effect: StoredEffect,
    outcome: str,
    message: str,
    *,
    lost: bool = False,
    result_too: bool = False,
    untold: bool = False,
) -> Receipt | None:
    """Give an open effect an outcome from outside its own code. None where the row has moved on since it was read.

    `lost` says that its lease ran out, which must still be so. A saved result counts more than what an onlooker
    concludes, unless `result_too` says that the result itself cannot be applied. `untold` leaves the owner's hook out.
    """

    def decide(untold: bool, loaded: LoadedSession) -> Proposal | Receipt:
        row = loaded.effect_rows.get(effect.effect_id)
        if row is None or row.attempt != effect.attempt:
            return receipts.NOTHING
        if row.status == StoredEffect.Status.REPORTED and not result_too:
            return receipts.NOTHING
        if lost and (row.lease_until is None or row.lease_until > loaded.time):
            return receipts.NOTHING
        facts = {"effect_id": row.effect_id, "outcome": outcome, "message": message, "untold": untold}
        payload = EffectHasEnded.model_validate(facts).model_dump(mode="json")
        return Proposal(Incoming(EffectHasEnded.type_name(), payload, SYSTEM, loaded.time), {})

    receipt = _change(effect.session_id, partial(decide, untold), effect.owner_item)
    if receipt.status == "failed" and not untold:
        # Its hook is not pure. That must not keep the effect open, to be ended in vain again and again.
        receipt = _change(effect.session_id, partial(decide, True), effect.owner_item)
    return None if receipt is receipts.NOTHING else receipt


@contextmanager
def _busy_is_a_rejection() -> Iterator[None]:
    """A lock or a connection that is not to be had in time is no fault of whoever asked."""
    try:
        yield
    except OperationalError as error:
        raise EventRejected("busy", "The session is busy. Try again in a moment.") from error


def _change(session_pk: int, decide: Decide, item_id: str = "") -> Receipt:
    """Read, reduce, save; again where another process was faster."""
    for _ in range(MOST_CONFLICTS):
        try:
            with _busy_is_a_rejection(), session_lock(session_pk):
                return _change_once(session_pk, decide, item_id)
        except (Conflict, HandlerOverran):
            # The watchdog may fire in the very moment in which the reducer returns.
            continue
        except StoredSession.DoesNotExist:
            raise EventRejected("not_found", "This session does not exist.") from None
    raise EventRejected("busy", "The session is busy. Try again in a moment.")


def _change_once(session_pk: int, decide: Decide, item_id: str) -> Receipt:
    loaded = store.load(session_pk, item_id, lock=locks_rows())
    decision = decide(loaded)
    if isinstance(decision, Receipt):
        return decision
    started = time.perf_counter()
    transitions = _reduce(_agent_of(loaded), loaded, decision.incoming)
    duration = int((time.perf_counter() - started) * 1_000_000)
    with writing():
        events = _save(loaded, transitions, {**decision.columns, "duration_us": duration})
    return receipts.receipt_of(events[0])


def _agent_of(loaded: LoadedSession) -> Agent[Any, Any]:
    try:
        return get_agent(loaded.row.agent)
    except LookupError as error:
        # During a deploy a process may not have the agent yet; whoever asked can ask again.
        raise EventRejected("busy", f'The agent "{loaded.row.agent}" is not available here now.') from error


def _reduce(agent: Agent[Any, Any], loaded: LoadedSession, incoming: Incoming) -> list[Transition]:
    for _ in range(MOST_READS):
        try:
            return guarded(lambda: reduce_event(agent, loaded, incoming))
        except NotLoaded as missing:
            loaded.read(missing)
    raise RuntimeError(f"Handling {incoming.type} asked for more than {MOST_READS} parts of its session.")


def _save(loaded: LoadedSession, transitions: list[Transition], columns: Mapping[str, Any]) -> list[StoredEvent]:
    events, started = store.save(loaded, transitions, columns)
    for event in events:
        if event.status == StoredEvent.Status.FAILED:
            facts = {"session": loaded.row.key.hex, "event": event.seq, "type": event.type, "reason": event.last_words}
            logger.warning("an event could not be handled; its session goes on", extra=facts)
    outbox.announce_on_commit(loaded.row.key.hex, events[-1].seq, started)
    return events

"""What the engine looks up before it handles an event, and how it says what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import F
from pydantic import ValidationError

from sessions_app.core.agent import Agent
from sessions_app.core.canonical import canonical, clean_text, digest
from sessions_app.core.data import field_errors
from sessions_app.core.effects import Policy
from sessions_app.core.errors import EventRejected, HandlerError
from sessions_app.core.event_log import EventStatus, Transition
from sessions_app.core.events import OUTSIDE, Sender
from sessions_app.core.platform import PUBLIC_ITEM_EVENTS
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredStream
from sessions_app.store import LoadedSession


@dataclass(frozen=True)
class Receipt:
    """How an event went: its number, its status, and whether it had been handled before."""

    seq: int
    status: EventStatus
    repeated: bool = False


NOTHING = Receipt(0, "dropped")
"""Nothing had to be done: the news was known."""


def receipt_of(event: StoredEvent, *, repeated: bool = False) -> Receipt:
    """Return the receipt of a stored event."""
    return Receipt(event.seq, cast("EventStatus", event.status), repeated)


def check_key(key: str | None, column: Any) -> None:
    """Raise `EventRejected` for a key that its column cannot hold."""
    longest = column.field.max_length
    if key is not None and not _fits(key, longest):
        raise EventRejected("invalid", f"A key has at most {longest} characters, and no NUL or half characters.")


def check_item_id(item_id: str) -> None:
    """Raise `EventRejected` for what cannot be an item's id; a database would not even look for it."""
    column: Any = StoredItem.item_id
    if not _fits(item_id, column.field.max_length):
        raise EventRejected("not_found", "There is no such item in this session.")


def _fits(text: str, longest: int) -> bool:
    return len(text) <= longest and clean_text(text) == text


def fingerprint(type: str, item_id: str, payload: Mapping[str, Any]) -> str:
    """Return a digest that tells a repeat from another event under the same key."""
    return digest(canonical([type, item_id, payload]))


def repeated(session_pk: int, sender: Sender, client_key: str, expected: str) -> Receipt | None:
    """Return the receipt of the event that came with this key before. Raises `EventRejected` if it was another."""
    events = StoredEvent.objects.filter(
        session_id=session_pk, sender_kind=sender.kind, sender_id=sender.id, client_key=client_key
    )
    event = events.first()
    if event is None:
        return None
    if event.digest != expected:
        raise EventRejected("invalid", "Another event was sent with this key before. Use a new key for a new event.")
    events.update(repeats=F("repeats") + 1)
    return receipt_of(event, repeated=True)


def check_retry(session_pk: int, seq: int, type: str, item_id: str, payload: Mapping[str, Any]) -> None:
    """Only a failed event can be tried again, with its own payload, until one try succeeds."""
    events = StoredEvent.objects.filter(session_id=session_pk)
    original = events.filter(seq=seq, status=StoredEvent.Status.FAILED).first()
    if original is None:
        raise EventRejected("conflict", f"Event {seq} did not fail, so there is nothing to try again.")
    if (original.type, original.item_id, json.loads(original.payload)) != (type, item_id, payload):
        raise EventRejected("invalid", f"A retry of event {seq} must carry its type and payload.")
    if events.filter(retry_of=seq, status=StoredEvent.Status.APPLIED).exists():
        raise EventRejected("conflict", f"Event {seq} was tried again successfully before.")


def sent_before(effect: StoredEffect, type: str, ordinal: int) -> Receipt | None:
    """Return the receipt of the k-th event of a type by an effect, if an attempt sent it before."""
    event = StoredEvent.objects.filter(
        session_id=effect.session_id, effect_id=effect.effect_id, type=type, ordinal=ordinal
    ).first()
    return receipt_of(event, repeated=True) if event else None


def saved_result(effect: StoredEffect) -> tuple[str, dict[str, Any]]:
    """Return the outcome event an effect's runner saved."""
    saved = json.loads(effect.result)
    return saved["type"], saved["payload"]


def what_runs(loaded: LoadedSession) -> dict[str, Any]:
    """Return what only the rows of running effects know of a session that is stopped, as `Stop` has it."""
    begun = [effect_id for effect_id, row in loaded.effect_rows.items() if _may_have_happened(row)]
    return {"partial": _streamed_text(loaded), "begun": sorted(begun)}


def _may_have_happened(row: StoredEffect) -> bool:
    """Whether an effect that may happen at most once has begun and has no outcome yet."""
    policy = Policy.model_validate_json(row.policy, extra="ignore")
    return policy.delivery == "at-most-once" and row.started_at is not None and row.status != StoredEffect.Status.ENDED


def _streamed_text(loaded: LoadedSession) -> str:
    """Return what the running model request has streamed so far."""
    row = loaded.effect_rows.get(loaded.session.request)
    if row is None or row.status == StoredEffect.Status.PENDING:
        return ""  # The text of an attempt that failed is no answer.
    stream = StoredStream.objects.filter(effect=row, attempt=row.attempt).first()
    return stream.text if stream else ""


def who_answered(session_pk: int, item_id: str) -> dict[str, Any]:
    """Return who sent the last answer to an item, what and when, for the person who came second."""
    event = (
        StoredEvent.objects.filter(
            session_id=session_pk,
            item_id=item_id,
            status=StoredEvent.Status.APPLIED,
            sender_kind__in=OUTSIDE,
        )
        .exclude(type__in=[event.type_name() for event in PUBLIC_ITEM_EVENTS])  # what could be sent to any item
        .order_by("-seq")
        .first()
    )
    if event is None:
        return {}
    return {"who": event.sender_name, "what": json.loads(event.payload), "when": event.time, "type": event.type}


def checked_args(agent: Agent[Any, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return validated arguments as plain data. Raises `EventRejected` with an error for each field."""
    try:
        return agent.args_type().model_validate(dict(args)).model_dump(mode="json")
    except ValidationError as error:
        raise EventRejected("invalid", "The start form is not filled in right.", errors=field_errors(error)) from error


def check_created(agent: Agent[Any, Any], transitions: Sequence[Transition]) -> None:
    """A session whose first event failed is not created. Raises `HandlerError` with the agent's own traceback."""
    if transitions[0].status != "applied":
        raise HandlerError(f"{type(agent).__name__}.create_session failed.\n{transitions[0].reason}")

"""Who may send which event, and in what form. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, cast

from pydantic import ValidationError

from .agent import Agent
from .change import item_class
from .data import PLATFORM_PREFIX, field_errors, find
from .errors import EventDropped, EventRejected, HandlerError
from .event_log import Incoming
from .events import Event
from .platform import (
    PUBLIC_ITEM_EVENTS,
    PUBLIC_SESSION_EVENTS,
    EffectHasEnded,
    ModelResponded,
    SessionCreated,
    ToolFinished,
)
from .state import ItemRecord, Snapshot

PLATFORM_EVENTS: Mapping[str, type[Event]] = {
    event.type_name(): event for event in (SessionCreated, ModelResponded, ToolFinished, EffectHasEnded)
}


def admit(agent: Agent[Any, Any], state: Snapshot, incoming: Incoming, seq: int) -> Event:
    """Return the typed event. Raises `EventRejected` (from outside) or `EventDropped` (from inside)."""
    record = _item(state, incoming) if incoming.item_id else None
    cls = _event_class(agent, record, incoming)
    if record is not None:
        _check_item_takes(record, cls, incoming)
    try:
        event = cls.model_validate(dict(incoming.payload))
    except ValidationError as error:
        _refuse_payload(incoming, cls, error)
    return event.sent(incoming.envelope(seq))


def _item(state: Snapshot, incoming: Incoming) -> ItemRecord:
    record = state.item(incoming.item_id)
    if record is not None:
        return record
    if incoming.sender.outside:
        raise EventRejected("not_found", f"There is no item {incoming.item_id} in this session.")
    raise EventDropped(f"Item {incoming.item_id} is gone.")


def _event_class(agent: Agent[Any, Any], record: ItemRecord | None, incoming: Incoming) -> type[Event]:
    platform = PUBLIC_ITEM_EVENTS if record else PUBLIC_SESSION_EVENTS
    found: type[Event] | None = next((event for event in platform if event.type_name() == incoming.type), None)
    if found is None and not incoming.sender.outside and record is None:
        found = PLATFORM_EVENTS.get(incoming.type)
    if found is None:
        found = _declared(agent, record, incoming.type)
    if found is None:
        _refuse_unknown(incoming)
    # A failed event may be tried again by a person also where only an effect could send it: its payload is the same.
    if found.is_private() and incoming.sender.outside and incoming.retry_of is None:
        raise EventRejected("forbidden", f'"{incoming.type}" can only be sent by the session\'s own work.')
    return found


def _declared(agent: Agent[Any, Any], record: ItemRecord | None, type: str) -> type[Event] | None:
    if record is None:
        return None if type.startswith(PLATFORM_PREFIX) else agent.accepts(type)
    try:
        return item_class(record.type).accepts(type)
    except HandlerError:
        return None


def _refuse_unknown(incoming: Incoming) -> NoReturn:
    where = f"Item {incoming.item_id}" if incoming.item_id else "This session"
    message = f'{where} takes no event "{incoming.type}".'
    if not incoming.sender.outside:
        raise EventDropped(message)
    known = cast("type[Event] | None", find("event", incoming.type))
    reserved = incoming.type.startswith(PLATFORM_PREFIX) or (known is not None and known.is_private())
    raise EventRejected("forbidden" if reserved else "invalid", message)


def _check_item_takes(record: ItemRecord, cls: type[Event], incoming: Incoming) -> None:
    if cls in PUBLIC_ITEM_EVENTS:
        return
    if record.closed:
        _too_late(record, incoming, f"This was closed before ({record.closed}).")
    if not incoming.sender.outside:
        return
    late_is_fine = bool(item_class(record.type).__definition__.options.get("answers_when_ready"))
    if not record.open and not late_is_fine:
        _too_late(record, incoming, "This was answered before.")
    if incoming.answers_seen is not None and incoming.answers_seen != record.answers:
        _too_late(record, incoming, "Somebody answered this a moment ago.")


def _too_late(record: ItemRecord, incoming: Incoming, message: str) -> NoReturn:
    if incoming.sender.outside:
        raise EventRejected("conflict", message, details={"item_id": record.id, "closed": record.closed})
    raise EventDropped(f"Item {record.id}: {message}")


def _refuse_payload(incoming: Incoming, cls: type[Event], error: ValidationError) -> NoReturn:
    if incoming.sender.outside:
        raise EventRejected("invalid", f'"{incoming.type}" is not filled in right.', errors=field_errors(error))
    raise HandlerError(f"{cls.__name__} was sent with a payload it does not take: {error}") from error

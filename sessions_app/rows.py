"""Rows to core records and back: one item, one effect, one session, one delta. No queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

from sessions_app.core.canonical import canonical
from sessions_app.core.event_log import Transition
from sessions_app.core.operations import Render, dump_delta
from sessions_app.core.state import EffectRecord, ItemRecord, SessionRecord
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession

SESSION_FIELDS = tuple(field.name for field in fields(SessionRecord))
LABEL_LENGTH = 300


def session_record(row: StoredSession) -> SessionRecord:
    """Return the core's view of a session row."""
    return SessionRecord(**{name: getattr(row, name) for name in SESSION_FIELDS})


def session_changes(before: SessionRecord, after: SessionRecord) -> dict[str, Any]:
    """Return the columns that differ."""
    old, new = asdict(before), asdict(after)
    return {name: value for name, value in new.items() if value != old[name]}


def item_record(row: StoredItem) -> ItemRecord:
    """Return the core's view of an item row."""
    render = Render.model_validate(
        {
            "status": row.render_status,
            "label": row.render_label,
            "fraction": row.render_fraction,
            "messages": json.loads(row.render_messages) if row.render_messages else (),
        }
    )
    return ItemRecord(
        row.item_id,
        row.type,
        json.loads(row.data),
        render,
        row.parent,
        row.index,
        row.parent != "" or row.position is not None,
        row.closed,
        row.closed_reason,
        row.answers,
    )


def item_columns(record: ItemRecord) -> dict[str, Any]:
    """Return the columns of an item that its record decides."""
    messages = [message.model_dump(mode="json") for message in record.render.messages]
    return {
        "data": canonical(record.data),
        "render_status": record.render.status,
        "render_label": record.render.label[:LABEL_LENGTH],
        "render_fraction": record.render.fraction,
        "render_messages": canonical(messages) if messages else "",
        "closed": record.closed,
        "closed_reason": record.reason,
        "answers": record.answers,
    }


def new_item(session: StoredSession, record: ItemRecord, position: int | None, seq: int, now: datetime) -> StoredItem:
    """Return the row of a new item."""
    return StoredItem(
        session=session,
        item_id=record.id,
        type=record.type,
        parent=record.parent,
        index=record.index,
        position=position,
        created_seq=seq,
        updated_seq=seq,
        created_at=now,
        settled_at=None if record.open else now,
        **item_columns(record),
    )


def effect_record(row: StoredEffect) -> EffectRecord:
    """Return the core's view of an effect row."""
    payload: Mapping[str, Any] = json.loads(row.payload)
    return EffectRecord(
        row.effect_id, row.type, payload, json.loads(row.policy), row.owner_item, row.outcome, row.message
    )


def new_effect(session: StoredSession, record: EffectRecord, now: datetime) -> StoredEffect:
    """Return the row of an effect that starts now."""
    return StoredEffect(
        session=session,
        effect_id=record.id,
        type=record.type,
        payload=canonical(record.payload),
        owner_item=record.owner,
        policy=canonical(record.policy),
        created_at=now,
        due_at=now,
        deadline=now + timedelta(seconds=record.policy["timeout"]),
        status=StoredEffect.Status.ENDED if record.outcome else StoredEffect.Status.PENDING,
        outcome=record.outcome,
        message=record.message,
        ended_at=now if record.outcome else None,
    )


def new_event(session: StoredSession, transition: Transition) -> StoredEvent:
    """Return the row of a handled event."""
    event = transition.event
    return StoredEvent(
        session=session,
        seq=transition.seq,
        type=event.type,
        item_id=event.item_id,
        payload=canonical(event.payload),
        sender_kind=event.sender.kind,
        sender_id=event.sender.id,
        sender_name=event.sender.name,
        time=event.time,
        status=transition.status,
        reason=transition.reason,
        delta=canonical(dump_delta(transition.operations, event.payload)),
        cause=transition.cause,
        retry_of=event.retry_of,
        effect_id=event.effect_id or None,
    )

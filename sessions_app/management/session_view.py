"""A session as `show_session` prints it: as data, and the same data in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sessions_app import reading
from sessions_app.fragments import status_of
from sessions_app.management.base import cut
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession


def view_of(session: StoredSession, last: int) -> dict[str, Any]:
    """Return what there is to see of a session, the last items and events only."""
    transcript = reading.read_transcript(session, last)
    status = status_of(session, transcript.open)
    hidden = StoredItem.objects.filter(session=session, parent="", position__isnull=True).order_by("-pk")
    events = StoredEvent.objects.filter(session=session).defer("delta").order_by("-seq")
    return {
        "session": session.key.hex,
        "title": session.title,
        "agent": session.agent,
        "version": session.version,
        "owner": session.owner.get_username(),
        "seq": session.seq,
        "updated": session.updated_at,
        "status": {"kind": status.kind, "words": status.words, "reason": status.reason, "since": status.since},
        "state": reading.agent_state(session),
        "items": list(_items(transcript)),
        "earlier_items": transcript.earlier,
        "hidden_items": [_item(row, 0) for row in reversed(hidden[:last])],
        "effects": [_effect(row) for row in transcript.open.effects],
        "events": [_event(row) for row in reversed(events[:last])],
    }


def _items(transcript: reading.Transcript) -> Iterator[dict[str, Any]]:
    waiting = [(row, 0) for row in reversed(transcript.items)]
    while waiting:
        row, depth = waiting.pop()
        yield _item(row, depth)
        waiting += [(child, depth + 1) for child in reversed(transcript.children.get(row.item_id, ()))]


def _item(row: StoredItem, depth: int) -> dict[str, Any]:
    return {
        "id": row.item_id,
        "type": row.type,
        "depth": depth,
        "status": row.closed or row.render_status,
        "reason": row.closed_reason,
        "label": row.render_label,
        "data": json.loads(row.data),
    }


def _effect(row: StoredEffect) -> dict[str, Any]:
    return {
        "id": row.effect_id,
        "type": row.type,
        "item": row.owner_item,
        "status": row.status,
        "attempt": row.attempt,
        "due": row.due_at,
        "deadline": row.deadline,
        "worker": row.worker,
        "message": row.message,
    }


def _event(row: StoredEvent) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "type": row.type,
        "item": row.item_id,
        "time": row.time,
        "sender": {"kind": row.sender_kind, "id": row.sender_id, "name": row.sender_name},
        "status": row.status,
        "reason": row.reason,
        "why": row.last_words,
        "payload": json.loads(row.payload),
    }


def lines_of(view: dict[str, Any]) -> Iterator[str]:
    """Return the same for a person."""
    status = view["status"]
    yield f"{view['session']}  {view['title']}"
    yield f"{view['agent']} {view['version']}, owner {view['owner']}, event {view['seq']} at {_clock(view['updated'])}"
    yield f"Status: {' – '.join(filter(None, (status['words'], status['reason'])))}, since {_clock(status['since'])}"
    yield f"State: {json.dumps(view['state'], ensure_ascii=False)}"
    yield "Items:"
    if view["earlier_items"]:
        yield f"  ({view['earlier_items']} earlier ones)"
    yield from map(_item_line, view["items"])
    if view["hidden_items"]:
        yield "Hidden items:"
        yield from map(_item_line, view["hidden_items"])
    yield "Open effects:" if view["effects"] else "Open effects: none"
    for row in view["effects"]:
        yield f"  {row['id']}  {row['type']}  {row['status']}, try {row['attempt']}, until {_clock(row['deadline'])}"
    yield "Last events:"
    for row in view["events"]:
        sender = row["sender"]["name"] or row["sender"]["id"] or row["sender"]["kind"]
        yield f"  {row['seq']}  {_clock(row['time'])}  {row['type']}  {row['status']}, by {sender}"
        if row["why"]:
            yield f"      {row['why']}"


def _clock(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _item_line(row: dict[str, Any]) -> str:
    text = row["label"] or row["data"].get("text", json.dumps(row["data"], ensure_ascii=False))
    return f"  {'  ' * row['depth']}{row['id']}  {row['type']}  {row['status']}  {cut(str(text))}".rstrip()

"""Sessions: one, many, and what is under way or waiting in them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession

LIST_SIZE = 50


@dataclass(frozen=True)
class Open:
    """What is under way or waiting in a session, seen or not: all that its status depends on."""

    items: Sequence[StoredItem] = ()
    effects: Sequence[StoredEffect] = ()


def find_session(user_pk: Any, key: str | UUID) -> StoredSession | None:
    """Return a session of this person, with its agent state; None for any other, as if it were not there."""
    try:
        uuid = key if isinstance(key, UUID) else UUID(hex=key)
    except ValueError:
        return None
    sessions = StoredSession.objects.select_related("stored_state")
    return sessions.filter(key=uuid, owner_id=user_pk).first()


def find_item(session: StoredSession, item_id: str) -> StoredItem | None:
    """Return one item of a session."""
    return StoredItem.objects.filter(session_id=session.pk, item_id=item_id).first()


def find_event(session: StoredSession, seq: int) -> StoredEvent | None:
    """Return one event of a session."""
    return StoredEvent.objects.filter(session_id=session.pk, seq=seq).first()


def agent_state(session: StoredSession) -> dict[str, Any]:
    """Return the stored agent state of a session that was read with it."""
    data: dict[str, Any] = json.loads(session.stored_state.data)
    return data


def list_sessions(user_pk: Any, agent: str = "", limit: int = LIST_SIZE) -> list[tuple[StoredSession, Open]]:
    """Return a person's sessions, the latest first, each with what its status depends on."""
    own = StoredSession.objects.filter(owner_id=user_pk, **({"agent": agent} if agent else {}))
    sessions = list(own.order_by("-updated_at", "-pk")[:limit])
    found = open_of(session.pk for session in sessions)
    return [(session, found[session.pk]) for session in sessions]


def count_by_agent(user_pk: Any) -> dict[str, int]:
    """Return how many sessions a person has of each agent."""
    sessions = StoredSession.objects.filter(owner_id=user_pk).order_by()
    return dict(sessions.values_list("agent").annotate(Count("pk")))


def open_of(session_pks: Iterable[int]) -> dict[int, Open]:
    """Return what is open in each session, in a number of queries that does not grow with theirs."""
    pks = list(session_pks)
    items: dict[int, list[StoredItem]] = defaultdict(list)
    effects: dict[int, list[StoredEffect]] = defaultdict(list)
    for item in visible_only(StoredItem.objects.filter(session_id__in=pks, render_status="pending", closed="")):
        items[item.session_id].append(item)
    for effect in open_effects(pks):
        effects[effect.session_id].append(effect)
    return {pk: Open(items[pk], effects[pk]) for pk in pks}


def open_effects(session_pks: Collection[int]) -> QuerySet[StoredEffect]:
    """Return what is under way in sessions, with the text streamed so far."""
    effects = StoredEffect.objects.filter(~Q(status=StoredEffect.Status.ENDED), session_id__in=session_pks)
    return effects.select_related("stream").defer("request", "result", "traceback")


def visible_only(rows: Iterable[StoredItem]) -> list[StoredItem]:
    """Leave out what hangs under a hidden top-level item: nothing waits for it."""
    rows = list(rows)
    wanted = {(row.session_id, top_id(row)) for row in rows if row.parent}
    if not wanted:
        return [row for row in rows if row.position is not None]
    tops = StoredItem.objects.filter(
        session_id__in={session for session, _ in wanted},
        item_id__in={item_id for _, item_id in wanted},
        position__isnull=False,
    )
    seen = set(tops.values_list("session_id", "item_id"))
    return [row for row in rows if row.position is not None or (row.parent and (row.session_id, top_id(row)) in seen)]


def top_id(row: StoredItem) -> str:
    """Return the id of the top-level item a row belongs to. A call's id begins with that of its message."""
    if not row.parent:
        return row.item_id
    return row.parent.rsplit("_", 1)[0] if row.parent.count("_") > 1 else row.parent

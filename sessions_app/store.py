"""The store: reads the part of a session that an event touches, and writes what it changed. Every query of the engine.

An event costs the same in a session of twenty items and of twenty thousand: it reads the session row, what is
still open, and the item it is for. The order and an item's neighbours are read only when a handler asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.core.canonical import canonical, digest
from sessions_app.core.errors import NotLoaded
from sessions_app.core.event_log import Transition
from sessions_app.core.operations import Operation
from sessions_app.core.state import Draft, EffectRecord, ItemRecord, SessionRecord, id_key
from sessions_app.locks import writing
from sessions_app.models import (
    StoredBlob,
    StoredEffect,
    StoredEvent,
    StoredItem,
    StoredSession,
    StoredState,
    StoredStream,
)
from sessions_app.positions import appended, placed
from sessions_app.rows import (
    effect_record,
    item_columns,
    item_record,
    new_effect,
    new_event,
    new_item,
    session_changes,
    session_record,
)

ASKED_ONE_BY_ONE = 8
"""Parts a handler may ask for one by one. Whoever asks for more goes through them all, and gets the items at once."""


class Conflict(Exception):
    """Another process changed the session between reading and writing. The event is reduced again."""


class LoadedSession:
    """A session, read in part. It is the core's `Snapshot`: what it does not hold raises `NotLoaded`."""

    def __init__(self, row: StoredSession, now: datetime, agent_state: Mapping[str, Any]) -> None:
        self.row = row
        self.time = max(now, row.updated_at)
        self.agent_state = agent_state
        self.session: SessionRecord = session_record(row)
        self.rows: dict[str, StoredItem] = {}
        self.effect_rows: dict[str, StoredEffect] = {}
        self.positions: dict[str, int] = {}
        self._records: dict[str, ItemRecord | None] = {}
        self._children: set[str] = set()
        self._asked = 0
        self._has_all_items = False
        self._order: list[str] | None = None
        self._effects: list[EffectRecord] = []
        self._last_effects: dict[str, EffectRecord | None] = {}

    @classmethod
    def blank(cls, row: StoredSession, now: datetime) -> LoadedSession:
        """Return a session that is about to be created. Its history begins with nothing: its first event says all."""
        loaded = cls(row, now, {})
        loaded.session = SessionRecord()
        loaded._order = []
        return loaded

    def item(self, item_id: str) -> ItemRecord | None:
        if item_id not in self._records and not self._has_all_items:
            raise NotLoaded("item", item_id)
        return self._records.get(item_id)

    def children(self, parent: str) -> list[ItemRecord]:
        if parent not in self._children and not self._has_all_items:
            raise NotLoaded("children", parent)
        return sorted((r for r in self._records.values() if r and r.parent == parent), key=lambda r: r.order_key)

    def order(self) -> list[str]:
        if self._order is None:
            raise NotLoaded("order")
        return list(self._order)

    def open_items(self) -> list[ItemRecord]:
        return [record for record in self._records.values() if record is not None and record.open]

    def open_effects(self) -> list[EffectRecord]:
        return list(self._effects)

    def last_effect(self, owner: str) -> EffectRecord | None:
        if owner not in self._last_effects:
            raise NotLoaded("last_effect", owner)
        return self._last_effects[owner]

    def hold_items(self, rows: Iterable[StoredItem]) -> None:
        """Take in item rows that were read."""
        for row in rows:
            self.rows[row.item_id] = row
            self._records[row.item_id] = item_record(row)

    def hold_effects(self, rows: Iterable[StoredEffect]) -> None:
        """Take in the rows of all open effects."""
        self.effect_rows = {row.effect_id: row for row in rows}
        self._effects = [effect_record(row) for row in self.effect_rows.values()]

    def read(self, missing: NotLoaded) -> None:
        """Read what the reducer found missing."""
        items = StoredItem.objects.filter(session_id=self.row.pk)
        self._asked += 1
        match missing.part:
            case "item" | "children" if self._asked > ASKED_ONE_BY_ONE:
                self.hold_items(items)
                self._has_all_items = True
            case "item":
                self._records[missing.key] = None
                self.hold_items(items.filter(item_id=missing.key))
            case "children":
                self.hold_items(items.filter(parent=missing.key))
                self._children.add(missing.key)
            case "order":
                placed_items = items.filter(position__isnull=False).order_by("position", "pk")
                rows = placed_items.values_list("item_id", "position")
                self.positions = {item_id: position for item_id, position in rows if position is not None}
                self._order = list(self.positions)
            case "last_effect":
                ended = StoredEffect.objects.filter(session_id=self.row.pk, owner_item=missing.key)
                row = max(ended, key=lambda effect: id_key(effect.effect_id), default=None)
                self._last_effects[missing.key] = effect_record(row) if row else None


def load(session_pk: int, item_id: str = "", *, lock: bool = False) -> LoadedSession:
    """Read the part of a session that an event for `item_id` may touch. Raises `StoredSession.DoesNotExist`.

    With `lock` the session's row is locked until the transaction ends, without barring inserts that refer to it.
    """
    loaded = _load_session(session_pk, lock=lock)
    wanted = Q(render_status="pending", closed="") | (Q(item_id=item_id) if item_id else Q())
    loaded.hold_items(StoredItem.objects.filter(wanted, session_id=session_pk))
    _hold_ancestors(loaded)
    return loaded


def _load_session(session_pk: int, *, lock: bool = False) -> LoadedSession:
    """Read a session's row, its state and its open effects, but no items."""
    sessions = StoredSession.objects.select_related("stored_state").annotate(now=Now())
    if lock:
        # Both rows, as PostgreSQL re-reads after a wait only what it has locked; the state would be that of before it.
        sessions = sessions.filter(stored_state__isnull=False)  # An inner join: an outer one cannot be locked.
        sessions = sessions.select_for_update(no_key=True, of=("self", "stored_state"))
    row = sessions.get(pk=session_pk)
    loaded = LoadedSession(row, row.now, json.loads(row.stored_state.data))
    loaded.hold_effects(StoredEffect.objects.filter(~Q(status=StoredEffect.Status.ENDED), session_id=session_pk))
    return loaded


def _hold_ancestors(loaded: LoadedSession) -> None:
    """An open item is visible if its top-level ancestor is; both ids stand in its parent's id."""
    missing = {
        ancestor
        for row in loaded.rows.values()
        if row.parent
        for ancestor in (row.parent, row.parent.rsplit("_", 1)[0] if row.parent.count("_") > 1 else row.parent)
        if ancestor not in loaded.rows
    }
    if missing:
        loaded.hold_items(StoredItem.objects.filter(session_id=loaded.row.pk, item_id__in=missing))


def load_whole(session_pk: int) -> LoadedSession:
    """Read a session with all its items, as a model request needs it. Raises `StoredSession.DoesNotExist`."""
    loaded = _load_session(session_pk)
    rows = list(StoredItem.objects.filter(session_id=session_pk).order_by("position", "pk"))
    loaded.hold_items(rows)
    loaded._has_all_items = True
    loaded._order = [row.item_id for row in rows if row.position is not None]
    return loaded


def load_snapshot(session_pk: int) -> LoadedSession:
    """Read a whole session as it was at one moment: again, where an event came in while it was read."""
    while True:
        loaded = load_whole(session_pk)
        if StoredSession.objects.filter(pk=session_pk, seq=loaded.session.seq).exists():
            return loaded


def save(
    loaded: LoadedSession, transitions: Sequence[Transition], columns: Mapping[str, Any]
) -> tuple[list[StoredEvent], list[int]]:
    """Write handled events with all they changed, and return their rows and the keys of effects that are due.

    `columns` of the first event are what only the engine knows: client key, digest, ordinal, duration. Runs inside
    the caller's transaction. Raises `Conflict` where the session has moved on meanwhile.
    """
    draft = Draft(loaded)
    touched: dict[str, int] = {}
    for transition in transitions:
        for operation in transition.operations:
            draft.apply(operation)
            touched[_item_of(operation)] = transition.seq
    last = transitions[-1]
    _save_session(loaded, draft, last)
    events = [new_event(loaded.row, transition) for transition in transitions]
    for name, value in columns.items():
        setattr(events[0], name, value)
    StoredEvent.objects.bulk_create(events)
    _save_items(loaded, draft, touched, last.event.time)
    return events, _save_effects(loaded, draft, last.event.time)


def _item_of(operation: Operation) -> str:
    return operation.id if operation.op.startswith("item") else ""  # type: ignore[union-attr]  # item operations have ids


def _save_session(loaded: LoadedSession, draft: Draft, last: Transition) -> None:
    changes = session_changes(loaded.session, draft.session) | {"seq": last.seq, "updated_at": last.event.time}
    unchanged = StoredSession.objects.filter(pk=loaded.row.pk, seq=loaded.session.seq)
    if not unchanged.update(**changes):
        raise Conflict
    if draft.state_changes is not None:
        StoredState.objects.filter(pk=loaded.row.pk).update(data=canonical(draft.state_changes))


def _save_items(loaded: LoadedSession, draft: Draft, touched: Mapping[str, int], now: datetime) -> None:
    positions = _positions(loaded, draft)
    created: list[StoredItem] = []
    for item_id, record in draft.items.items():
        row = loaded.rows.get(item_id)
        if row is None and record is not None:
            created.append(new_item(loaded.row, record, positions.get(item_id), touched[item_id], now))
        elif row is not None and record is not None:
            _update_item(row, record, positions.pop(item_id, row.position), touched[item_id], now)
        elif row is not None:
            row.delete()
    StoredItem.objects.bulk_create(created)
    for item_id in positions.keys() - draft.items.keys():
        StoredItem.objects.filter(session_id=loaded.row.pk, item_id=item_id).update(position=positions[item_id])


def _update_item(row: StoredItem, record: ItemRecord, position: int | None, seq: int, now: datetime) -> None:
    was_open = row.render_status == "pending" and not row.closed
    changes = {
        name: value
        for name, value in (item_columns(record) | {"position": position}).items()
        if getattr(row, name) != value
    }
    if was_open != record.open:
        changes["settled_at"] = None if record.open else now
    StoredItem.objects.filter(pk=row.pk).update(**changes, updated_seq=seq)


def _positions(loaded: LoadedSession, draft: Draft) -> dict[str, int | None]:
    """Return the positions that change: appended items need no look at the others."""
    places = draft.placements
    if all(place.after is None or place.hidden for place in places):
        positions: dict[str, int | None] = {}
        for count, place in enumerate(places):
            positions[place.id] = None if place.hidden else appended(loaded.session.seq + 1, count)
        return positions
    return placed(draft.order(), loaded.positions, moved={place.id for place in places}, seq=loaded.session.seq + 1)


def _save_effects(loaded: LoadedSession, draft: Draft, now: datetime) -> list[int]:
    started = [record for record in draft.effects.values() if record.id not in loaded.effect_rows]
    rows = StoredEffect.objects.bulk_create([new_effect(loaded.row, record, now) for record in started])
    ended = [record for record in draft.effects.values() if record.outcome and record.id in loaded.effect_rows]
    for record in ended:
        StoredEffect.objects.filter(pk=loaded.effect_rows[record.id].pk).update(
            status=StoredEffect.Status.ENDED,
            outcome=record.outcome,
            message=record.message,
            ended_at=now,
            result="",
            request="",
            lease_until=None,
        )
    if ended:
        StoredStream.objects.filter(effect__in=[loaded.effect_rows[record.id].pk for record in ended]).delete()
    return [row.pk for row in rows if row.status == StoredEffect.Status.PENDING]


def database_now(user_pk: int) -> datetime:
    """Return the database's clock, the only one that counts for events, leases and deadlines."""
    now: datetime = get_user_model().objects.filter(pk=user_pk).annotate(now=Now()).values_list("now", flat=True).get()
    return now


def session_by_key(user_pk: int, agent: str, key: str) -> StoredSession | None:
    """Return the session that a user created with this key before, if there is one."""
    return StoredSession.objects.filter(owner_id=user_pk, agent=agent, create_key=key).first()


def insert_session(row: StoredSession) -> StoredSession:
    """Insert a new session, or return the one that was created with its key in the same moment."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            StoredState.objects.create(session=row)
    except IntegrityError:
        known = session_by_key(row.owner_id, row.agent, row.create_key or "")
        if known is None:
            raise
        return known
    return row


def keep_blobs(texts: Iterable[str]) -> None:
    """Store texts under their digests; one that is stored already stays."""
    rows = [StoredBlob(digest=digest(text), text=text) for text in texts]
    known = set(StoredBlob.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    missing = [row for row in rows if row.pk not in known]
    if missing:
        with writing():
            StoredBlob.objects.bulk_create(missing, ignore_conflicts=True)

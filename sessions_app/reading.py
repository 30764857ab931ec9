"""What pages read. Nothing here writes, and the number of queries does not grow with what they show.

A session's row is always read first. What is read after it may be newer than its `seq` says, never older, so a
page that claims to show event n shows at least that; the next push puts right whatever came between.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, FilteredRelation, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from sessions_app.core.events import OUTSIDE
from sessions_app.core.platform import AssistantMessage, ToolCall, UserMessage
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession, StoredStream

WINDOW = 100
"""Top-level items a page shows at once."""
WINDOW_AT_MOST = 1000
"""The same where a person has asked for earlier ones."""
CATCH_UP = 200
"""Events a page catches up on piece by piece; after more of them it gets the whole again."""
LIST_SIZE = 50
FAILED_SHOWN = 20
_ASKED_AGAIN = ("failed", "timed out", "outcome unknown")


@dataclass(frozen=True)
class Open:
    """What is under way or waiting in a session, seen or not: all that its status depends on."""

    items: Sequence[StoredItem] = ()
    effects: Sequence[StoredEffect] = ()


@dataclass(frozen=True)
class Transcript:
    """The rows behind a page, or behind the part of it that changed."""

    session: StoredSession
    open: Open
    items: Sequence[StoredItem] = ()
    children: Mapping[str, Sequence[StoredItem]] = field(default_factory=dict)
    answers: Mapping[str, Sequence[StoredEvent]] = field(default_factory=dict)
    failed: Sequence[StoredEvent] = ()
    ended: Mapping[str, StoredEffect] = field(default_factory=dict)
    """The last ended effect of items that failed, by owner."""
    last: StoredItem | None = None
    """The last visible top-level item, also where it is not among `items`."""
    earlier: int = 0
    """Visible top-level items before the first one here."""
    waiting_messages: int = 0
    """Messages that came after the request under way began, or while a question is open."""


def find_session(user_pk: Any, key: str | UUID) -> StoredSession | None:
    """Return a session of this person, with its agent state; None for any other, as if it were not there."""
    try:
        uuid = key if isinstance(key, UUID) else UUID(hex=key)
    except ValueError:
        return None
    sessions = StoredSession.objects.select_related("stored_state")
    return sessions.filter(key=uuid, owner_id=user_pk).first()


def agent_state(session: StoredSession) -> dict[str, Any]:
    """Return the stored agent state of a session that was read with it."""
    data: dict[str, Any] = json.loads(session.stored_state.data)
    return data


def list_sessions(user_pk: Any, limit: int = LIST_SIZE) -> list[tuple[StoredSession, Open]]:
    """Return a person's sessions, the latest first, each with what its status depends on."""
    sessions = list(StoredSession.objects.filter(owner_id=user_pk).order_by("-updated_at", "-pk")[:limit])
    found = _open_of(session.pk for session in sessions)
    return [(session, found[session.pk]) for session in sessions]


def count_by_agent(user_pk: Any) -> dict[str, int]:
    """Return how many sessions a person has of each agent."""
    sessions = StoredSession.objects.filter(owner_id=user_pk).order_by()
    return dict(sessions.values_list("agent").annotate(Count("pk")))


def _open_of(session_pks: Iterable[int]) -> dict[int, Open]:
    pks = list(session_pks)
    items: dict[int, list[StoredItem]] = defaultdict(list)
    effects: dict[int, list[StoredEffect]] = defaultdict(list)
    for item in _visible(StoredItem.objects.filter(session_id__in=pks, render_status="pending", closed="")):
        items[item.session_id].append(item)
    for effect in _open_effects().filter(session_id__in=pks):
        effects[effect.session_id].append(effect)
    return {pk: Open(items[pk], effects[pk]) for pk in pks}


def _open_effects() -> QuerySet[StoredEffect]:
    ended = Q(status=StoredEffect.Status.ENDED)
    return StoredEffect.objects.filter(~ended).select_related("stream").defer("request", "result", "traceback")


def _visible(rows: Iterable[StoredItem]) -> list[StoredItem]:
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


def read_transcript(session: StoredSession, limit: int = WINDOW, before: str = "", first: str = "") -> Transcript:
    """Return the last `limit` visible top-level items.

    With `before`, the last ones before that item; with `first`, all from that item on, up to a bound of its own.
    """
    visible = StoredItem.objects.filter(session_id=session.pk, position__isnull=False)
    if before:
        visible = visible.filter(position__lt=_position(session.pk, before))
    if first:
        from_first = visible.filter(position__gte=_position(session.pk, first))
        limit = max(limit, min(from_first.count(), WINDOW_AT_MOST))
    rows = list(visible.order_by("-position", "-pk")[: limit + 1])
    earlier = visible.count() - limit if len(rows) > limit else 0
    shown = rows[:limit][::-1]
    return _complete(session, shown, earlier, last=shown[-1] if shown and not before else _last(session.pk))


def _last(session_pk: int) -> StoredItem | None:
    visible = StoredItem.objects.filter(session_id=session_pk, position__isnull=False)
    return visible.order_by("-position", "-pk").first()


def _position(session_pk: int, item_id: str) -> QuerySet[StoredItem, Any]:
    return StoredItem.objects.filter(session_id=session_pk, item_id=item_id).values("position")[:1]


def read_items(session: StoredSession, tops: Collection[str]) -> Transcript:
    """Return the transcript of some top-level items only, those that are visible, in order."""
    visible = StoredItem.objects.filter(session_id=session.pk, position__isnull=False, item_id__in=tops)
    return _complete(session, list(visible.order_by("position", "pk")), last=_last(session.pk))


def _complete(
    session: StoredSession, items: Sequence[StoredItem], earlier: int = 0, *, last: StoredItem | None
) -> Transcript:
    children = _children(session.pk, [item.item_id for item in items if item.type == AssistantMessage.type_name()])
    every = [*items, *(row for rows in children.values() for row in rows)]
    return Transcript(
        session=session,
        open=_open_of([session.pk])[session.pk],
        items=items,
        children=children,
        answers=_answers(session.pk, [row.item_id for row in every if row.answers]),
        failed=_failed(session.pk),
        ended=_last_ended(session.pk, [row.item_id for row in every if _has_failed(row)]),
        last=last,
        earlier=earlier,
        waiting_messages=_waiting_messages(session),
    )


def _has_failed(row: StoredItem) -> bool:
    return row.closed in _ASKED_AGAIN or (not row.closed and bool(row.closed_reason))


def _children(session_pk: int, messages: Sequence[str]) -> dict[str, list[StoredItem]]:
    """Return what hangs under assistant messages, two levels deep, in order."""
    children: dict[str, list[StoredItem]] = defaultdict(list)
    parents = list(messages)
    for _level in range(2):
        if not parents:
            break
        rows = list(StoredItem.objects.filter(session_id=session_pk, parent__in=parents).order_by("index", "pk"))
        for row in rows:
            children[row.parent].append(row)
        parents = [row.item_id for row in rows if row.type == ToolCall.type_name()]
    return children


def _answers(session_pk: int, item_ids: Collection[str]) -> dict[str, list[StoredEvent]]:
    """Return the events by which people answered, for each item in order."""
    answers: dict[str, list[StoredEvent]] = defaultdict(list)
    if item_ids:
        events = StoredEvent.objects.filter(
            session_id=session_pk, item_id__in=item_ids, sender_kind__in=OUTSIDE, status=StoredEvent.Status.APPLIED
        )
        for event in events.exclude(type__startswith="@platform/").defer("delta").order_by("seq"):
            answers[event.item_id].append(event)
    return answers


def _failed(session_pk: int) -> list[StoredEvent]:
    """Return the latest failed events that nobody has tried again."""
    retried = StoredEvent.objects.filter(session_id=session_pk, retry_of=OuterRef("seq"))
    failed = StoredEvent.objects.filter(~Exists(retried), session_id=session_pk, status=StoredEvent.Status.FAILED)
    return list(failed.defer("delta", "reason").order_by("-seq")[:FAILED_SHOWN])[::-1]


def _last_ended(session_pk: int, owners: Collection[str]) -> dict[str, StoredEffect]:
    if not owners:
        return {}
    ended = StoredEffect.objects.filter(session_id=session_pk, owner_item__in=owners, status=StoredEffect.Status.ENDED)
    rows = ended.defer("request", "result", "traceback", "payload").order_by("pk")
    return {effect.owner_item: effect for effect in rows}


def _waiting_messages(session: StoredSession) -> int:
    """Count the messages that no request has taken in, once a request or a question stands before them."""
    if session.owed_seq <= session.answered_seq and not session.request:
        return 0
    asked = int(session.request.split("_")[0]) if session.request else session.answered_seq
    later = StoredItem.objects.filter(session_id=session.pk, position__isnull=False, created_seq__gt=asked)
    return later.filter(type=UserMessage.type_name()).count()


@dataclass(frozen=True)
class Touched:
    """What events changed: top-level items to draw again, in order, and items that are no longer to be seen."""

    tops: Sequence[str] = ()
    moved: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()


def read_touched(session: StoredSession, since: int, also: Collection[str] = ()) -> Touched | None:
    """Return what changed after event `since`, with the items in `also`; None where a page should be drawn anew."""
    events = StoredEvent.objects.filter(session_id=session.pk, seq__gt=since).order_by("seq")
    rows = list(events.values_list("item_id", "delta")[: CATCH_UP + 1])
    if len(rows) > CATCH_UP:
        return None
    operations = [operation for _, delta in rows for operation in json.loads(delta)]
    items = {op["id"] for op in operations if op["op"].startswith("item-")} | set(also)
    items |= {item_id for item_id, _ in rows} | {op["owner"] for op in operations if op.get("owner")}
    items |= _owners(session.pk, [op["id"] for op in operations if op["op"] == "effect-ended"])
    items.discard("")
    moved = {op["id"] for op in operations if op["op"] in ("item-created", "item-moved")}
    return _touched(session.pk, items, moved)


def _owners(session_pk: int, effect_ids: Collection[str]) -> set[str]:
    if not effect_ids:
        return set()
    effects = StoredEffect.objects.filter(session_id=session_pk, effect_id__in=effect_ids)
    return set(effects.values_list("owner_item", flat=True))


def _touched(session_pk: int, items: Collection[str], moved: Collection[str]) -> Touched:
    if not items:
        return Touched()
    known = StoredItem.objects.filter(session_id=session_pk, item_id__in=items)
    rows = list(known.only("item_id", "parent", "position"))
    found = {row.item_id: row for row in rows}
    hidden = {row.item_id for row in rows if not row.parent and row.position is None}
    tops = {top_id(row) for row in rows} - hidden
    placed = frozenset(item_id for item_id in moved if item_id in found and not found[item_id].parent) - hidden
    return Touched(sorted(tops), placed, frozenset(set(items) - found.keys() | hidden))


def predecessors(session_pk: int, item_ids: Collection[str]) -> dict[str, str]:
    """Return for each visible top-level item the id of the one before it; "" for the first."""
    if not item_ids:
        return {}
    visible = StoredItem.objects.filter(session_id=session_pk, position__isnull=False)
    placed = visible.filter(item_id__in=item_ids).order_by("position", "pk")
    first = placed.values_list("position", flat=True).first()
    if first is None:
        return {}
    before = visible.filter(position__lt=first).order_by("-position", "-pk").values_list("item_id", flat=True).first()
    following = visible.filter(position__gte=first).order_by("position", "pk").values_list("item_id", flat=True)
    pairs = pairwise([before or "", *following])
    return {item_id: previous for previous, item_id in pairs if item_id in item_ids}


@dataclass(frozen=True)
class Pulse:
    """The least a watcher must know to notice that its page is behind: it compares this with the last one."""

    seq: int
    effects: frozenset[tuple[str, str, bool, int]]
    """(id, owner, whether it waits to be run, attempt) of each open effect."""
    streams: frozenset[tuple[str, int, int, int]]
    """(item, attempt, number of the text, its length) of each text being streamed."""


def read_pulses(session_pks: Collection[int]) -> dict[int, Pulse]:
    """Return the pulse of each session, all in one query."""
    still_open = FilteredRelation("effects", condition=~Q(effects__status=StoredEffect.Status.ENDED))
    rows = StoredSession.objects.filter(pk__in=session_pks).annotate(
        at_work=still_open, text_length=Length("at_work__stream__text")
    ).order_by()  # fmt: skip
    effects: dict[int, set[tuple[str, str, bool, int]]] = defaultdict(set)
    streams: dict[int, set[tuple[str, int, int, int]]] = defaultdict(set)
    seqs: dict[int, int] = {}
    for pk, seq, effect_id, owner, status, attempt, stream, text_attempt, number, length in rows.values_list(
        "pk", "seq", "at_work__effect_id", "at_work__owner_item", "at_work__status", "at_work__attempt",
        "at_work__stream__item_id", "at_work__stream__attempt", "at_work__stream__stream_no", "text_length",
    ):  # fmt: skip
        seqs[pk] = seq
        if effect_id:
            effects[pk].add((effect_id, owner, status == StoredEffect.Status.PENDING, attempt))
        if stream:
            streams[pk].add((stream, text_attempt, number, length))
    return {pk: Pulse(seq, frozenset(effects[pk]), frozenset(streams[pk])) for pk, seq in seqs.items()}


def read_streams(session_pk: int) -> dict[str, StoredStream]:
    """Return the text streamed so far by the requests under way, by item."""
    streams = StoredStream.objects.filter(effect__session_id=session_pk)
    return {stream.item_id: stream for stream in streams}

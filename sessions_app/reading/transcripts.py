"""The rows behind a conversation, or behind the part of it that changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from sessions_app.core.events import OUTSIDE
from sessions_app.core.platform import (
    AssistantMessage,
    EffectHasEnded,
    ModelResponded,
    ToolCall,
    ToolFinished,
    UserMessage,
)
from sessions_app.core.turn import MAY_BE_TRIED_AGAIN
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from sessions_app.reading.sessions import Open, open_of

WINDOW = 100
"""Top-level items a page shows at once."""
WINDOW_AT_MOST = 1000
"""The same where a person has asked for earlier ones."""
FAILED_SHOWN = 20


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
        open=open_of([session.pk])[session.pk],
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
    return bool(row.closed_reason) or row.closed in MAY_BE_TRIED_AGAIN


OUTCOMES = tuple(event.type_name() for event in (ModelResponded, ToolFinished, EffectHasEnded))


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
    # An outcome that could not be applied has failed its effect; there is nothing a person could send again.
    failed = failed.exclude(type__in=OUTCOMES)
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

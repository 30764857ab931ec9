"""What a page that is open lacks: which items events touched, and the least a watcher must look at."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import FilteredRelation, Q
from django.db.models.functions import Length

from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession, StoredStream
from sessions_app.reading.sessions import top_id

CATCH_UP = 200
"""Events a page catches up on piece by piece; after more of them it gets the whole again."""


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


def sign_of(effect: StoredEffect) -> tuple[str, str, bool, int]:
    """Return an effect as a pulse says it."""
    return effect.effect_id, effect.owner_item, effect.status == StoredEffect.Status.PENDING, effect.attempt


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

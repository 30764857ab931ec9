"""History: a session as it was at any event, and the proof that history, code and rows tell the same.

Every stored event keeps what it changed. Folding these changes from nothing gives the session at any earlier point
and needs no agent code. Replay goes the other way: it hands what came from outside to today's code and compares what
that would change with what was stored, in canonical JSON, byte for byte. Everything here only reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sessions_app import store
from sessions_app.core.agent import Agent
from sessions_app.core.canonical import canonical
from sessions_app.core.errors import EventRejected
from sessions_app.core.event_log import Incoming, Transition
from sessions_app.core.events import Sender, SenderKind
from sessions_app.core.memory import Memory
from sessions_app.core.operations import dump_delta, load_delta
from sessions_app.core.platform import SessionCreated
from sessions_app.core.reducer import reduce_event
from sessions_app.core.state import EffectRecord, ItemRecord
from sessions_app.guards import guarded
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from sessions_app.registry import get_agent
from sessions_app.rows import item_columns
from sessions_app.store import LoadedSession

Status = StoredEvent.Status


@dataclass(frozen=True)
class Difference:
    """A place where two accounts of a session part.

    `seq` is the event whose replay came out otherwise, or 0 where the rows are not what the history adds up to.
    `stored` is what the database holds, `found` what today's code or the history gives.
    """

    seq: int
    what: str
    stored: str
    found: str

    def __str__(self) -> str:
        where = f"event {self.seq}" if self.seq else "rows"
        return f"{where}: {self.what}: stored {self.stored!r}, found {self.found!r}"


def state_at(session: StoredSession, seq: int) -> Memory:
    """Return a session as it was after event `seq`, from what is stored alone."""
    return _folded(_events(session.pk, seq).only("seq", "delta", "payload").iterator())


def replay(session: StoredSession) -> Difference | None:
    """Handle the whole history with today's code and return the first difference, also one with the rows.

    Only what came from outside and from effects is handed in; what those events caused must come out by itself.
    Raises `LookupError` where this process does not have the session's agent.
    """
    agent = get_agent(session.agent)
    loaded, effects = _read_rows(session.pk)
    memory = Memory()
    for rows in _cascades(_events(session.pk, loaded.session.seq).iterator()):
        difference = _replay_cascade(agent, memory, rows)
        if difference is not None:
            return difference
        for row in rows:
            _fold(memory, row)
    return next(_row_differences(memory, loaded, effects), None)


def differences_with_rows(session: StoredSession) -> list[Difference]:
    """Return where the rows of a session are not what its history adds up to. No agent code is needed."""
    loaded, effects = _read_rows(session.pk)
    memory = _folded(_events(session.pk, loaded.session.seq).iterator())
    return list(_row_differences(memory, loaded, effects))


def _events(session_pk: int, seq: int) -> Any:
    return StoredEvent.objects.filter(session_id=session_pk, seq__lte=seq).order_by("seq")


def _folded(rows: Iterable[StoredEvent]) -> Memory:
    memory = Memory()
    for row in rows:
        _fold(memory, row)
    return memory


def _fold(memory: Memory, row: StoredEvent) -> None:
    memory.fold(load_delta(json.loads(row.delta), json.loads(row.payload)))
    memory.session = replace(memory.session, seq=row.seq)


def _read_rows(session_pk: int) -> tuple[LoadedSession, list[StoredEffect]]:
    """Read a whole session as it was at one moment; events do not change afterwards and need no such care."""
    while True:
        loaded = store.load_whole(session_pk)
        effects = list(StoredEffect.objects.filter(session_id=session_pk).defer("result", "request", "traceback"))
        if StoredSession.objects.filter(pk=session_pk, seq=loaded.session.seq).exists():
            return loaded, effects


# --- handling the history again


def _cascades(rows: Iterable[StoredEvent]) -> Iterator[list[StoredEvent]]:
    """Yield each event that came in, with those it caused: they follow it without a gap."""
    cascade: list[StoredEvent] = []
    for row in rows:
        if row.cause is None and cascade:
            yield cascade
            cascade = []
        cascade.append(row)
    if cascade:
        yield cascade


def _replay_cascade(agent: Agent[Any, Any], memory: Memory, rows: Sequence[StoredEvent]) -> Difference | None:
    root = rows[0]
    incoming = incoming_of(root)
    try:
        transitions = guarded(lambda: reduce_event(agent, memory, incoming))
    except EventRejected as rejected:
        return Difference(root.seq, "status", root.status, f"refused: {rejected.message}")
    for row, transition in zip(rows, transitions, strict=False):
        if (difference := _event_difference(row, transition)) is not None:
            return difference
    if len(rows) != len(transitions):
        found = [transition.event.type for transition in transitions[1:]]
        return Difference(root.seq, "events caused", canonical([row.type for row in rows[1:]]), canonical(found))
    return None


def incoming_of(row: StoredEvent) -> Incoming:
    """Return a stored event as it came to the reducer.

    That an event came from an attempt that had been given up is a fact about the effect's row, which no longer tells;
    such an event alone was sent by an effect and names none.
    """
    kind: SenderKind = row.sender_kind  # type: ignore[assignment]  # the column holds what a sender's kind was
    sender = Sender(kind, row.sender_id, row.sender_name)
    if row.type == SessionCreated.type_name():
        sender = Sender("system")  # The row names the person; the event itself is the platform's.
    late = row.reason if row.status == Status.DROPPED and kind == "effect" and not row.effect_id else ""
    payload = json.loads(row.payload)
    return Incoming(
        row.type, payload, sender, row.time, row.item_id, row.effect_id or "", retry_of=row.retry_of, late=late
    )


def _event_difference(row: StoredEvent, transition: Transition) -> Difference | None:
    event = transition.event
    pairs: list[tuple[str, object, object]] = [
        ("number", row.seq, transition.seq),
        ("type", row.type, event.type),
        ("item", row.item_id, event.item_id),
        ("cause", row.cause, transition.cause),
        ("payload", row.payload, canonical(event.payload)),
        ("status", row.status, transition.status),
        ("delta", row.delta, canonical(dump_delta(transition.operations, event.payload))),
    ]
    if row.status == Status.DROPPED:
        # A failed event's reason is a traceback, and line numbers change with every edit.
        pairs.append(("reason", row.reason, transition.reason))
    return next(_unequal(row.seq, pairs), None)


def _unequal(seq: int, pairs: Iterable[tuple[str, object, object]]) -> Iterator[Difference]:
    for what, stored, found in pairs:
        if stored != found:
            yield Difference(seq, what, str(stored), str(found))


# --- comparing the history with the rows


def _row_differences(memory: Memory, loaded: LoadedSession, effects: Sequence[StoredEffect]) -> Iterator[Difference]:
    facts = asdict(memory.session)
    yield from _unequal(0, ((name, value, facts[name]) for name, value in asdict(loaded.session).items()))
    yield from _unequal(0, [("agent state", loaded.row.stored_state.data, canonical(memory.agent_state))])
    for item_id in sorted(loaded.rows.keys() | memory.items.keys()):
        stored = _item_row(loaded.rows.get(item_id))
        yield from _record_differences(f"item {item_id}", stored, _item(memory.items.get(item_id)))
    yield from _unequal(0, [("order", loaded.order(), memory.order())])
    rows = {row.effect_id: row for row in effects}
    for effect_id in sorted(rows.keys() | memory.effects.keys()):
        stored = _effect_row(rows.get(effect_id))
        yield from _record_differences(f"effect {effect_id}", stored, _effect(memory.effects.get(effect_id)))


def _record_differences(what: str, stored: dict[str, Any], found: dict[str, Any]) -> Iterator[Difference]:
    if not stored or not found:
        yield from _unequal(0, [(what, "there" if stored else "missing", "there" if found else "missing")])
        return
    yield from _unequal(0, ((f"{what}: {name}", stored[name], value) for name, value in found.items()))


def _item(record: ItemRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    place = {"type": record.type, "parent": record.parent, "index": record.index}
    return place | {"visible": record.visible} | item_columns(record)


def _item_row(row: StoredItem | None) -> dict[str, Any]:
    if row is None:
        return {}
    names = ("type", "parent", "index", "data", "render_status", "render_label", "render_fraction", "render_messages",
             "closed", "closed_reason", "answers")  # fmt: skip
    visible = row.parent != "" or row.position is not None
    return {name: getattr(row, name) for name in names} | {"visible": visible}


def _effect(record: EffectRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    # What an open effect's row says beside this, such as why an attempt was given up, is no fact of the session.
    message = record.message if record.outcome else ""
    facts = {"type": record.type, "owner": record.owner, "outcome": record.outcome, "message": message}
    return facts | {"payload": canonical(record.payload), "policy": canonical(record.policy)}


def _effect_row(row: StoredEffect | None) -> dict[str, Any]:
    if row is None:
        return {}
    ended = row.status == StoredEffect.Status.ENDED
    facts = {"type": row.type, "owner": row.owner_item, "outcome": row.outcome, "message": row.message if ended else ""}
    return facts | {"payload": row.payload, "policy": row.policy}

"""From rows to the one status of a session."""

from __future__ import annotations

import json

from sessions_app.core.change import item_class
from sessions_app.core.data import find
from sessions_app.core.errors import HandlerError
from sessions_app.core.events import Event
from sessions_app.core.platform import AssistantMessage, GenerateResponse, RunTool, ToolCall
from sessions_app.core.status import Facts, Status, Wait, Work, derive_status
from sessions_app.forms import in_words
from sessions_app.models import StoredEffect, StoredItem, StoredSession
from sessions_app.reading import Open

NO_WAIT_OF_THEIR_OWN = (ToolCall.type_name(), AssistantMessage.type_name())


def status_of(session: StoredSession, open: Open) -> Status:
    """Return the status of a session. Page, list and admin all ask here."""
    labels = {item.item_id: item.render_label for item in open.items}
    busy = {effect.owner_item for effect in open.effects}
    waiting = [item for item in open.items if is_question(item) or item.item_id not in busy]
    facts = Facts(
        updated=session.updated_at,
        blocked_code=session.blocked_code,
        blocked_reason=session.blocked_reason,
        stopped=session.stopped,
        owed=session.owed_seq > session.answered_seq,
        # A call waits for what hangs under it, and a message for its model: neither is a wait of its own.
        waits=[_wait(item) for item in waiting if item.type not in NO_WAIT_OF_THEIR_OWN],
        work=[_work(effect, labels.get(effect.owner_item, "")) for effect in open.effects],
    )
    return derive_status(facts)


def is_question(item: StoredItem) -> bool:
    """Whether an open item waits for a person: it takes a public event, or its work failed."""
    return bool(item.closed_reason) or bool(public_events(item.type))


def public_events(item_type: str) -> tuple[type[Event], ...]:
    """Return the events that people may send to items of a type; none for a type this process does not know."""
    try:
        return tuple(event for event in item_class(item_type).event_types() if not event.is_private())
    except HandlerError:
        return ()


def item_words(item_type: str) -> str:
    """Return what an item type is called on a page."""
    cls = find("item", item_type)
    label = cls.__definition__.options.get("label") if cls else None
    return str(label) if label else in_words(item_type.rsplit("/", 1)[-1])


def _wait(item: StoredItem) -> Wait:
    words = item.closed_reason or item.render_label or item_words(item.type)
    return Wait(words, item.created_at, person=is_question(item))


def _work(effect: StoredEffect, label: str) -> Work:
    again = is_retrying(effect)
    return Work(
        since=effect.created_at,
        words=label or effect_words(effect),
        model=effect.type == GenerateResponse.type_name(),
        again=again,
        attempt=effect.attempt + 1 if again else effect.attempt,
        limit=attempts_allowed(effect),
        due=effect.due_at if again else None,
    )


def is_retrying(effect: StoredEffect) -> bool:
    """Whether an attempt of an open effect has ended and another is due."""
    return effect.status == StoredEffect.Status.PENDING and effect.attempt > 0


def attempts_allowed(effect: StoredEffect) -> int:
    """Return how many attempts an effect has in all."""
    return 1 + int(json.loads(effect.policy).get("retries", 0))


def effect_words(effect: StoredEffect) -> str:
    """Return what an effect does; empty for a model request."""
    if effect.type == GenerateResponse.type_name():
        return ""
    if effect.type == RunTool.type_name():
        return in_words(str(json.loads(effect.payload).get("name", "")))
    return effect_type_words(effect.type)


def effect_type_words(effect_type: str) -> str:
    """Return what effects of a type do: the `label` the class gives, else the type in words."""
    cls = find("effect", effect_type)
    label = cls.__definition__.options.get("label") if cls else None
    return str(label) if label else in_words(effect_type)

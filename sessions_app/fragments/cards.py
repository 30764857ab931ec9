"""From rows to cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from sessions_app.core.canonical import NotStorable, clean_text, parse_json
from sessions_app.core.data import find
from sessions_app.core.platform import EffectFailed, ToolError
from sessions_app.core.state import id_key
from sessions_app.core.turn import MAY_BE_TRIED_AGAIN
from sessions_app.forms import in_words
from sessions_app.fragments import approving
from sessions_app.fragments.agent_views import agent_of
from sessions_app.fragments.approving import is_approval
from sessions_app.fragments.asking import EventForm, event_words, forms_of_item
from sessions_app.fragments.card import Answer, Card, FailedEvent, State
from sessions_app.fragments.people import Viewer
from sessions_app.fragments.statuses import (
    attempts_allowed,
    effect_type_words,
    effect_words,
    is_retrying,
    item_words,
    public_events,
)
from sessions_app.fragments.wording import Pairs, for_people, pairs_of
from sessions_app.models import StoredEffect, StoredEvent, StoredItem
from sessions_app.reading import Transcript

FAILURES = ("failed", "timed out", "outcome unknown")
SHORT = 60


@dataclass(frozen=True)
class Desk:
    """What drawing any card needs: the rows around it, and who looks."""

    transcript: Transcript
    viewer: Viewer
    effects: Mapping[str, StoredEffect] = field(default_factory=dict)
    failed: Mapping[str, Sequence[FailedEvent]] = field(default_factory=dict)
    asked: Mapping[str, EventForm] = field(default_factory=dict)
    """Forms that came back with errors, by id."""

    @classmethod
    def of(cls, transcript: Transcript, viewer: Viewer, asked: Mapping[str, EventForm]) -> Desk:
        """Return the desk for a transcript."""
        effects = {effect.owner_item: effect for effect in transcript.open.effects if effect.owner_item}
        failed: dict[str, list[FailedEvent]] = {}
        for event in transcript.failed:
            failed.setdefault(event.item_id, []).append(failed_event(event))
        return cls(transcript, viewer, effects, failed, asked)


def failed_event(event: StoredEvent) -> FailedEvent:
    """Return a failed event as a notice shows it."""
    payload = json.loads(event.payload)
    text = payload.get("text", "") if event.type == "@platform/user-message" else ""
    return FailedEvent(event.seq, event.type, event_words(event.type), str(text), event.item_id)


def item_card(row: StoredItem, desk: Desk, *, call: StoredItem | None = None, call_open: bool = False) -> Card:
    """Return the card of a custom item; `call` is the tool call it hangs under."""
    if row.type == EffectFailed.type_name():
        return _failure_card(row, desk)
    agent = agent_of(desk.transcript.session)
    data: dict[str, Any] = json.loads(row.data)
    effect = desk.effects.get(row.item_id)
    events = public_events(row.type)
    is_open = row.render_status == "pending" and not row.closed
    state = _state(row, effect, asks=bool(events))
    arguments = _arguments(call) if call else ()
    title = approving.title(row) if is_approval(row) else _title(row, data, state, asks=bool(events))
    subject = _subject(arguments)
    return Card(
        id=row.item_id,
        type=row.type,
        data=data,
        name=item_words(row.type),
        state=state,
        since=_since(row, effect, state),
        title=title,
        subject="" if subject == title else subject,
        note=approving.verdict(row, desk.viewer) if is_approval(row) else str(data.get("note") or ""),
        reason=desk.viewer.reason(for_people(row.closed_reason)),
        closed=row.closed,
        settled=row.settled_at,
        fraction=row.render_fraction,
        **_attempts(effect),
        forms=[desk.asked.get(form.id, form) for form in forms_of_item(row, events, agent)] if is_open else (),
        answers=[_answer(event, desk.viewer) for event in desk.transcript.answers.get(row.item_id, ())],
        details=approving.details(row, agent) if is_approval(row) else arguments or pairs_of(data),
        result=_messages_text(row),
        failed_events=desk.failed.get(row.item_id, ()),
        can_try_again=_can_try_again(row, desk, call_open=call_open or call is None),
        can_skip=is_open and state in ("failed", "asking") and not is_approval(row),
        takes_answers=bool(events),
        key=f"{row.item_id}-{row.updated_seq}",
    )


def _failure_card(row: StoredItem, desk: Desk) -> Card:
    """Work of the session's own that failed. What its effect held was not made for people, and is not shown."""
    data = json.loads(row.data)
    name = effect_type_words(data["effect"])
    return Card(
        id=row.item_id,
        type=row.type,
        data=data,
        name=name,
        state="failed",
        since=row.created_at,
        title=name,
        reason=for_people(data["reason"]),
        closed="" if data["reason"] else data["outcome"],
        can_try_again=bool(data["payload"]),
        can_skip=True,
        failed_events=desk.failed.get(row.item_id, ()),
        key=row.item_id,
    )


def _state(row: StoredItem, effect: StoredEffect | None, *, asks: bool) -> State:
    if row.closed:
        return "failed" if row.closed in FAILURES else "closed"
    if row.render_status == "ready":
        return "answered" if row.answers else "done"
    if effect is not None:
        return _busy_state(effect)
    if row.closed_reason:
        return "failed"
    return "asking" if asks else "waiting"


def _busy_state(effect: StoredEffect) -> State:
    if is_retrying(effect):
        return "retrying"
    return "queued" if effect.status == StoredEffect.Status.PENDING else "running"


def work_card(effect: StoredEffect) -> Card:
    """Return the card of a session's own work while it is under way; no item shows it."""
    name = effect_words(effect)
    return Card(
        id=effect.effect_id,
        type=effect.type,
        data={},
        name=name,
        state=_busy_state(effect),
        since=effect.created_at,
        title=f"{name}…",
        **_attempts(effect),
    )


def _since(row: StoredItem, effect: StoredEffect | None, state: State) -> datetime:
    return effect.created_at if effect is not None and state != "asking" else row.created_at


def _attempts(effect: StoredEffect | None) -> dict[str, Any]:
    if effect is None:
        return {}
    again = is_retrying(effect)
    return {
        "attempt": effect.attempt + again,
        "limit": attempts_allowed(effect),
        "due": effect.due_at if again else None,
        "trouble": for_people(effect.message),
    }


def _title(row: StoredItem, data: Mapping[str, Any], state: State, *, asks: bool) -> str:
    name = item_words(row.type)
    match state:
        case "asking":
            return row.render_label or _question(data) or name
        case "answered":
            return _label(row.type, "label_done") or _question(data) or name
        case "done":
            return _label(row.type, "label_done") or name
        case "failed":
            return _label(row.type, "label_failed") or name
        case "closed":
            # What is closed while it is pending keeps the label it had, which for a question is the question.
            return (row.render_label if asks else "") or _question(data) or name
        case _:
            return row.render_label or _label(row.type, "label_running") or f"{name}…"


def _label(item_type: str, attribute: str) -> str:
    """What the item's class says, as in `class FlightSearch(…, type="flight-search", label_done="Flights found")`."""
    cls = find("item", item_type)
    return str(cls.__definition__.options.get(attribute, "")) if cls else ""


def _question(data: Mapping[str, Any]) -> str:
    """What an item asks, where its author named a field so."""
    return next((str(data[name]) for name in ("question", "prompt", "title") if isinstance(data.get(name), str)), "")


def _can_try_again(row: StoredItem, desk: Desk, *, call_open: bool) -> bool:
    """An item's failed work can run again until a model was shown the failure."""
    effect = desk.transcript.ended.get(row.item_id)
    if effect is None or row.item_id in desk.effects or not call_open:
        return False
    left_nothing = row.closed == "failed" or not row.closed
    return effect.outcome in MAY_BE_TRIED_AGAIN or (effect.outcome == "done" and left_nothing)


def _answer(event: StoredEvent, viewer: Viewer) -> Answer:
    who = viewer.name_of(event.sender_kind, event.sender_id, event.sender_name)
    return Answer(who, event.time, pairs_of(json.loads(event.payload)))


def _arguments(call: StoredItem) -> Pairs:
    data = json.loads(call.data)
    try:
        arguments = parse_json(data.get("arguments") or "{}")
    except NotStorable:
        return [("", clean_text(str(data["arguments"])))]
    return pairs_of(arguments)


def _subject(arguments: Pairs) -> str:
    """The one short argument that tells this call from its neighbours."""
    return arguments[0][1] if len(arguments) == 1 and len(arguments[0][1]) <= SHORT else ""


def _messages_text(row: StoredItem) -> str:
    messages = json.loads(row.render_messages) if row.render_messages else []
    parts = [part.get("text", "") for message in messages for part in message.get("parts", ())]
    return "\n\n".join(part for part in parts if part)


def call_cards(call: StoredItem, desk: Desk) -> list[Card]:
    """Return what one tool call looks like: the items it made, or the call itself where it made none to look at."""
    children = sorted(desk.transcript.children.get(call.item_id, ()), key=lambda row: (row.index, id_key(row.item_id)))
    asked = [row for row in children if is_approval(row)]
    approvals = [item_card(row, desk, call=call) for row in asked]
    custom = [row for row in children if not row.type.startswith("@platform/")]
    call_open = call.render_status == "pending" and not call.closed
    cards = [item_card(row, desk, call=call, call_open=call_open) for row in custom]
    plain = [row for row in children if row.type.startswith("@platform/") and not is_approval(row)]
    if asked and not approving.is_given(asked[-1]):
        return approvals  # There is no run to look at.
    if cards and not plain:
        return [*approvals, *cards]
    card = _call_card(call, plain, desk)
    if asked:  # It ran with what was approved, and from then on.
        card = replace(card, details=approvals[-1].details, since=asked[-1].settled_at or card.since)
    return [*approvals, *cards, card]


def _call_card(call: StoredItem, plain: Sequence[StoredItem], desk: Desk) -> Card:
    arguments = _arguments(call)
    name = in_words(str(json.loads(call.data).get("name", "")))
    effect = desk.effects.get(call.item_id)
    error = next((row for row in plain if row.type == ToolError.type_name()), None)
    state: State = _state(call, effect, asks=False)
    texts = [json.loads(row.data) for row in plain]
    result = "\n\n".join(text.get("text", "") for text in texts if text.get("text"))
    return Card(
        id=call.item_id,
        type=call.type,
        data={},
        name=name,
        state="failed" if error else state,
        since=effect.created_at if effect else call.created_at,
        title=f"{name}…" if state in ("queued", "running", "waiting") and not error else name,
        subject=_subject(arguments),
        reason=desk.viewer.reason(
            for_people(texts[plain.index(error)].get("message", "") if error else call.closed_reason)
        ),
        closed=call.closed,
        settled=call.settled_at,
        **_attempts(effect),
        details=arguments,
        result=result or (_("(no output)") if state == "done" and not error else ""),
        failed_events=desk.failed.get(call.item_id, ()),
        key=f"{call.item_id}-{call.updated_seq}",
    )

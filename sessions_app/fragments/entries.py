"""An entry: one top-level item of the conversation with all that belongs to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.utils.safestring import SafeString

from sessions_app.core.platform import AssistantMessage, ToolCall, UserMessage
from sessions_app.fragments.card import Card
from sessions_app.fragments.cards import Desk, call_cards, item_card
from sessions_app.fragments.statuses import attempts_allowed, is_retrying
from sessions_app.fragments.wording import for_people
from sessions_app.markdown import to_html
from sessions_app.models import StoredEffect, StoredItem, StoredStream


@dataclass(frozen=True)
class Writing:
    """An answer on its way: the text so far, and how the request is doing."""

    text: str = ""
    attempt: int = 0
    stream_no: int = 0
    state: Literal["queued", "running", "retrying"] = "running"
    tries: int = 0
    limit: int = 0
    due: datetime | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Entry:
    """What `templates/sessions/fragments/entry.html` draws."""

    id: str
    kind: Literal["user", "assistant", "card"]
    time: datetime
    text: str = ""
    html: SafeString | str = ""
    note: str = ""
    model: str = ""
    reasoning: str = ""
    writing: Writing | None = None
    cards: Sequence[Card] = ()

    @property
    def is_empty(self) -> bool:
        """Whether an answer says nothing and does nothing; the page then says so."""
        return self.kind == "assistant" and not (self.html or self.writing or self.cards or self.reasoning)


def make_entry(row: StoredItem, desk: Desk) -> Entry:
    """Return the entry of a top-level item."""
    if row.type == UserMessage.type_name():
        return Entry(row.item_id, "user", row.created_at, text=str(json.loads(row.data).get("text", "")))
    if row.type == AssistantMessage.type_name():
        return _assistant_entry(row, desk)
    return Entry(row.item_id, "card", row.created_at, cards=[item_card(row, desk)])


def _assistant_entry(row: StoredItem, desk: Desk) -> Entry:
    data: dict[str, Any] = json.loads(row.data)
    if row.render_status == "pending" and not row.closed:
        return Entry(row.item_id, "assistant", row.created_at, writing=_writing(desk.effects.get(row.item_id)))
    calls = [child for child in desk.transcript.children.get(row.item_id, ()) if child.type == ToolCall.type_name()]
    return Entry(
        row.item_id,
        "assistant",
        row.settled_at or row.created_at,
        html=to_html(str(data.get("text", ""))),
        note=str(data.get("note", "")),
        model=str(data.get("model", "")),
        reasoning="\n\n".join(part.get("text", "") for part in data.get("reasoning", ()) if part.get("text")),
        cards=[card for call in calls for card in call_cards(call, desk)],
    )


def _writing(effect: StoredEffect | None) -> Writing:
    if effect is None:
        return Writing()
    again = is_retrying(effect)
    stream = _current_stream(effect)
    waits = effect.status == StoredEffect.Status.PENDING
    return Writing(
        text=stream.text if stream else "",
        attempt=effect.attempt,
        stream_no=stream.stream_no if stream else 0,
        state="retrying" if again else "queued" if waits else "running",
        tries=effect.attempt + again,
        limit=attempts_allowed(effect),
        due=effect.due_at if again else None,
        trouble=for_people(effect.message),
    )


def _current_stream(effect: StoredEffect) -> StoredStream | None:
    """The text of the present attempt. What an attempt that failed had written is no answer."""
    stream: StoredStream | None = getattr(effect, "stream", None)
    return stream if stream and stream.attempt == effect.attempt and not is_retrying(effect) else None

"""What people send: messages, answers, actions, stop, retry, skip. One address, and one way through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from pydantic import BaseModel

from sessions_app import engine, reading
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Event, Sender
from sessions_app.core.platform import UserMessageSent
from sessions_app.forms import parse
from sessions_app.forms.submission import FieldError
from sessions_app.fragments import Viewer
from sessions_app.fragments.agent_views import agent_of
from sessions_app.fragments.approving import asked_class, fixed_values, payload_of
from sessions_app.fragments.asking import EventForm, action_form, item_form
from sessions_app.fragments.statuses import public_events
from sessions_app.fragments.wording import pairs_of
from sessions_app.models import StoredItem, StoredSession
from sessions_app.receipts import Receipt

MESSAGE = UserMessageSent.type_name()


@dataclass(frozen=True)
class Posting:
    """One posted form, and what is known about the event it wants to send."""

    request: HttpRequest
    session: StoredSession
    data: QueryDict
    event_type: str
    item_id: str
    item: StoredItem | None
    event: type[Event] | None
    payload: Mapping[str, Any] = field(default_factory=dict)
    unreadable: tuple[FieldError, ...] = ()

    @property
    def viewer(self) -> Viewer:
        """Who posted it."""
        return Viewer.of(self.request.user)

    @property
    def is_message(self) -> bool:
        """Whether it is what a person wrote into the message box."""
        return self.event_type == MESSAGE and not self.item_id

    @property
    def by_htmx(self) -> bool:
        """Whether the page can take a fragment in."""
        return self.request.headers.get("HX-Request") == "true"

    def form(self, errors: tuple[FieldError, ...] = (), posted: QueryDict | None = None) -> EventForm | None:
        """Return the form as it was filled in, to be shown again."""
        data = self.data if posted is None else posted
        if self.event is None:
            return None
        if self.item is None:
            return action_form(self.event, reading.agent_state(self.session), posted=data, errors=errors)
        only = len(public_events(self.item.type)) == 1
        return item_form(self.item, self.event, agent_of(self.session), only=only, posted=data, errors=errors)

    @property
    def typed(self) -> str:
        """What a person wrote, as text they can copy."""
        cls = _asked(self.session, self.item, self.event)
        values = parse(cls, self.data).values if cls else {}
        unseen = fixed_values(self.item, self.event) if self.item and self.event else {}
        pairs = pairs_of({name: value for name, value in values.items() if name not in unseen})
        return pairs[0][1] if len(pairs) == 1 else "\n".join(f"{label}: {text}" for label, text in pairs)


def read_posting(request: HttpRequest, session: StoredSession) -> Posting:
    """Return what was posted. Raises `EventRejected` where it names nothing that can be sent."""
    data = request.POST
    if data.get("_retry"):
        return _read_retry(request, session, data)
    event_type, item_id = data.get("_type", ""), data.get("_item", "")
    item = reading.find_item(session, item_id) if item_id else None
    event = _event(session, item, event_type)
    posting = Posting(request, session, data, event_type, item_id, item, event)
    if event_type == MESSAGE and not item_id:
        return replace(posting, payload={"text": data.get("text", "").replace("\r\n", "\n").strip()})
    cls = _asked(session, item, event)
    if event is None or cls is None:
        return posting
    submission = parse(cls, data)
    return replace(posting, payload=payload_of(event, submission.values, item, cls), unreadable=submission.errors)


def _asked(session: StoredSession, item: StoredItem | None, event: type[Event] | None) -> type[BaseModel] | None:
    """The class whose fields the form had."""
    return asked_class(item, event, agent_of(session)) if item and event else event


def _event(session: StoredSession, item: StoredItem | None, event_type: str) -> type[Event] | None:
    if item is not None:
        return next((event for event in public_events(item.type) if event.type_name() == event_type), None)
    agent = agent_of(session)
    found = agent.accepts(event_type) if agent else None
    return None if found is None or found.is_private() else found


def _read_retry(request: HttpRequest, session: StoredSession, data: QueryDict) -> Posting:
    text = data.get("_retry", "")
    event = reading.find_event(session, int(text)) if text.isdecimal() and len(text) < 19 else None
    if event is None:
        raise EventRejected("not_found", _("There is no such event to try again."))
    return Posting(request, session, data, event.type, event.item_id, None, None, json.loads(event.payload))


def dispatch(posting: Posting) -> Receipt:
    """Hand the event to the engine."""
    user: Any = posting.request.user
    data = posting.data
    return engine.dispatch_event(
        posting.session,
        posting.event_type,
        posting.payload,
        sender=Sender("person", id=str(user.pk), name=user.get_username()),
        item_id=posting.item_id,
        client_key=data.get("_key") or None,
        answers_seen=_number(data.get("_seen", "")),
        retry_of=_number(data.get("_retry", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None

"""The parts of a session's page, each drawn from rows. The whole page and every push draw the same parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.functional import cached_property

from sessions_app.core.platform import AssistantMessage
from sessions_app.core.status import ASKS, Status
from sessions_app.fragments.agent_views import AgentView, Offer, offer_of, view_of_session_agent
from sessions_app.fragments.asking import EventForm, action_form, new_key
from sessions_app.fragments.card import Card, FailedEvent
from sessions_app.fragments.cards import Desk, work_card
from sessions_app.fragments.entries import Entry, make_entry
from sessions_app.fragments.people import Viewer
from sessions_app.fragments.statuses import public_events, status_of
from sessions_app.fragments.wording import for_people
from sessions_app.models import StoredSession
from sessions_app.reading import WINDOW, Transcript

REFUSED = frozenset({"refused"})
"""Codes of a block that asking again cannot lift."""
EXAMPLES_SHOWN = 3
READ_OUT_WORDS = 60


@dataclass(frozen=True)
class Kept:
    """What somebody typed for a question that was answered before theirs arrived, and what became of it."""

    item_id: str
    words: str
    text: str
    answer: str = ""


@dataclass(frozen=True)
class SessionPage:
    """One look at a session. Everything a template asks for is a property, worked out at most once."""

    transcript: Transcript
    viewer: Viewer
    asked: Mapping[str, EventForm] = field(default_factory=dict)
    """Forms that came back with errors, by id."""
    kept: Kept | None = None
    typed: str = ""
    typed_error: str = ""

    @property
    def session(self) -> StoredSession:
        """The session's row."""
        return self.transcript.session

    @property
    def key(self) -> str:
        """The session's id in addresses."""
        return self.session.key.hex

    @cached_property
    def now(self) -> Any:
        """The server's clock, by which a browser corrects its own."""
        return timezone.now()

    @cached_property
    def status(self) -> Status:
        """The one status."""
        return status_of(self.session, self.transcript.open)

    @cached_property
    def agent(self) -> AgentView:
        """The agent, also one that is gone."""
        return view_of_session_agent(self.session)

    @cached_property
    def offer(self) -> Offer:
        """What the agent offers in its present state."""
        return offer_of(self.session)

    @property
    def title(self) -> str:
        """The session's title."""
        return self.session.title or self.agent.title

    @cached_property
    def desk(self) -> Desk:
        """What drawing a card needs."""
        return Desk.of(self.transcript, self.viewer, self.asked)

    @cached_property
    def entries(self) -> list[Entry]:
        """The conversation, in order."""
        return [make_entry(row, self.desk) for row in self.transcript.items]

    @cached_property
    def work(self) -> list[Card]:
        """What the session itself is doing, and no item shows."""
        return [work_card(effect) for effect in self.transcript.open.effects if not effect.owner_item]

    @cached_property
    def actions(self) -> list[EventForm]:
        """Forms for the session events a person may send now."""
        forms = [action_form(event, self.offer.values) for event in self.offer.actions]
        return [self.asked.get(form.id, form) for form in forms]

    @property
    def failed_events(self) -> Sequence[FailedEvent]:
        """Failed events that belong to no item."""
        return self.desk.failed.get("", ())

    @property
    def examples(self) -> Sequence[tuple[str, str]]:
        """Prompts to begin with, each with its key, while nothing was said."""
        if not self.is_empty or not self.agent.known:
            return ()
        return [(f"example-{number}", text) for number, text in enumerate(self.agent.examples[:EXAMPLES_SHOWN])]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said yet; an agent may have put items there of its own accord."""
        return self.session.owed_seq == 0

    @property
    def socket_path(self) -> str:
        """Where the page listens."""
        return f"/ws/s/{self.key}/"

    @property
    def first_id(self) -> str:
        """The first entry shown."""
        return self.transcript.items[0].item_id if self.transcript.items else ""

    @property
    def show_more(self) -> int:
        """How many entries the next larger page shows."""
        return len(self.transcript.items) + WINDOW

    @property
    def stop_key(self) -> str:
        """Two presses on one state of the session are one stop."""
        return f"stop-{self.session.seq}"

    @property
    def retry_key(self) -> str:
        """Two presses on one block are one retry."""
        return f"retry-{self.session.seq}"

    @property
    def new_key(self) -> str:
        """A key for a form whose content a person writes."""
        return new_key()

    @property
    def blocked_reason(self) -> str:
        """Why there is no answer."""
        return for_people(self.session.blocked_reason)

    @property
    def asks_to_go_on(self) -> bool:
        """Whether generation is blocked by a question rather than a failure."""
        return self.session.blocked_code in ASKS

    @cached_property
    def question_id(self) -> str:
        """The open question that waits longest, which a message behind it waits for too."""
        return next((item.item_id for item in self.transcript.open.items if public_events(item.type)), "")

    @property
    def can_retry(self) -> bool:
        """Whether a blocked request can be made again."""
        return bool(self.session.blocked_code) and self.session.blocked_code not in REFUSED

    @property
    def last_answer(self) -> str:
        """The text of the last item, if it is a finished answer."""
        row = self.transcript.last
        if row is None or row.type != AssistantMessage.type_name() or row.render_status == "pending":
            return ""
        return str(json.loads(row.data).get("text", ""))

    @property
    def short_answer(self) -> str:
        """The last answer, where it is short enough to be read out unasked."""
        return self.last_answer if len(self.last_answer.split()) <= READ_OUT_WORDS else ""

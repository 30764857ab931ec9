"""Forms for events: what a page offers a person to send."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from sessions_app.core.agent import Agent
from sessions_app.core.canonical import canonical, digest
from sessions_app.core.data import find
from sessions_app.core.events import Event
from sessions_app.core.platform import ChangeArguments
from sessions_app.forms import BoundForm, bind, describe, in_words
from sessions_app.forms.submission import FieldError
from sessions_app.fragments.approving import arguments_of, asked_class, fixed_values
from sessions_app.models import StoredItem

BOXES_IN_A_LINE = 1


def new_key() -> str:
    """Return an idempotency key for a form: whatever is posted with it is handled once."""
    return secrets.token_urlsafe(12)


@dataclass(frozen=True)
class EventForm:
    """A form that sends one event. Its id changes with every answer, so a page never mixes two questions up."""

    id: str
    type: str
    button: str
    key: str
    form: BoundForm
    item_id: str = ""
    answers_seen: int = 0
    primary: bool = True
    skip: bool = False
    """Whether Skip stands beside its button."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Values that are posted unseen."""
    folded: str = ""
    """What opens it, where it is folded away; empty where it stands open."""

    @property
    def is_button(self) -> bool:
        """Whether there is nothing to fill in."""
        return not self.form.fields

    @property
    def in_a_line(self) -> bool:
        """Whether the button stands beside a single box."""
        kinds = [entry.field.kind for entry in self.form.fields if entry.field.kind != "hidden"]
        return len(kinds) == BOXES_IN_A_LINE and kinds[0] in ("text", "textarea", "integer", "number", "date", "time")


def forms_of_item(
    item: StoredItem, events: Iterable[type[Event]], agent: Agent[Any, Any] | None
) -> tuple[EventForm, ...]:
    """Return a form for each event a person may send to an item."""
    events = [event for event in events if asked_class(item, event, agent)]
    return tuple(
        item_form(item, event, agent, only=len(events) == 1, primary=index == 0) for index, event in enumerate(events)
    )


def item_form(
    item: StoredItem,
    event: type[Event],
    agent: Agent[Any, Any] | None,
    *,
    only: bool = True,
    primary: bool = True,
    posted: QueryDict | None = None,
    errors: Iterable[FieldError] = (),
) -> EventForm:
    """Return the form of one event of an item, with what was typed and what was wrong with it."""
    form_id = f"ask-{item.item_id}-{item.answers}-{event.type_name()}".replace("/", "-").replace("@", "")
    changes = event is ChangeArguments
    fixed = fixed_values(item, event)
    data = arguments_of(item) if changes else None
    form = bind(asked_class(item, event, agent) or event, prefix=form_id, posted=posted, errors=errors, data=data)
    return EventForm(
        id=form_id,
        type=event.type_name(),
        button=_button(event, only=only),
        key=_key(posted),
        form=form if not fixed else BoundForm(),
        item_id=item.item_id,
        answers_seen=item.answers,
        primary=primary,
        # Only where it is sure which form it would stand beside.
        skip=only and bool(describe(event)),
        fixed=fixed,
        folded=_("Change…") if changes else "",
    )


def action_form(
    event: type[Event],
    values: Mapping[str, Any],
    *,
    posted: QueryDict | None = None,
    errors: Iterable[FieldError] = (),
) -> EventForm:
    """Return the form of a session event. It begins with `values` under the names of its fields.

    Its id says which values these are: a page leaves a form alone that it has already, and other values are another.
    """
    data = {name: values[name] for name in event.model_fields if values.get(name) not in (None, "")}
    form_id = f"do-{event.type_name()}" + (f"-{digest(canonical(data))[:8]}" if data else "")
    return EventForm(
        id=form_id,
        type=event.type_name(),
        button=_button(event, only=False),
        key=_key(posted),
        form=bind(event, prefix=form_id, posted=posted, errors=errors, data=data),
    )


def _key(posted: QueryDict | None) -> str:
    """A form that comes back with errors was not handled, so its key is still good."""
    return (posted.get("_key") if posted else None) or new_key()


def _button(event: type[Event], *, only: bool) -> str:
    is_answer = only and describe(event) and not event.__definition__.options.get("label")
    return _("Send answer") if is_answer else event_words(event.type_name())


def event_words(event_type: str) -> str:
    """Return what an event is called: the `label` its class gives, else its type in words."""
    cls = find("event", event_type)
    label = cls.__definition__.options.get("label") if cls else None
    return str(label) if label else in_words(event_type.rsplit("/", 1)[-1])

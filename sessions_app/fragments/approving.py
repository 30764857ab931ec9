"""Approvals on a page: their forms are made of the tool's arguments, not of the events' own fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from sessions_app.core.agent import Agent
from sessions_app.core.canonical import parse_json
from sessions_app.core.events import Event
from sessions_app.core.platform import Approval, Approve, ChangeArguments
from sessions_app.forms import describe, in_words
from sessions_app.fragments.people import Viewer
from sessions_app.fragments.wording import Pairs, as_words
from sessions_app.models import StoredItem

Posted = Mapping[str, str]


def is_approval(item: StoredItem) -> bool:
    """Whether an item asks a person to let a tool run."""
    return item.type == Approval.type_name()


def asked_class(item: StoredItem, event: type[Event], agent: Agent[Any, Any] | None) -> type[BaseModel] | None:
    """Return the class whose fields a form for an event shows; None where this process does not know it."""
    if event is not ChangeArguments:
        return event
    return agent.find_tool(_data(item)["tool"]) if agent else None


def arguments_of(item: StoredItem) -> dict[str, Any]:
    """Return the arguments an approval is about."""
    arguments: dict[str, Any] = parse_json(_data(item)["arguments"])
    return arguments


def fixed_values(item: StoredItem, event: type[Event]) -> Posted:
    """Return what a form posts unseen: an approval names what was looked at."""
    return {"digest": _data(item)["digest"]} if event is Approve else {}


def payload_of(
    event: type[Event], values: Mapping[str, Any], item: StoredItem | None, cls: type[BaseModel]
) -> Mapping[str, Any]:
    """Return the payload of an event from the values of its form. A secret is not shown; left blank it stays."""
    if event is not ChangeArguments or item is None:
        return values
    stored = arguments_of(item)
    secrets = [str(entry.path[-1]) for entry in describe(cls) if entry.kind == "secret"]
    kept = {name: stored[name] for name in secrets if name in stored and not values.get(name)}
    return {"arguments": {**values, **kept}}


def title(item: StoredItem) -> str:
    """Return what an approval asks, or what it was about."""
    return item.render_label or _("Approval of “{tool}”").format(tool=in_words(_data(item)["tool"]))


def verdict(item: StoredItem, viewer: Viewer) -> str:
    """Return how a person decided; empty while nobody has."""
    data = _data(item)
    who = _("you") if data["by"] == viewer.name else data["by"]
    match data["decision"]:
        case "approved":
            return _("Approved by {who}.").format(who=who)
        case "declined" if data["reason"]:
            return _("Declined by {who}: {reason}").format(who=who, reason=data["reason"])
        case "declined":
            return _("Declined by {who}.").format(who=who)
        case "changed":
            return _("Changed by {who}.").format(who=who)
        case _:
            return ""


def is_given(item: StoredItem) -> bool:
    """Whether a person has let the tool run."""
    return bool(_data(item)["decision"] == "approved")


def details(item: StoredItem, agent: Agent[Any, Any] | None) -> Pairs:
    """Return all a tool would run with as a person reads it: defaults and empty values too, secrets masked."""
    arguments = arguments_of(item)
    tool = agent.find_tool(_data(item)["tool"]) if agent else None
    with suppress(ValidationError):
        arguments = tool.model_validate(arguments).model_dump(mode="json") if tool else arguments
    return [(in_words(name), _in_full(value)) for name, value in arguments.items()]


def _in_full(value: Any) -> str:
    match value:
        case None | "" | [] | {}:
            return _("(empty)")
        case list() | dict():
            return json.dumps(value, indent=2, ensure_ascii=False)
        case _:
            return as_words(value)


def _data(item: StoredItem) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(item.data)
    return data

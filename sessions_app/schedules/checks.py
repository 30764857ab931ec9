"""What a schedule may hold. What could never be sent is refused before anything is stored, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sessions_app import engine, receipts
from sessions_app.conf import configuration
from sessions_app.core.admission import admit
from sessions_app.core.agent import Agent
from sessions_app.core.canonical import clean_text
from sessions_app.core.errors import EventRejected
from sessions_app.core.event_log import Incoming
from sessions_app.core.events import Sender
from sessions_app.core.memory import Memory
from sessions_app.core.platform import UserMessageSent
from sessions_app.core.text import is_blank
from sessions_app.models import StoredSchedule
from sessions_app.registry import get_agent

NAME_LENGTH = 100


def find_agent(name: str) -> Agent[Any, Any]:
    """Return the agent a schedule is for. Raises `EventRejected` where there is none of that name."""
    try:
        return get_agent(name)
    except LookupError as error:
        raise EventRejected("not_found", str(error)) from error


def checked_args(agent: Agent[Any, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of each new session. Raises `EventRejected` with the fields that are wrong."""
    try:
        return receipts.checked_args(agent, engine.bordered(args, configuration().PAYLOAD_LIMIT))
    except EventRejected as rejection:
        raise _under("args", rejection) from rejection


def checked_event(
    agent: Agent[Any, Any], type: str, payload: Mapping[str, Any], sender: Sender, now: datetime
) -> dict[str, Any]:
    """Return a payload as it is sent. Raises `EventRejected` as the session would on the day, as far as can be told."""
    try:
        cleaned = engine.bordered(payload, configuration().PAYLOAD_LIMIT)
        event = admit(agent, Memory(), Incoming(type, cleaned, sender, now), 0)
        if isinstance(event, UserMessageSent) and is_blank(event.text):
            message = "The message is empty."
            raise EventRejected("invalid", message, errors=((("text",), "Write something first."),))
    except EventRejected as rejection:
        raise _under("payload", rejection) from rejection
    return cleaned


def _under(place: str, rejection: EventRejected) -> EventRejected:
    """Return a refusal whose fields are named from the schedule's point of view."""
    errors = tuple(((place, *path), message) for path, message in rejection.errors)
    return EventRejected(rejection.code, rejection.message, errors=errors, details=rejection.details)


def checked_name(name: str) -> str:
    """Return a name as it is stored. Raises `EventRejected` for one that is too long."""
    cleaned = " ".join(clean_text(name).split())
    if len(cleaned) > NAME_LENGTH:
        message = f"A name has at most {NAME_LENGTH} characters."
        raise EventRejected("invalid", message, errors=((("name",), message),))
    return cleaned


def checked_missed(missed: str) -> str:
    """Return what becomes of missed slots. Raises `EventRejected` for what is no such policy."""
    if missed not in StoredSchedule.Missed.values:
        message = f"Missed slots: {' or '.join(StoredSchedule.Missed.values)}."
        raise EventRejected("invalid", message, errors=((("missed",), message),))
    return missed

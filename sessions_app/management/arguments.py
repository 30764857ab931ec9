"""What stands on a command line, as values: JSON, times, spans, sessions and users."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from sessions_app.core.canonical import NotStorable, parse_json
from sessions_app.models import StoredSession

SHORTEST_PREFIX = 6
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SPAN = re.compile(r"(?:\d{1,9}[smhd])+")


def json_object(text: str) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        value = parse_json(text)
    except NotStorable as error:
        raise ArgumentTypeError(f"{error.message}.") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError('a JSON object is wanted, such as {"text": "Hello"}.')
    return value


def moment(text: str) -> datetime:
    """Return a date and time; without an offset it is one of a zone's clocks."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f'"{text}" is no date and time. Write it as 2026-03-29T09:00.') from None


def span(text: str) -> int:
    """Return a span of time in seconds."""
    if not _SPAN.fullmatch(text):
        raise ArgumentTypeError(f'"{text}" is no span of time. Write it as 90m, 12h or 1d12h.')
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)([smhd])", text))


def find_session(text: str) -> StoredSession:
    """Return the session whose key begins so. Raises `CommandError` where it is not just one."""
    start = text.replace("-", "").lower()
    if not SHORTEST_PREFIX <= len(start) <= 32 or not re.fullmatch(r"[0-9a-f]+", start):
        wanted = f"its key, 32 hex digits, or the first {SHORTEST_PREFIX} or more of them"
        raise CommandError(f'"{text}" names no session. Give {wanted}.', returncode=2)
    bounds = (UUID(start.ljust(32, "0")), UUID(start.ljust(32, "f")))
    found = list(StoredSession.objects.select_related("owner", "stored_state").filter(key__range=bounds)[:2])
    if not found:
        raise CommandError(f"There is no session whose key begins with {start}.")
    if len(found) > 1:
        raise CommandError(f"Several sessions have keys that begin with {start}. Give more of it.")
    return found[0]


def find_user(name: str) -> Any:
    """Return a user by the name they sign in with. Raises `CommandError` where there is none."""
    users = get_user_model()
    try:
        return users.objects.get_by_natural_key(name)
    except users.DoesNotExist:
        raise CommandError(f'There is no user "{name}".') from None

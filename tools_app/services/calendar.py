"""A calendar that finds a free time and sends invitations. Nobody is invited: it is a stand-in.

The same question gives the same time, and the same key the same invitation. A meeting called "Outage" fails, so that
this can be seen.
"""

from __future__ import annotations

import hashlib
from datetime import date, datetime, time, timedelta

from .pace import answer_time

HOURS = (9, 10, 11, 14, 15, 16)
OUT_OF_ORDER = "outage"
SATURDAY, WEEK = 5, 7


class CalendarDown(Exception):
    """The calendar did not answer."""


async def find_free_time(title: str, day: date) -> datetime:
    """Return when a meeting could begin: at an hour of `day`, or of the next Monday where that is a weekend."""
    await answer_time()
    rest = WEEK - day.weekday() if day.weekday() >= SATURDAY else 0
    place = int.from_bytes(_digest(title.strip().casefold(), day.isoformat())[:6]) % len(HOURS)
    return datetime.combine(day + timedelta(days=rest), time(HOURS[place]))


async def create_invitation(title: str, start_time: datetime, key: str) -> str:
    """Invite to a meeting and return its address; under a key that was used before, the address of then.

    Raises `CalendarDown`.
    """
    await answer_time()
    if title.strip().casefold() == OUT_OF_ORDER:
        raise CalendarDown("The calendar did not answer.")
    return f"https://calendar.example/{start_time:%Y-%m-%d}/{_digest(key).hex()[:12]}"


def _digest(*texts: str) -> bytes:
    return hashlib.sha256("/".join(texts).encode()).digest()

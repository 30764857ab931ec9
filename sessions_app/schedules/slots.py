"""When a schedule is due: once, every so often, or by a cron line in a time zone. The time comes with the question.

A slot is a moment, kept in UTC and in whole seconds. Where clocks change, the rule is that of Debian's cron:

- A line whose minute and hour are given names a time of day. It has one slot on every day it names: where clocks are
  put back over that time, its first pass; where they jump over it, the first moment after the jump.
- A line whose minute or hour begins with * names a pattern. Every real minute at which the clock on the wall fits it
  is a slot, so an hourly line has 23 slots on the short day and 25 on the long one.
- An interval counts real seconds from its first slot and knows no clocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from sessions_app.core.errors import EventRejected

SHORTEST = 60
"""Seconds of the shortest interval, as of cron."""
FARTHEST = timedelta(days=50 * 366)
CRON_FIELDS = 5
LONGEST_CRON = 100
UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
SECOND = timedelta(seconds=1)
ON_TIME = timedelta(minutes=1)
"""How late a slot may be sent and still be on time."""


@dataclass(frozen=True)
class When:
    """The times of a schedule. Without `every` and `cron` it is due once, at `at`.

    `every` is in seconds and counts from `at`. `cron` needs a `zone`. Nothing is due after `until`. A time without an
    offset is one of the zone's clocks.
    """

    at: datetime | None = None
    every: int = 0
    cron: str = ""
    zone: str = ""
    until: datetime | None = None


def next_slot(when: When, after: datetime) -> datetime | None:
    """Return the first slot later than `after`, or None where there is none left."""
    slot = _next_slot(when, after)
    return None if slot is None or (when.until and slot > when.until) else slot


def _next_slot(when: When, after: datetime) -> datetime | None:
    assert when.at is not None
    if when.cron:
        return _next_of_cron(when.cron, ZoneInfo(when.zone), max(after, when.at - SECOND))
    if after < when.at:
        return when.at
    if not when.every:
        return None
    return when.at + ((after - when.at) // timedelta(seconds=when.every) + 1) * timedelta(seconds=when.every)


def _next_of_cron(line: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    for local in CronSim(line, after.astimezone(zone)):
        slot = local.astimezone(UTC)
        # A time of day is looked for on the wall, where the second pass of an hour still has its first one ahead.
        if slot > after:
            return slot
    return None


def plan(slot: datetime, now: datetime, *, skips: bool) -> tuple[bool, datetime]:
    """Return whether a due slot is sent, and the moment after which the next one is looked for.

    A slot that is on time is sent, and so is the next. One that was missed is sent for all that followed until now,
    or with `skips` none of the missed ones is.
    """
    if now - slot <= ON_TIME:
        return True, slot
    return (False, max(slot, now - ON_TIME - timedelta.resolution)) if skips else (True, now)


def upcoming(when: When, after: datetime, count: int) -> list[datetime]:
    """Return the next slots, at most so many."""
    slots: list[datetime] = []
    while len(slots) < count and (slot := next_slot(when, slots[-1] if slots else after)):
        slots.append(slot)
    return slots


def checked(when: When, now: datetime) -> When:
    """Return the times with every moment in UTC. Raises `EventRejected` naming the field that cannot be."""
    if when.every and when.cron:
        _refuse("cron", "Give an interval or a cron line, not both.")
    if not (when.at or when.every or when.cron):
        _refuse("at", "Say when: at a time, every so often, or by a cron line.")
    zone = _zone(when.zone) if when.zone else None
    if when.every:
        _check_interval(when.every)
    if when.cron:
        _check_cron(when.cron, zone)
    now = now.replace(microsecond=0)
    first = _moment("at", when.at, zone, now) if when.at else now + timedelta(seconds=when.every)
    until = _moment("until", when.until, zone, now) if when.until else None
    settled = replace(when, at=first, until=until, cron=" ".join(when.cron.split()))
    if next_slot(settled, now) is None:
        _refuse("until" if until else "cron" if when.cron else "at", "There is no such time to come.")
    return settled


def _refuse(field: str, message: str) -> NoReturn:
    raise EventRejected("invalid", "This schedule cannot be.", errors=(((field,), message),))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        _refuse("zone", f'There is no time zone "{name}". Write it as Europe/Berlin.')


def _check_interval(every: int) -> None:
    if not SHORTEST <= every <= FARTHEST.total_seconds():
        _refuse("every", f"An interval has at least {SHORTEST} seconds and at most {FARTHEST.days} days.")


def _check_cron(line: str, zone: ZoneInfo | None) -> None:
    if zone is None:
        _refuse("zone", "A cron line needs a time zone, such as Europe/Berlin.")
    try:
        if len(line) > LONGEST_CRON or len(line.split()) != CRON_FIELDS:
            raise CronSimError("Wrong number of fields")
        CronSim(line, datetime(2000, 1, 1, tzinfo=zone))
    except CronSimError as error:
        fields = "minute, hour, day of month, month, day of week"
        _refuse("cron", f"Write five fields, {fields}, such as 0 9 * * MON-FRI. {error}.")


def _moment(field: str, time: datetime, zone: ZoneInfo | None, now: datetime) -> datetime:
    """Return a time as a moment; one that a zone's clocks show twice is its first."""
    if time.tzinfo is None and zone is None:
        _refuse("zone", f"{time} is a time on which clocks? Name a zone, or give an offset.")
    local = time if time.tzinfo else time.replace(tzinfo=zone, fold=0)
    try:
        moment = local.astimezone(UTC)
        exists = time.tzinfo is not None or moment.astimezone(zone).replace(tzinfo=None) == time
    except OverflowError:
        _refuse(field, "This time is too far away.")
    if not exists:
        _refuse(field, f"Clocks in {zone} jump over {time}.")
    if not -FARTHEST < moment - now < FARTHEST:
        _refuse(field, "This time is too far away.")
    return moment.replace(microsecond=0)


def in_words(when: When) -> str:
    """Return the times as a phrase."""
    if when.cron:
        return f"{_cron_in_words(when.cron)} ({when.zone})"
    if when.every:
        size, unit = next((size, unit) for size, unit in UNITS if when.every % size == 0)
        count = when.every // size
        return f"Every {unit}" if count == 1 else f"Every {count} {unit}s"
    assert when.at is not None
    return f"Once at {local_time(when.at, when.zone)}"


def _cron_in_words(line: str) -> str:
    return CronSim(line, datetime(2000, 1, 1, tzinfo=UTC)).explain()


def local_time(moment: datetime, zone: str) -> str:
    """Return a moment as the clocks of a zone show it, those of UTC where there is none."""
    local = moment.astimezone(ZoneInfo(zone) if zone else UTC)
    return f"{local:%a %Y-%m-%d %H:%M:%S} {zone or 'UTC'}".replace(":00 ", " ")

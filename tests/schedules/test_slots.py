"""When a schedule is due, through a whole year of five zones and both days on which their clocks change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sessions_app.core.errors import EventRejected
from sessions_app.schedules import When, in_words, local_time, next_slot, upcoming
from sessions_app.schedules.slots import checked, plan

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)
YEAR = 365
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "UTC")
SHORT_DAYS = {
    "Europe/Berlin": date(2026, 3, 29),
    "America/New_York": date(2026, 3, 8),
    "Australia/Sydney": date(2026, 10, 4),
}
LONG_DAYS = {
    "Europe/Berlin": date(2026, 10, 25),
    "America/New_York": date(2026, 11, 1),
    "Australia/Sydney": date(2026, 4, 5),
}


def cron(line: str, zone: str) -> When:
    return checked(When(cron=line, zone=zone, at=START - timedelta(days=2)), START - timedelta(days=2))


def slots(when: When, start: datetime = START, end: datetime = END) -> Iterator[datetime]:
    """Yield the slots of a span of time, each found from the one before."""
    slot = next_slot(when, start - timedelta.resolution)
    while slot is not None and slot < end:
        yield slot
        slot = next_slot(when, slot)


def on_walls(when: When) -> list[datetime]:
    """Return the slots of the zone's year 2026 as its clocks show them."""
    zone = ZoneInfo(when.zone)
    first, last = (datetime(year, 1, 1, tzinfo=zone) for year in (2026, 2027))
    return [slot.astimezone(zone) for slot in slots(when, first, last)]


def clocks(text: str) -> datetime:
    """Return a time without an offset: one of a zone's clocks."""
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("zone", ZONES)
def test_noon_is_at_local_noon_once_a_day(zone: str) -> None:
    walls = on_walls(cron("0 12 * * *", zone))
    assert {wall.time() for wall in walls} == {time(12)}
    assert Counter(wall.date() for wall in walls) == Counter(date(2026, 1, 1) + timedelta(days=n) for n in range(YEAR))


@pytest.mark.parametrize("zone", ZONES)
def test_half_past_two_comes_once_on_every_day(zone: str) -> None:
    walls = on_walls(cron("30 2 * * *", zone))
    assert Counter(wall.date() for wall in walls) == Counter(date(2026, 1, 1) + timedelta(days=n) for n in range(YEAR))
    by_day = {wall.date(): wall for wall in walls}
    short, long = by_day.pop(SHORT_DAYS.get(zone, date.min), None), by_day.get(LONG_DAYS.get(zone, date.min))
    assert {(wall.time(), wall.fold) for wall in by_day.values()} == {(time(2, 30), 0)}
    if short and long:
        assert short.time() == time(3, 0)  # clocks jump from 2:00 to 3:00: the first moment after
        assert long.astimezone(UTC) == datetime.combine(long, time(2, 30), ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize("zone", ZONES)
def test_hourly_comes_every_real_hour(zone: str) -> None:
    found = list(slots(cron("0 * * * *", zone)))
    assert len(found) == YEAR * 24
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(hours=1)}
    hours = Counter(slot.astimezone(ZoneInfo(zone)).date() for slot in found)
    if zone in SHORT_DAYS:
        assert (hours[SHORT_DAYS[zone]], hours[LONG_DAYS[zone]]) == (23, 25)


@pytest.mark.parametrize("zone", ZONES)
def test_an_interval_counts_real_time(zone: str) -> None:
    when = checked(When(at=clocks("2026-01-01 02:30"), every=5400, zone=zone), START)
    found = list(slots(when))
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=90)}
    assert found[0].astimezone(ZoneInfo(zone)).time().minute == 30


@pytest.mark.parametrize(
    ("line", "day", "expected"),
    [
        ("0,30 2 * * *", date(2026, 3, 29), ["03:00"]),  # both fall into the jump: one moment is one slot
        ("30 2,3 * * *", date(2026, 3, 29), ["03:00", "03:30"]),
        ("15 1-3 * * *", date(2026, 10, 25), ["01:15", "02:15", "03:15"]),
        ("*/30 2 * * *", date(2026, 10, 25), ["02:00", "02:30", "02:00", "02:30"]),  # a pattern: both passes
        ("*/30 2 * * *", date(2026, 3, 29), []),
        ("0 */2 * * *", date(2026, 3, 29), ["00:00", "04:00", "06:00"]),
    ],
)
def test_the_rule_at_its_edges(line: str, day: date, expected: list[str]) -> None:
    zone = ZoneInfo("Europe/Berlin")
    midnight = datetime.combine(day, time(), zone)
    found = slots(cron(line, zone.key), midnight, midnight.replace(hour=7))
    assert [f"{slot.astimezone(zone):%H:%M}" for slot in found] == expected


def test_a_one_off_comes_once() -> None:
    when = checked(When(at=START + timedelta(hours=1)), START)
    assert list(slots(when)) == [when.at]


def test_nothing_comes_after_the_end() -> None:
    when = checked(When(every=3600, until=START + timedelta(hours=3)), START)
    assert upcoming(when, START, 9) == [START + timedelta(hours=n) for n in (1, 2, 3)]


def test_nothing_comes_before_the_start() -> None:
    at = datetime(2026, 2, 1, 9, tzinfo=UTC)
    when = checked(When(cron="0 9 * * *", zone="UTC", at=at), START)
    assert next_slot(when, START) == at
    assert next_slot(checked(When(every=60, at=at), START), START) == at


@pytest.mark.parametrize(
    ("when", "field"),
    [
        (When(), "at"),
        (When(every=60, cron="* * * * *"), "cron"),
        (When(every=59), "every"),
        (When(every=-60), "every"),
        (When(every=10**10), "every"),
        (When(cron="* * * * *"), "zone"),
        (When(cron="* * * * *", zone="Mars/Base"), "zone"),
        (When(cron="* * * * *", zone="../../etc/passwd"), "zone"),
        (When(cron="* * * * *", zone="Europe"), "zone"),
        (When(cron="61 * * * *", zone="UTC"), "cron"),
        (When(cron="* * * *", zone="UTC"), "cron"),
        (When(cron="* * * * * *", zone="UTC"), "cron"),  # seconds
        (When(cron="@daily", zone="UTC"), "cron"),
        (When(cron="0 0 31 2 *", zone="UTC"), "cron"),
        (When(cron="0 0 * * *" + ",1" * 99, zone="UTC"), "cron"),
        (When(at=START), "at"),
        (When(at=START - timedelta(days=1)), "at"),
        (When(at=clocks("2026-03-01 09:00")), "zone"),  # on which clocks?
        (When(at=clocks("2026-03-29 02:30"), zone="Europe/Berlin"), "at"),  # clocks jump over it
        (When(at=datetime.max.replace(tzinfo=UTC)), "at"),
        (When(at=clocks("9999-12-31 23:59"), zone="America/New_York"), "at"),
        (When(at=clocks("0001-01-01 00:00"), every=60, zone="Asia/Tokyo"), "at"),
        (When(every=3600, until=START), "until"),
    ],
)
def test_what_cannot_be_is_refused_by_field(when: When, field: str) -> None:
    with pytest.raises(EventRejected) as refused:
        checked(when, START)
    assert refused.value.code == "invalid"
    assert [path for path, _ in refused.value.errors] == [(field,)]


def test_a_time_that_clocks_show_twice_is_the_first() -> None:
    when = checked(When(at=clocks("2026-10-25 02:30"), zone="Europe/Berlin"), START)
    assert when.at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (When(cron="0  9 * * MON-FRI", zone="Europe/Berlin"), "At 09:00 on Monday through Friday (Europe/Berlin)"),
        (When(every=5400), "Every 90 minutes"),
        (When(every=3600), "Every hour"),
        (When(every=172_800), "Every 2 days"),
        (When(every=61), "Every 61 seconds"),
        (When(at=clocks("2026-03-29 03:05"), zone="Europe/Berlin"), "Once at Sun 2026-03-29 03:05 Europe/Berlin"),
        (When(at=datetime(2026, 3, 29, 3, 5, 7, tzinfo=UTC)), "Once at Sun 2026-03-29 03:05:07 UTC"),
    ],
)
def test_in_words(when: When, words: str) -> None:
    assert in_words(checked(when, START)) == words


def test_local_time_names_its_zone() -> None:
    assert local_time(START, "Asia/Kolkata") == "Thu 2026-01-01 05:30 Asia/Kolkata"


@pytest.mark.parametrize(
    ("late", "skips", "expected"),
    [
        (timedelta(0), True, (True, START)),
        (timedelta(minutes=1), True, (True, START)),
        (timedelta(minutes=1, microseconds=1), False, (True, START + timedelta(minutes=1, microseconds=1))),
        (timedelta(minutes=1, microseconds=1), True, (False, START)),
        (timedelta(hours=5), False, (True, START + timedelta(hours=5))),
        (timedelta(hours=5), True, (False, START + timedelta(hours=5, minutes=-1, microseconds=-1))),
    ],
)
def test_what_becomes_of_a_slot(late: timedelta, skips: bool, expected: Any) -> None:
    assert plan(START, START + late, skips=skips) == expected

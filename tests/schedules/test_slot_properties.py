"""Whenever dispatchers come: slots rise, none is sent twice, and none is lost but as the policy says."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app.core.errors import EventRejected
from sessions_app.schedules import When, in_words, next_slot, upcoming
from sessions_app.schedules.slots import ON_TIME, checked, plan
from tests.strategies import unhurried, wild_texts

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Sydney",
    "Asia/Kolkata",
    "UTC",
    "Africa/Cairo",
    "Pacific/Chatham",
)
LINES = (
    "* * * * *",
    "0 * * * *",
    "*/7 1-3 * * *",
    "0,30 2 * * *",
    "30 2 * * *",
    "15 1-3 * * *",
    "5 */2 * * *",
    "0 0 * * *",
)
CHANGES = [
    datetime.fromisoformat(f"2026-{text}:00+00:00")
    for text in ("03-29T00", "10-25T00", "03-08T06", "11-01T05", "04-04T15", "10-03T15", "04-23T21", "01-01T00")
]
"""Hours in which clocks change in one of the zones, and one in which none do."""
starts = st.builds(
    lambda change, minutes: change + timedelta(minutes=minutes), st.sampled_from(CHANGES), st.integers(-180, 180)
)
crons = st.builds(lambda line, zone: When(cron=line, zone=zone), st.sampled_from(LINES), st.sampled_from(ZONES))
intervals = st.builds(lambda every: When(every=every), st.integers(60, 9000))


def gaps(longest: int) -> st.SearchStrategy[list[timedelta]]:
    """Times between two looks of any dispatcher."""
    return st.lists(
        st.integers(1, longest * 1000).map(lambda count: timedelta(milliseconds=count)), min_size=1, max_size=25
    )


def simulate(when: When, start: datetime, looks: list[datetime], *, skips: bool) -> dict[datetime, datetime]:
    """Return the slots that are sent, in order, with the look at which each was."""
    sent: dict[datetime, datetime] = {}
    slot = next_slot(when, start)
    for now in looks:
        while slot is not None and slot <= now:
            sends, after = plan(slot, now, skips=skips)
            if sends:
                assert slot not in sent
                sent[slot] = now
            following = next_slot(when, after)
            assert following is None or following > slot
            slot = following
    return sent


def all_slots(when: When, start: datetime, end: datetime) -> list[datetime]:
    slots: list[datetime] = []
    while (slot := next_slot(when, slots[-1] if slots else start)) and slot <= end:
        slots.append(slot)
    return slots


@unhurried
@given(crons | intervals, starts, gaps(60), st.booleans())
def test_while_somebody_looks_every_minute_each_slot_is_sent(
    when: When, start: datetime, pauses: list[timedelta], skips: bool
) -> None:
    when = checked(when, start)
    looks = list(accumulate(pauses, initial=start))
    assert list(simulate(when, start, looks, skips=skips)) == all_slots(when, start, looks[-1])


@unhurried
@given(crons | intervals, starts, gaps(5000))
def test_skip_sends_just_those_that_somebody_saw_within_a_minute(
    when: When, start: datetime, pauses: list[timedelta]
) -> None:
    when = checked(when, start)
    looks = list(accumulate(pauses, initial=start))
    seen = [
        slot
        for slot in all_slots(when, start, looks[-1])
        if any(timedelta(0) <= look - slot <= ON_TIME for look in looks)
    ]
    assert list(simulate(when, start, looks, skips=True)) == seen


@unhurried
@given(crons | intervals, starts, gaps(5000))
def test_run_once_sends_one_for_all_that_were_missed_together(
    when: When, start: datetime, pauses: list[timedelta]
) -> None:
    when = checked(when, start)
    looks = list(accumulate(pauses, initial=start))
    sent = simulate(when, start, looks, skips=False)
    assert list(sent) == sorted(sent)
    standing_in = [(slot, look) for slot, look in sent.items() if look - slot > ON_TIME]
    for slot in all_slots(when, start, looks[-1]):
        assert (slot in sent) != any(first < slot <= look for first, look in standing_in)


@unhurried
@given(crons | intervals, starts, st.lists(st.integers(0, 10**6), max_size=20))
def test_the_next_slot_does_not_depend_on_who_asked_before(when: When, start: datetime, seconds: list[int]) -> None:
    when = checked(when, start)
    slots = upcoming(when, start, 200)
    assert slots == sorted(set(slots))
    assert all(slot.utcoffset() == timedelta(0) and slot.microsecond == 0 for slot in slots)
    for count in seconds:
        moment = start + timedelta(seconds=count % max(1, int((slots[-1] - start).total_seconds())))
        assert next_slot(when, moment) == next(slot for slot in slots if slot > moment)


fields = st.text("0123456789*,-/#LWMONFRIJAN ", max_size=12) | st.sampled_from(["*", "0", "5L", "LW", "1#5", "*/90"])
lines = st.lists(fields, min_size=5, max_size=5).map(" ".join) | wild_texts()
moments = st.datetimes() | st.datetimes(timezones=st.timezones())


@unhurried
@given(
    st.builds(
        When,
        at=st.none() | moments,
        every=st.just(0) | st.integers(),
        cron=st.just("") | lines,
        zone=st.sampled_from(ZONES) | wild_texts(),
        until=st.none() | moments,
    )
)
@example(When(cron="0 0 29 2 1#5", zone="UTC"))
def test_whatever_is_asked_for_gets_slots_or_a_refusal(when: When) -> None:
    now: Any = CHANGES[0]
    try:
        settled = checked(when, now)
    except EventRejected:
        return
    assert in_words(settled)
    slots = upcoming(settled, now, 3)
    assert slots == sorted(set(slots))
    assert slots[0] > now


@pytest.mark.parametrize("zone", ZONES)
def test_names_of_zones_are_known_here(zone: str) -> None:
    assert checked(When(cron="0 9 * * *", zone=zone), CHANGES[0]).zone == zone

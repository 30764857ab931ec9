"""Making a schedule: what is stored, and what is refused before anything is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sessions_app import schedules
from sessions_app.core.errors import EventRejected
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.schedules import Target, When
from tests.schedules.conftest import AGENT, MESSAGE, NOTED, Clock

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

DAILY = When(cron="0 9 * * *", zone="Europe/Berlin")


def test_a_schedule_knows_when_it_is_due_first(diary: StoredSession, clock: Clock) -> None:
    row = schedules.schedule(Target.of(diary), DAILY, NOTED, {"text": "tea"}, name="  Morning \x00 tea ", missed="skip")
    row.refresh_from_db()
    assert row.next_at == row.due_at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert (row.name, row.owner, row.session, row.agent) == ("Morning \ufffd tea", diary.owner, diary, "")
    assert (row.payload, row.missed, row.status, row.created_at) == ('{"text":"tea"}', "skip", "active", clock.now)
    assert schedules.when_of(row) == When(clock.now, 0, "0 9 * * *", "Europe/Berlin")


def test_a_new_session_each_time_needs_no_event(user: Any, clock: Clock) -> None:
    row = schedules.schedule(Target(user, agent=AGENT, args={"about": "tea"}), When(every=60))
    assert (row.session, row.agent, row.args, row.event_type) == (None, AGENT, '{"about":"tea"}', "")
    assert StoredSession.objects.count() == 0


def test_a_message_to_a_new_session(user: Any, clock: Clock) -> None:
    target = Target(user, agent=AGENT, args={"about": "tea"})
    row = schedules.schedule(target, DAILY, MESSAGE, {"text": "Which one today?"})
    assert row.event_type == MESSAGE


@pytest.mark.parametrize(
    ("type", "payload", "code", "fields"),
    [
        (NOTED, {"count": 0}, "invalid", [("payload", "count")]),
        (
            NOTED,
            {"count": 0, "text": 7, "mood": "good"},
            "invalid",
            [("payload", n) for n in ("text", "count", "mood")],
        ),
        (NOTED, {"text": float("nan")}, "invalid", [("payload", "text")]),
        (NOTED, {"text": "x" * 70_000}, "too_large", []),
        (MESSAGE, {"text": ""}, "invalid", [("payload", "text")]),
        (MESSAGE, {"text": " \n\u200b"}, "invalid", [("payload", "text")]),
        ("s-whispered", {}, "forbidden", []),
        ("s-unheard-of", {}, "invalid", []),
        ("@platform/effect-ended", {"effect_id": "1_0", "outcome": "done"}, "forbidden", []),
        ("@platform/skip", {}, "forbidden", []),  # goes to an item
        ("", {}, "invalid", [("event_type",)]),
    ],
)
def test_an_event_the_session_would_refuse(
    diary: StoredSession, type: str, payload: dict[str, Any], code: str, fields: list[tuple[str, ...]]
) -> None:
    with pytest.raises(EventRejected) as refused:
        schedules.schedule(Target.of(diary), DAILY, type, payload)
    assert refused.value.code == code
    assert sorted(path for path, _ in refused.value.errors) == sorted(fields)
    assert not StoredSchedule.objects.exists()


@pytest.mark.parametrize(
    ("agent", "args", "code", "fields"),
    [
        (AGENT, {}, "invalid", [("args", "about")]),
        (AGENT, {"about": "", "mood": "good"}, "invalid", [("args", "about"), ("args", "mood")]),
        ("s-nobody", {}, "not_found", []),
    ],
)
def test_a_session_the_agent_would_refuse(
    user: Any, agent: str, args: dict[str, Any], code: str, fields: list[tuple[str, ...]]
) -> None:
    with pytest.raises(EventRejected) as refused:
        schedules.schedule(Target(user, agent=agent, args=args), DAILY, NOTED)
    assert (refused.value.code, [path for path, _ in refused.value.errors]) == (code, fields)
    assert not StoredSchedule.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "x" * 101}, "name"),
        ({"missed": "sometimes"}, "missed"),
        ({"when": When(every=1)}, "every"),
        ({"when": When(at=datetime.now(UTC) - timedelta(seconds=5))}, "at"),
    ],
)
def test_the_rest_is_checked_too(diary: StoredSession, wrong: dict[str, Any], field: str) -> None:
    options = {"when": DAILY, "event_type": NOTED, **wrong}
    with pytest.raises(EventRejected) as refused:
        schedules.schedule(Target.of(diary), **options)
    assert [path for path, _ in refused.value.errors] == [(field,)]


def test_a_payload_without_an_event_is_a_mistake(user: Any) -> None:
    target = Target(user, agent=AGENT, args={"about": "tea"})
    with pytest.raises(EventRejected, match="Name an event"):
        schedules.schedule(target, DAILY, payload={"text": "tea"})

"""A digest every morning: a schedule sends the event, and the model writes about the notes that can be seen."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command

from sessions_app import engine, schedules
from sessions_app.core.events import Sender
from sessions_app.core.platform import AssistantMessage
from sessions_app.models import StoredEvent, StoredItem, StoredSchedule, StoredSession
from tests.engine.conftest import Pump
from tests.schedules.conftest import set_due
from tools_app.agents import ResearchAgent
from tools_app.tools.notes import DigestDue, DigestRequest

pytestmark = pytest.mark.database


def say(session: StoredSession, user: Any, text: str) -> None:
    sender = Sender("person", str(user.pk), user.username)
    engine.dispatch_event(session, "@platform/user-message", {"text": text}, sender=sender)


def last_answer(session: StoredSession) -> str:
    row = StoredItem.objects.filter(session=session, type=AssistantMessage.type_name()).latest("pk")
    return str(json.loads(row.data)["text"])


def test_a_daily_digest_of_the_notes_that_can_be_seen(user: Any, pump: Pump, capsys: Any) -> None:
    session = engine.create_session(ResearchAgent.name, {}, user=user)
    for text in ("Note: Bees dance", "Note: Hives face south", "Hide the last note"):
        say(session, user, text)
        pump()
    daily = {"cron": "30 7 * * *", "zone": "Europe/Berlin", "name": "Morning digest"}
    call_command("schedule_event", DigestDue.type_name(), session=session.key.hex, **daily)
    assert "Morning digest" in capsys.readouterr().out
    row = StoredSchedule.objects.get()
    assert row.next_at.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M") == "07:30"
    assert schedules.dispatch_due() == []

    set_due(row)
    (run,) = schedules.dispatch_due()
    assert run.outcome == "applied"
    pump()
    assert last_answer(session) == "Digest of 1 note:\n\n- Bees dance"
    sent = StoredEvent.objects.get(session=session, type=DigestDue.type_name())
    assert (sent.sender_kind, sent.sender_name) == ("schedule", "Morning digest")
    assert StoredItem.objects.filter(session=session, type=DigestRequest.type_name()).count() == 1

    assert schedules.dispatch_due() == []
    row.refresh_from_db()
    assert datetime.now(UTC) < row.next_at <= datetime.now(UTC) + timedelta(hours=25)  # a day on which clocks change
    assert row.next_at.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M") == "07:30"

"""Schedules in the admin: next and last runs to look at, three actions, nothing else to change."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app import schedules
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.schedules import Target, When
from tests.schedules.conftest import AGENT, NOTED, set_due

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

LIST = "admin:sessions_app_storedschedule_changelist"
HOSTILE = "<script>alert(1)</script>"
DAILY = When(cron="0 9 * * MON-FRI", zone="Europe/Berlin")


@pytest.fixture
def operator(client: Client, user: Any) -> Client:
    client.force_login(get_user_model().objects.create_superuser("operator"))
    return client


def act(client: Client, action: str, *rows: StoredSchedule) -> str:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    return client.post(reverse(LIST), data, follow=True).content.decode()


def test_the_list_shows_next_and_last_runs(operator: Client, diary: StoredSession, user: Any) -> None:
    row = schedules.schedule(Target.of(diary), DAILY, NOTED, name=HOSTILE)
    schedules.schedule(Target(user, agent=AGENT, args={"about": HOSTILE}), When(every=5400))
    slot = set_due(row)
    schedules.dispatch_due()
    row.refresh_from_db()
    assert row.next_at
    page = operator.get(reverse(LIST)).content.decode()
    for words in (
        "At 09:00 on Monday through Friday (Europe/Berlin)",
        schedules.local_time(row.next_at, "Europe/Berlin"),
        schedules.local_time(slot, "Europe/Berlin"),
        "applied",
        diary.key.hex[:8],
        "Every 90 minutes",
        f"new session of {AGENT}",
    ):
        assert words in page
    assert HOSTILE not in page


def test_the_list_costs_the_same_whatever_it_shows(operator: Client, diary: StoredSession) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert operator.get(reverse(LIST)).status_code == 200
        return len(captured)

    schedules.schedule(Target.of(diary), DAILY, NOTED)
    few = queries()
    for _ in range(20):
        schedules.schedule(Target.of(diary), DAILY, NOTED)
    assert queries() == few


def test_a_page_shows_all_and_offers_no_field(operator: Client, diary: StoredSession, user: Any) -> None:
    rows = [
        schedules.schedule(Target.of(diary), DAILY, NOTED, {"text": HOSTILE}),
        schedules.schedule(Target(user, agent=AGENT, args={"about": HOSTILE}), When(every=60), NOTED),
    ]
    set_due(*rows)
    schedules.dispatch_due()
    for row in rows:
        address = reverse("admin:sessions_app_storedschedule_change", args=[row.pk])
        page = operator.get(address).content.decode()
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(1)" in page
        assert 'name="_save"' not in page
        assert operator.post(address, {"name": "mine"}).status_code == 403


def test_what_became_of_a_session_that_is_gone(operator: Client, diary: StoredSession) -> None:
    row = schedules.schedule(Target.of(diary), DAILY, NOTED)
    diary.delete()
    set_due(row)
    schedules.dispatch_due()
    assert "Its session was deleted." in operator.get(reverse(LIST)).content.decode()
    address = reverse("admin:sessions_app_storedschedule_change", args=[row.pk])
    assert operator.get(address).status_code == 200


def test_trouble_is_shown_beside_the_next_run(operator: Client, diary: StoredSession) -> None:
    row = schedules.schedule(Target.of(diary), DAILY, NOTED)
    StoredSchedule.objects.filter(pk=row.pk).update(trouble="There is no agent here.")
    assert "There is no agent here." in operator.get(reverse(LIST)).content.decode()


def test_actions(operator: Client, diary: StoredSession) -> None:
    one, two = (schedules.schedule(Target.of(diary), DAILY, NOTED) for _ in range(2))
    assert "2 schedules were changed." in act(operator, "pause", one, two)
    assert "1 schedule was changed." in act(operator, "resume", one)
    page = act(operator, "cancel", one, two)
    assert "2 schedules were changed." in page
    page = act(operator, "resume", one)
    assert f"Schedule {one.pk} is cancelled, so there is nothing to do." in page
    assert set(StoredSchedule.objects.values_list("status", flat=True)) == {"cancelled"}


def test_who_may_only_look_can_only_look(client: Client, diary: StoredSession) -> None:
    row = schedules.schedule(Target.of(diary), DAILY, NOTED)
    viewer = get_user_model().objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_storedschedule"))
    client.force_login(viewer)
    assert client.get(reverse(LIST)).status_code == 200
    act(client, "pause", row)
    row.refresh_from_db()
    assert row.status == "active"

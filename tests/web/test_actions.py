"""What a page offers to do in a session, and what it shows of work that belongs to no item."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredSession
from tests.engine.conftest import Pump
from tools_app.agents import PatientAgent, SchedulingAgent
from tools_app.services import configure_services
from tools_app.services.pace import DEFAULT_DELAY

pytestmark = pytest.mark.database

FORM = re.compile(r'<form class="ask[^"]*" id="(do-meeting-confirmed[^"]*)".*?</form>', re.DOTALL)


@pytest.fixture(autouse=True)
def services_answer_at_once() -> Iterator[None]:
    configure_services(delay=0)
    yield
    configure_services(delay=DEFAULT_DELAY)


@pytest.fixture
def meeting(user: Any) -> StoredSession:
    return engine.create_session(SchedulingAgent.name, {}, user=user)


def html_of(page: Client, session: StoredSession) -> str:
    return page.get(reverse("session", args=[session.key.hex])).content.decode()


def form_of(html: str) -> tuple[str, str]:
    """Return the id and the text of the form that confirms a meeting."""
    found = FORM.search(html)
    assert found is not None
    return found[1], found[0]


def say(session: StoredSession, ann: Sender, text: str) -> None:
    engine.dispatch_event(session, "@platform/user-message", {"text": text}, sender=ann)


def test_an_actions_form_begins_with_what_the_state_holds(
    page: Client, meeting: StoredSession, ann: Sender, pump: Pump
) -> None:
    assert FORM.search(html_of(page, meeting)) is None
    say(meeting, ann, "Plan a review")
    pump()
    first, text = form_of(html_of(page, meeting))
    assert 'value="Review"' in text
    assert re.search(r'type="datetime-local" value="\d{4}-\d\d-\d\dT\d\d:00:00"', text)
    say(meeting, ann, "Another day")
    pump()
    second, _ = form_of(html_of(page, meeting))
    # A page leaves a form alone that it has, so other values need another form.
    assert first != second


def test_an_actions_form_with_an_error_comes_back_where_it_was(
    page: Client, meeting: StoredSession, ann: Sender, pump: Pump
) -> None:
    say(meeting, ann, "Plan a review")
    pump()
    form_id, _ = form_of(html_of(page, meeting))
    data = {"_type": "meeting-confirmed", "_key": "k", "title": " ", "start_time": "2030-01-08T10:00"}
    address = reverse("session-events", args=[meeting.key.hex])
    response = page.post(address, data, headers={"HX-Request": "true"})
    assert response.status_code == 422
    assert response["HX-Retarget"] == f"[id='{form_id}']"
    assert form_of(response.content.decode())[0] == form_id
    assert 'value="2030-01-08T10:00"' in response.content.decode()
    without_script = page.post(address, data)
    assert form_of(without_script.content.decode())[0] == form_id
    assert "Write something first." in without_script.content.decode()


def test_work_of_the_session_itself_is_shown_while_it_lasts(
    page: Client, meeting: StoredSession, ann: Sender, pump: Pump
) -> None:
    payload = {"title": "Review", "start_time": "2030-01-08T10:00:00"}
    engine.dispatch_event(meeting, "meeting-confirmed", payload, sender=ann)
    html = html_of(page, meeting)
    assert "Sending the invitation…" in html
    assert FORM.search(html) is None
    StoredEffect.objects.update(attempt=1, message="CalendarDown: The calendar did not answer.")
    html = html_of(page, meeting)
    assert "The calendar did not answer. Try 2 of 2" in html
    assert "CalendarDown" not in html
    StoredEffect.objects.update(attempt=0)
    pump()
    html = html_of(page, meeting)
    assert "Sending the invitation…" not in html
    assert "Invitation sent" in html
    assert "Tue 8 Jan 2030, 10:00" in html


def test_examples_are_offered_until_somebody_speaks(page: Client, user: Any, ann: Sender, pump: Pump) -> None:
    session = engine.create_session(PatientAgent.name, {"patient_id": "P1001"}, user=user)
    pump()
    html = html_of(page, session)
    assert "Patient record" in html
    assert "What am I allergic to?" in html
    say(session, ann, "Hello")
    assert "What am I allergic to?" not in html_of(page, session)


def test_a_choice_that_is_made_already_is_not_called_optional(page: Client) -> None:
    html = page.get(reverse("agent", args=[PatientAgent.name])).content.decode()
    assert 'value="P1001" checked' in html
    assert "optional" not in html

"""The pages: who sees them, what they show, and that what they ask of the database does not grow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse

from sessions_app import engine, reading
from sessions_app.core.events import Sender
from sessions_app.models import StoredItem, StoredSession
from tests.engine.conftest import Pump
from tests.engine.stage import calls, gate
from tests.web.agents import ShowAgent

QUERIES_OF_A_PAGE = 16
"""With the two that find out who is asking."""


def addresses(session: StoredSession) -> list[tuple[str, str]]:
    """Return every address of a session, with the method it takes."""
    key = [session.key.hex]
    return [
        ("get", reverse("session", args=key)),
        ("get", reverse("session-live", args=key)),
        ("get", reverse("session-earlier", args=key)),
        ("post", reverse("session-events", args=key)),
    ]


def everything(session: StoredSession) -> list[tuple[str, str]]:
    return [
        ("get", reverse("catalogue")),
        ("get", reverse("agent", args=[ShowAgent.name])),
        ("post", reverse("agent", args=[ShowAgent.name])),
        ("get", reverse("sessions")),
        ("post", reverse("appearance")),
        *addresses(session),
    ]


def test_nobody_sees_anything_before_signing_in(session: StoredSession) -> None:
    for method, address in everything(session):
        response = getattr(Client(), method)(address)
        assert response.status_code == 302, address
        assert response.url.startswith(reverse(django_settings.LOGIN_URL))


def test_a_foreign_session_is_not_there(session: StoredSession, other: Any) -> None:
    stranger = Client()
    stranger.force_login(other)
    for method, address in addresses(session):
        assert getattr(stranger, method)(address).status_code == 404, address
    assert session.key.hex not in stranger.get(reverse("sessions")).content.decode()


@pytest.mark.parametrize("key", ["nonsense", "0" * 32, "0" * 33, "ü", "%00"])
def test_an_unknown_session_is_not_there(page: Client, key: str) -> None:
    response = page.get(f"/s/{key}/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()


def test_the_catalogue_offers_the_agents(page: Client, session: StoredSession) -> None:
    html = page.get(reverse("catalogue")).content.decode()
    assert "Shows everything a page can show." in html
    assert "1 session<" in html


def test_a_session_starts_from_its_form(page: Client) -> None:
    address = reverse("agent", args=[ShowAgent.name])
    form = page.get(address).content.decode()
    assert 'maxlength="40"' in form
    assert "Where to. For example Tokyo." in form
    data = {"_key": "k1", "city": "Oslo", "nights": "3", "cabin": "business", "tags": "", "tags.0": "fjord"}
    response = page.post(address, data)
    assert response.status_code == 303
    assert page.post(address, data).url == response.url
    assert StoredSession.objects.count() == 1
    assert page.get(response.url).status_code == 200


def test_a_wrong_start_form_keeps_what_was_typed(page: Client) -> None:
    response = page.post(reverse("agent", args=[ShowAgent.name]), {"_key": "k", "city": "x", "nights": "99"})
    html = response.content.decode()
    assert response.status_code == 422
    assert "Must be 30 or less." in html
    assert 'value="99"' in html
    assert 'href="#start-nights"' in html
    assert 'name="_key" value="k"' in html
    assert not StoredSession.objects.exists()


def test_rows_are_added_to_the_start_form_without_script(page: Client) -> None:
    response = page.post(reverse("agent", args=[ShowAgent.name]), {"city": "Oslo", "tags.0": "a", "_add": "tags"})
    html = response.content.decode()
    assert response.status_code == 200
    assert 'name="tags.1"' in html
    assert 'value="Oslo"' in html
    assert not StoredSession.objects.exists()


def test_an_empty_session_offers_three_examples(page: Client, session: StoredSession) -> None:
    html = show(page, session)
    assert html.count('class="example"') == 3
    assert "1.2" not in html
    assert " event</span>" not in html
    assert "test model" in html


def show(page: Client, session: StoredSession) -> str:
    return page.get(reverse("session", args=[session.key.hex])).content.decode()


def test_a_page_shows_every_kind_of_item(
    page: Client, session: StoredSession, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    wanted = [
        ("decide", {"question": "Go?"}),
        ("ask_guest", {}),
        ("fetch_parcel", {"name": "Soap"}),
        ("crash", {}),
        ("fly", {}),
    ]
    script(calls(*wanted))
    talk("Do <everything>")
    pump.until(lambda: gate.begun["Soap"] and StoredItem.objects.filter(type="@platform/tool-error").count() == 2)
    html = show(page, session)
    assert "Do &lt;everything&gt;" in html
    assert "<title>(2) Needs you – Do &lt;everything&gt;</title>" in html
    for text in ("Go?", "Who is coming?", "Fetching Soap…", "Approve", "Decline", "There is no tool &quot;fly&quot;"):
        assert text in html, text
    assert "<b>no</b>" not in html
    assert html.count('data-state="asking"') == 2
    assert html.count('data-state="failed"') == 2
    gate.opened.set()
    pump()
    assert "Parcel" in show(page, session)


def test_nothing_on_the_pages_needs_inline_script_or_style(
    page: Client, session: StoredSession, talk: Callable[[str], Any], pump: Pump
) -> None:
    talk("Hello")
    pump()
    for address in (
        reverse("catalogue"),
        reverse("sessions"),
        reverse("agent", args=[ShowAgent.name]),
        "/accounts/login/",
    ):
        check_policy(page.get(address))
    check_policy(page.get(reverse("session", args=[session.key.hex])))


def check_policy(response: Any) -> None:
    html = response.content.decode()
    assert "script-src 'self'" in response["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert not re.search(r'(src|href)="(https?:)?//', html)
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_a_page_asks_the_database_the_same_however_long_it_is(
    page: Client, session: StoredSession, ann: Sender, django_assert_max_num_queries: Any, pump: Pump
) -> None:
    for number in range(3):
        engine.dispatch_event(session, "@platform/user-message", {"text": f"Message {number}"}, sender=ann)
        pump()
    with django_assert_max_num_queries(QUERIES_OF_A_PAGE) as few:
        show(page, session)
    for number in range(20):
        engine.dispatch_event(session, "@platform/user-message", {"text": f"Message {number}"}, sender=ann)
        pump()
    with django_assert_max_num_queries(QUERIES_OF_A_PAGE) as many:
        show(page, session)
    assert len(many) == len(few)


def test_a_long_session_shows_its_end_and_the_way_to_its_beginning(
    page: Client, session: StoredSession, ann: Sender
) -> None:
    for number in range(150):
        engine.dispatch_event(session, "w-dropped", {"name": f"Parcel-{number}."}, sender=ann)
    html = show(page, session)
    assert html.count("<article") == reading.WINDOW
    assert "Show earlier (50)" in html
    assert "Parcel-50." in html
    assert "Parcel-49." not in html
    before = re.search(r"/earlier/\?before=([0-9_]+)", html)
    assert before
    earlier = page.get(reverse("session-earlier", args=[session.key.hex]), {"before": before[1]}).content.decode()
    assert earlier.count("<article") == 50
    assert "Parcel-0." in earlier
    assert "Show earlier" not in earlier
    whole = page.get(reverse("session", args=[session.key.hex]), {"show": "200"}).content.decode()
    assert whole.count("<article") == 150


@pytest.mark.parametrize("query", ["?show=-1", "?show=999999999999", "?show=x", "?show=%00", "?show="])
def test_a_strange_number_shows_the_usual_page(page: Client, session: StoredSession, query: str) -> None:
    assert page.get(reverse("session", args=[session.key.hex]) + query).status_code == 200


@pytest.mark.parametrize("query", ["since=x", "since=-1", "since=99999999999999999999", "since=", "since=0", "since=7"])
def test_a_strange_event_number_gives_a_frame(page: Client, session: StoredSession, query: str) -> None:
    response = page.get(f"{reverse('session-live', args=[session.key.hex])}?{query}")
    assert response.status_code == 200
    assert response["X-Agentsite-Seq"] == "1"


def test_the_list_shows_what_needs_a_person_first(
    page: Client, session: StoredSession, user: Any, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(calls(("decide", {"question": "Go?"})))
    talk("Trip to Tokyo")
    pump()
    engine.create_session(ShowAgent.name, {"city": "Oslo"}, user=user)
    html = page.get(reverse("sessions")).content.decode()
    assert "(1) Needs you – Sessions" in html
    assert html.index("Trip to Tokyo") < html.index("Ready")
    assert "Go?" in html
    assert "No sessions of this agent" in page.get(reverse("sessions"), {"agent": "nobody"}).content.decode()


def test_a_session_whose_agent_is_gone_can_still_be_read(
    page: Client, session: StoredSession, talk: Callable[[str], Any], pump: Pump
) -> None:
    talk("Hello")
    pump()
    StoredSession.objects.update(agent="gone")
    html = show(page, session)
    assert "Hello" in html
    assert "This agent is not installed here any more" in html
    assert page.get(reverse("sessions")).status_code == 200


def test_the_appearance_is_remembered(page: Client) -> None:
    response = page.post(reverse("appearance"), {"theme": "dark", "next": "/sessions/"})
    assert response.status_code == 303
    assert response.url == "/sessions/"
    assert 'data-theme="dark"' in page.get("/").content.decode()
    assert page.post(reverse("appearance"), {"theme": "x", "next": "https://evil.example/"}).url == "/"


def test_sign_in_offers_the_demo_user_only_in_development(settings: Any) -> None:
    assert "demo user" not in Client().get("/accounts/login/").content.decode()
    settings.DEBUG = True
    assert "demo user" not in Client().get("/accounts/login/").content.decode(), "there is no such address here"

"""The admin: everything can be looked at, nothing changed, and nothing that is shown can run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app.admin.base import key_bounds
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession, StoredState
from tests.admin.conftest import HOSTILE, MODELS, Stored, build

pytestmark = [pytest.mark.database, pytest.mark.django_db]

LISTED = ("session", "event", "item", "effect")


def list_url(model: str, **query: Any) -> str:
    return reverse(f"admin:sessions_app_stored{model}_changelist", query=query)


def page_url(stored: Stored, model: str) -> str:
    return reverse(f"admin:sessions_app_stored{model}_change", args=[getattr(stored, model).pk])


class Tags(HTMLParser):
    """Collects what a browser would run, load or submit."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.handlers: list[tuple[str, str]] = []
        self.images: list[str] = []
        self.styles = 0
        self.inputs: list[str] = []
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.handlers += [(tag, name) for name in names if name.startswith("on")]
        self.styles += tag == "style" or "style" in names
        self._in_script = tag == "script"
        if tag == "script" and "src" not in names:
            self.scripts.append("")
        if tag == "img":
            self.images.append(names.get("src") or "")
        if tag in ("input", "textarea", "select"):
            self.inputs.append(names.get("name") or "")

    def handle_data(self, data: str) -> None:
        if self._in_script and self.scripts:
            self.scripts[-1] += data


def assert_harmless(html: str) -> None:
    tags = Tags(html)
    assert [text for text in tags.scripts if text.strip()] == []
    assert tags.handlers == []
    assert tags.styles == 0
    assert all(image.startswith("/static/") for image in tags.images)
    assert "<script>alert" not in html
    assert "49" not in re.findall(r"&amp;(\d+)", html)


def number_of_queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = client.get(url)
    assert response.status_code == 200
    return len(queries)


@pytest.mark.parametrize("model", MODELS)
def test_lists_and_pages_show_hostile_rows_harmlessly(operator: Client, stored: Stored, model: str) -> None:
    for url in (list_url(model), page_url(stored, model)):
        response = operator.get(url)
        assert response.status_code == 200
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        assert_harmless(response.text)


@pytest.mark.parametrize("model", [model for model in MODELS if model != "blob"])
def test_what_was_written_is_shown_as_text(operator: Client, stored: Stored, model: str) -> None:
    html = operator.get(page_url(stored, model)).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<details" in html


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_for_one_row_and_for_200(operator: Client, model: str) -> None:
    build(1)
    few = number_of_queries(operator, list_url(model))
    build(199)
    many = number_of_queries(operator, list_url(model))
    assert many == number_of_queries(operator, list_url(model, all="")) == few
    assert many <= {"session": 8}.get(model, 5)


@pytest.mark.parametrize("model", MODELS)
def test_a_page_costs_the_same_with_one_row_and_with_200(operator: Client, model: str) -> None:
    stored = build(1)
    few = number_of_queries(operator, page_url(stored, model))
    build(199)
    many = number_of_queries(operator, page_url(stored, model))
    assert many == few
    assert many <= 8


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        ("event", ("payload", "delta", "reason")),
        ("item", ("data", "render_messages", "closed_reason")),
        ("effect", ("payload", "message", "traceback", "result", "request")),
        ("state", ("data",)),
        ("blob", ("text",)),
    ],
)
def test_lists_read_no_long_texts(operator: Client, stored: Stored, model: str, columns: tuple[str, ...]) -> None:
    with CaptureQueriesContext(connection) as queries:
        operator.get(list_url(model))
    from_table = f'FROM "sessions_app_stored{model}"'
    (rows,) = [query["sql"] for query in queries if from_table in query["sql"] and "COUNT(" not in query["sql"]]
    assert [column for column in columns if f'"sessions_app_stored{model}"."{column}"' in rows] == []


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_changed(operator: Client, stored: Stored, model: str) -> None:
    before = everything()
    row = getattr(stored, model)
    delete = reverse(f"admin:sessions_app_stored{model}_delete", args=[row.pk])
    add = reverse(f"admin:sessions_app_stored{model}_add")
    form = {"title": "changed", "status": "applied", "data": "{}", "text": "changed", "post": "yes", "_save": "Save"}
    action = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}
    assert operator.post(page_url(stored, model), form).status_code == 403
    assert operator.post(delete, {"post": "yes"}).status_code == 403
    assert operator.get(delete).status_code == 403
    assert operator.post(add, form).status_code == 403
    assert operator.get(add).status_code == 403
    assert operator.post(list_url(model), action).status_code in (302, 403, 200)
    assert everything() == before
    names = Tags(operator.get(page_url(stored, model)).text).inputs
    assert set(names) <= {"csrfmiddlewaretoken", "next", ""}


def everything() -> list[Any]:
    return [
        list(kind.objects.order_by("pk").values())
        for kind in (StoredSession, StoredState, StoredEvent, StoredItem, StoredEffect)
    ]


@pytest.mark.parametrize(("kind", "status"), [("nobody", 302), ("user", 302), ("staff", 403)])
def test_only_those_who_may_can_look(people: Any, stored: Stored, kind: str, status: int) -> None:
    client = people(kind)
    for url in [address for model in MODELS for address in (list_url(model), page_url(stored, model))]:
        response = client.get(url)
        assert response.status_code == status
        assert HOSTILE[:20] not in response.text
        assert status == 403 or "login" in response.headers["Location"]


def test_sessions_lead_to_what_belongs_to_them(operator: Client, stored: Stored) -> None:
    other = build(1)
    html = operator.get(page_url(stored, "session")).text
    for model in ("event", "item", "effect"):
        url = list_url(model, session=stored.session.pk)
        assert f'href="{url}"' in html
        shown = operator.get(url)
        assert shown.context["cl"].result_count == 1
        assert [row.session_id for row in shown.context["cl"].result_list] == [stored.session.pk]
    assert operator.get(list_url("event")).context["cl"].result_count == 2
    assert other.session.pk != stored.session.pk


def test_an_owner_can_open_the_session_page(operator: Client, stored: Stored) -> None:
    page = reverse("session", args=[stored.session.key.hex])
    assert page not in operator.get(page_url(stored, "session")).text  # Others would find nothing there.
    StoredSession.objects.update(owner=get_user_model().objects.get(username="operator"))
    assert f'<a href="{page}">Open session page</a>' in operator.get(page_url(stored, "session")).text


def test_events_items_and_effects_lead_to_each_other(operator: Client, stored: Stored) -> None:
    event, item, effect = (operator.get(page_url(stored, model)).text for model in ("event", "item", "effect"))
    session = stored.session.pk
    for html, model, query in [
        (event, "event", {"seq": 2}),
        (event, "event", {"cause": 3}),
        (event, "event", {"retry_of": 3}),
        (event, "item", {"item_id": "1_0"}),
        (event, "effect", {"effect_id": "2_0"}),
        (item, "event", {"item_id": "1_0"}),
        (item, "effect", {"owner_item": "1_0"}),
        (item, "item", {"parent": "1_0"}),
        (item, "item", {"item_id": "0_0_0"}),
        (effect, "item", {"item_id": "1_0"}),
        (effect, "event", {"effect_id": "2_0"}),
    ]:  # fmt: skip
        url = list_url(model, session=session, **query)
        assert f'href="{url.replace("&", "&amp;")}"' in html or f'href="{url}"' in html
        assert operator.get(url).status_code == 200
    assert reverse("admin:sessions_app_storedblob_change", args=[stored.blob.pk]) in event


def test_the_list_says_how_each_session_is(operator: Client, stored: Stored) -> None:
    html = operator.get(list_url("session")).text
    assert "Working" in html or "No answer" in html


@pytest.mark.parametrize("model", LISTED)
def test_lists_can_be_searched_by_the_start_of_a_key(operator: Client, model: str) -> None:
    wanted = build(3)
    key = wanted.session.key
    for term in (key.hex[:8], str(key)[:12], key.hex.upper(), str(key)):
        found = operator.get(list_url(model, q=term)).context["cl"].result_list
        assert [getattr(row, "session", row).pk for row in found] == [wanted.session.pk]
    assert operator.get(list_url(model, q="zzzz")).context["cl"].result_count == 0


@pytest.mark.parametrize(
    ("model", "term"),
    [("session", "alert(1)"), ("session", "owner"), ("event", "script"), ("item", "1_0"), ("effect", "2_0")],
)
def test_lists_can_be_searched_by_words(operator: Client, stored: Stored, model: str, term: str) -> None:
    assert operator.get(list_url(model, q=term)).context["cl"].result_count == 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.fault("B32")
def test_any_search_has_an_answer(operator: Client, stored: Stored, model: str) -> None:
    for term in ("'", "%", "\\", "a" * 5000, "-" * 36, "0" * 40, "\x00", "é"):
        assert operator.get(list_url(model, q=term)).status_code in (200, 302)


def test_sessions_can_be_filtered_by_state(operator: Client, stored: Stored) -> None:
    for state in ("working", "pending", "blocked", "stopped", "failed", "nonsense"):
        found = operator.get(list_url("session", state=state)).context["cl"].result_count
        assert found == (0 if state == "stopped" else 1)


def test_an_odd_filter_is_no_error(operator: Client, stored: Stored) -> None:
    for value in ("x", "9" * 30, "-1", "", "1;"):
        assert operator.get(list_url("event", session=value)).status_code in (200, 302)


def test_a_very_long_text_is_cut(operator: Client, stored: Stored) -> None:
    StoredEvent.objects.update(payload='{"x": "' + "y" * 900_000 + '"}', delta="[" + "1," * 20_000 + "1]")
    html = operator.get(page_url(stored, "event")).text
    assert len(html) < 250_000
    assert "The first 100000 of them are shown." in html
    assert "… and 19801 more" in html


def test_a_missing_row_is_no_error(operator: Client, stored: Stored) -> None:
    url = reverse("admin:sessions_app_storedsession_change", args=[10**6])
    assert operator.get(url).status_code == 302


def test_the_bounds_of_a_key() -> None:
    assert key_bounds("abc") is None
    assert key_bounds("xyzw") is None
    assert key_bounds("0" * 33) is None
    assert key_bounds("abcd") == (UUID("abcd" + "0" * 28), UUID("abcd" + "f" * 28))

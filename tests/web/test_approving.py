"""A person approves, declines or changes a call on the page, with a script and without."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from sessions_app.core.language_model import ModelResponse
from sessions_app.core.messages import ToolCallPart
from sessions_app.core.platform import Approval
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump
from tests.engine.stage import calls
from tests.web.test_posting import HTMX, Desk

APPROVE = "@platform/approve"
DECLINE = "@platform/decline"
CHANGE = "@platform/change-arguments"
ENDED = "Noted."


@pytest.fixture
def asked(
    page: Client, session: StoredSession, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> Desk:
    """A session whose model wants to ship something."""
    script(calls(("ship", {"to": "Berlin", "pin": "1234"})), ENDED)
    talk("Ship it")
    pump()
    return Desk(page, session)


def approval(desk: Desk) -> StoredItem:
    """Return the newest approval."""
    return StoredItem.objects.filter(session=desk.session, type=Approval.type_name()).order_by("pk").last()  # type: ignore[return-value]  # there is one


def digest_on(html: str) -> str:
    (found,) = re.findall(r'name="digest" value="([0-9a-f]+)"', html)
    return str(found)


def test_the_page_shows_what_would_run_and_waits(asked: Desk) -> None:
    html = asked.show()
    assert "Run “Ship” with this?" in html
    assert re.search(r"<dt>To</dt><dd[^>]*>Berlin</dd>", html)
    assert "Needs you" in html
    for button in ("Approve", "Decline", "Change…", "Use these instead"):
        assert button in html, button
    assert "Berlin</textarea>" in html


def test_all_that_would_run_is_shown_but_secrets(asked: Desk) -> None:
    html = asked.show()
    for label, text in (("Weight", "1.0"), ("Except for", r"\(empty\)"), ("Pin", r"\*+")):
        assert re.search(rf"<dt>{label}</dt><dd[^>]*>{text}</dd>", html), label
    assert "1234" not in html


def test_half_a_character_from_a_model_breaks_no_page(
    page: Client, session: StoredSession, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    call = ToolCallPart(id="", name="ship", arguments='{"to": "\\ud800x"}')
    wrong = ToolCallPart(id="", name="decide", arguments='{"question": "\\ud800y"}')
    script(ModelResponse(parts=(call, wrong)), ENDED)
    talk("Ship it")
    pump()
    html = Desk(page, session).show()
    assert "\ufffdx" in html
    assert "\ufffdy" in html


@pytest.mark.parametrize("htmx", [True, False])
def test_approved_as_shown_it_runs(asked: Desk, pump: Pump, htmx: bool) -> None:
    response = asked.answer(approval(asked), APPROVE, htmx, _key="k", digest=digest_on(asked.show()))
    assert response.status_code == (200 if htmx else 303)
    pump()
    html = asked.show()
    assert "Approval of “Ship”" in html
    assert "Approved by you." in html
    assert "Shipped 1.0 kg to Berlin, pin of 4." in html
    assert ENDED in html


@pytest.mark.fault("B04")
def test_an_approval_of_something_else_is_refused(asked: Desk) -> None:
    response = asked.answer(approval(asked), APPROVE, digest="0" * 64)
    assert response.status_code == 409
    assert not StoredEvent.objects.filter(type=APPROVE).exists()
    assert "Run “Ship” with this?" in asked.show()


@pytest.mark.parametrize("htmx", [True, False])
def test_declined_with_a_reason_the_model_goes_on(asked: Desk, pump: Pump, htmx: bool) -> None:
    asked.answer(approval(asked), DECLINE, htmx, _key="k", reason="Too far <b>")
    pump()
    html = asked.show()
    assert "Declined by you: Too far &lt;b&gt;" in html
    assert ENDED in html
    assert "Shipped" not in html


@pytest.mark.parametrize("htmx", [True, False])
def test_changed_it_is_asked_again_with_the_new_arguments(asked: Desk, pump: Pump, htmx: bool) -> None:
    first = digest_on(asked.show())
    asked.answer(approval(asked), CHANGE, htmx, _key="k", to="Paris", weight="2.5")
    html = asked.show()
    assert "Changed by you." in html
    second = digest_on(html)
    assert first != second
    assert asked.answer(approval(asked), APPROVE, digest=first).status_code == 409
    asked.answer(approval(asked), APPROVE, digest=second)
    pump()
    assert "Shipped 2.5 kg to Paris, pin of 4." in asked.show()


@pytest.mark.parametrize("htmx", [True, False])
def test_wrong_changes_come_back_as_typed(asked: Desk, htmx: bool) -> None:
    response = asked.answer(approval(asked), CHANGE, htmx, to="P", weight="heavy")
    html = response.content.decode()
    assert response.status_code == 422
    for text in ("Write at least 2 characters.", "P</textarea>", 'value="heavy"'):
        assert text in html, text
    assert approval(asked).answers == 0


@pytest.mark.fault("B37")
@pytest.mark.parametrize(
    ("first", "second", "told"),
    [(DECLINE, APPROVE, "Decline; Too far"), (APPROVE, DECLINE, "Approve")],
)
def test_who_comes_second_learns_what_was_decided_and_when(asked: Desk, first: str, second: str, told: str) -> None:
    item = approval(asked)
    form = {"digest": digest_on_item(item), "reason": "Too far"}
    asked.answer(item, first, **form)
    response = asked.answer(item, second, **form)
    html = response.content.decode()
    assert response.status_code == 409
    assert re.search(rf"You answered this at <time [^>]+>[^<]+</time>\.\s+{told}[ <]", html)
    assert ("Your text is kept below." in html) == (second == DECLINE)
    assert form["digest"] not in html


def digest_on_item(item: StoredItem) -> str:
    found = re.search(r'"digest":"([0-9a-f]+)"', item.data)
    assert found
    return found[1]


def test_nobody_elses_approval_can_be_given(asked: Desk, other: Any) -> None:
    stranger = Client()
    stranger.force_login(other)
    data = {"_type": APPROVE, "_item": approval(asked).item_id, "digest": digest_on(asked.show())}
    assert stranger.post(asked.address, data, headers=HTMX).status_code == 404

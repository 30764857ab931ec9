"""What people send: with htmx and without, right and wrong, once and twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.core.language_model import ModelResponse, Terminated
from sessions_app.core.messages import TextPart
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump
from tests.engine.stage import calls, gate

HTMX = {"HX-Request": "true"}
MESSAGE = "@platform/user-message"


class Desk:
    """Posts to one session as one person's browser does."""

    def __init__(self, page: Client, session: StoredSession) -> None:
        self.page = page
        self.session = session
        self.address = reverse("session-events", args=[session.key.hex])

    def send(self, data: dict[str, Any], **headers: str) -> Any:
        return self.page.post(self.address, data, headers=headers)

    def show(self) -> str:
        return self.page.get(reverse("session", args=[self.session.key.hex])).content.decode()

    def item(self, item_type: str) -> StoredItem:
        return StoredItem.objects.get(session=self.session, type=item_type)

    def answer(self, item: StoredItem, event: str, htmx: bool = True, **data: Any) -> Any:
        seen = {"_type": event, "_item": item.item_id, "_seen": item.answers}
        return self.send({**seen, **data}, **(HTMX if htmx else {}))

    def events(self, event_type: str) -> Any:
        return StoredEvent.objects.filter(session=self.session, type=event_type)


@pytest.fixture
def desk(page: Client, session: StoredSession) -> Desk:
    return Desk(page, session)


@pytest.fixture
def asked(desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump) -> Desk:
    """A session with two open questions."""
    script(calls(("decide", {"question": "Go?"}), ("ask_guest", {})), ModelResponse())
    talk("Ask me")
    pump()
    return desk


def test_a_message_without_script(desk: Desk) -> None:
    response = desk.send({"_type": MESSAGE, "_key": "k", "text": "Line one\r\nline two"})
    assert response.status_code == 303
    assert response.url.endswith("#latest")
    assert "Line one\nline two" in desk.show()


def test_a_message_with_htmx_shows_itself_while_the_socket_is_down(desk: Desk) -> None:
    response = desk.send({"_type": MESSAGE, "_key": "k", "text": "Hello"}, **HTMX, **{"X-Agentsite-Seen": "1"})
    html = response.content.decode()
    assert response.status_code == 200
    assert response["X-Agentsite-Seq"] == "2"
    assert '<hx-partial hx-target="#items" hx-swap="place">' in html
    assert "Hello" in html
    assert 'hx-target="#composer-key"' in html


def test_a_page_whose_socket_is_open_gets_only_a_new_key(desk: Desk) -> None:
    response = desk.send({"_type": MESSAGE, "_key": "k", "text": "Hello"}, **HTMX, **{"X-Agentsite-Live": "1"})
    assert response.content.decode().count("<hx-partial") == 1
    assert response["X-Agentsite-Seq"] == "2"


def test_the_same_key_sends_once(desk: Desk) -> None:
    for _ in range(3):
        desk.send({"_type": MESSAGE, "_key": "same", "text": "Hello"})
    assert desk.events(MESSAGE).count() == 1


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_empty_message_is_refused_in_words(desk: Desk, headers: dict[str, str]) -> None:
    response = desk.send({"_type": MESSAGE, "_key": "k", "text": "   \n"}, **headers)
    assert response.status_code == 422
    assert "Write something first." in response.content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_message_that_is_too_long_keeps_its_text(desk: Desk, headers: dict[str, str]) -> None:
    text = "word " * 20_000
    response = desk.send({"_type": MESSAGE, "_key": "k", "text": text}, **headers)
    html = response.content.decode()
    assert response.status_code == 413
    assert "64 KB" in html
    assert ("word word" in html) is not bool(headers), "with htmx it is still in the box"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"_type": "@platform/session-created"}, 403),
        ({"_type": "@platform/model-responded", "effect_id": "2_1"}, 403),
        ({"_type": "w-fetched", "_item": "ITEM", "text": "fake"}, 403),
        ({"_type": "w-nonsense"}, 422),
        ({}, 422),
        ({"_type": "w-approved", "_item": "999_9"}, 404),
        ({"_type": "w-approved", "_item": "2_0' OR 1=1"}, 404),
        ({"_type": "@platform/retry"}, 409),
        ({"_type": MESSAGE, "_retry": "1", "text": "x"}, 409),
        ({"_type": MESSAGE, "_retry": "77", "text": "x"}, 404),
        ({"_type": MESSAGE, "_retry": "x" * 40, "text": "x"}, 404),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_what_may_not_be_sent_is_refused_and_leaves_nothing(
    asked: Desk, data: dict[str, str], status: int, headers: dict[str, str]
) -> None:
    before = StoredEvent.objects.count()
    if data.get("_item") == "ITEM":
        data = {**data, "_item": asked.item("w-decision").item_id}
    response = asked.send(data, **headers)
    assert response.status_code == status
    assert StoredEvent.objects.count() == before
    assert "Traceback" not in response.content.decode()


def test_a_question_is_answered(asked: Desk, ann: Sender, pump: Pump) -> None:
    decision = asked.item("w-decision")
    response = asked.answer(decision, "w-approved", _key="k")
    assert response.status_code == 200
    html = asked.show()
    assert "Answered by you" in html
    asked.answer(asked.item("w-guest-form"), "w-guest", name="Ada", born="1815-12-10", meals=["", "lunch"])
    pump()
    assert '"meals":["lunch"]' in asked.events("w-guest").get().payload
    assert "Noted." in asked.show() or "There is no answer." in asked.show()


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.fault("B40")
def test_a_wrong_answer_comes_back_with_what_was_typed(asked: Desk, htmx: bool) -> None:
    guest = asked.item("w-guest-form")
    response = asked.answer(guest, "w-guest", htmx, _key="mine", name="A", born="", **{"phones": "", "phones.0": "123"})
    html = response.content.decode()
    assert response.status_code == 422
    for text in (
        "Write at least 2 characters.",
        "Fill this in.",
        'value="A"',
        'value="123"',
        'name="_key" value="mine"',
    ):
        assert text in html, text
    if htmx:
        assert response["HX-Reswap"] == "outerHTML"
        assert re.fullmatch(r"\[id='ask-[\w-]+'\]", response["HX-Retarget"])
        assert html.strip().startswith("<form")
    assert not asked.events("w-guest").exists()


@pytest.mark.parametrize("htmx", [True, False])
def test_a_row_is_added_to_an_open_question(asked: Desk, htmx: bool) -> None:
    guest = asked.item("w-guest-form")
    response = asked.answer(guest, "w-guest", htmx, **{"name": "Ada", "phones": "", "phones.0": "1", "_add": "phones"})
    assert response.status_code == 200
    assert 'name="phones.1"' in response.content.decode()
    assert not asked.events("w-guest").exists()


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.fault("B37", "B38")
def test_who_comes_second_sees_who_was_first_and_keeps_the_text(asked: Desk, live: bool) -> None:
    decision = asked.item("w-decision")
    asked.answer(decision, "w-declined", reason="Too far", _key="first")
    headers = {**HTMX, "X-Agentsite-Seen": "3"} | ({"X-Agentsite-Live": "1"} if live else {})
    data = {
        "_type": "w-declined",
        "_item": decision.item_id,
        "_seen": "0",
        "_key": "second",
        "reason": "My <b>own</b> reason",
    }
    response = asked.send(data, **headers)
    html = response.content.decode()
    assert response.status_code == 409
    assert f'hx-target="#kept-{decision.item_id}"' in html
    assert re.search(r"You answered this at <time [^>]+>\d\d:\d\d UTC</time>\.\s+Too far", html)
    assert "My &lt;b&gt;own&lt;/b&gt; reason" in html
    assert asked.events("w-declined").count() == 1
    assert ("Answered by you" in html) is not live


@pytest.mark.fault("B38")
@pytest.mark.parametrize("htmx", [True, False])
def test_an_answer_to_what_was_stopped_says_so_and_keeps_the_text(asked: Desk, htmx: bool) -> None:
    decision = asked.item("w-decision")
    asked.send({"_type": "@platform/stop", "_key": "stop"})
    seq = StoredSession.objects.get(pk=asked.session.pk).seq
    typed = "My own reason. " * 6
    response = asked.answer(decision, "w-declined", htmx, reason=typed, _key="late")
    html = response.content.decode()
    assert response.status_code == 409
    assert "This was closed before (cancelled)." in html
    assert typed.strip() in html
    assert StoredSession.objects.get(pk=asked.session.pk).seq == seq


@pytest.mark.fault("B16")
def test_every_question_of_one_reply_is_on_the_page(
    desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(calls(*[("decide", {"question": question}) for question in ("First?", "Second?", "Third?")]))
    talk("Ask me")
    pump()
    html = desk.show()
    assert [html.count(question) > 0 for question in ("First?", "Second?", "Third?")] == [True] * 3
    assert html.count('name="_type" value="w-approved"') == 3


def test_who_comes_second_without_script_sees_it_on_the_page(asked: Desk) -> None:
    decision = asked.item("w-decision")
    asked.answer(decision, "w-approved", _key="first")
    response = asked.answer(decision, "w-declined", htmx=False, reason="My own reason", _key="second")
    html = response.content.decode()
    assert response.status_code == 409
    assert "Your text is kept below." in html
    assert "My own reason" in html


def test_a_question_can_be_skipped(asked: Desk) -> None:
    asked.answer(asked.item("w-guest-form"), "@platform/skip", _key="s")
    assert "Skipped by you." in asked.show()


def test_a_skipped_question_says_its_words_once(asked: Desk) -> None:
    asked.answer(asked.item("w-decision"), "@platform/skip", _key="s")
    # What the call asked for stays in its details.
    card = asked.show().partition('class="card-title"')[2].partition("</div>")[0]
    assert card.count("Go?") == 1


@pytest.mark.fault("B18")
def test_a_message_behind_a_question_names_the_question(asked: Desk) -> None:
    link = f'<a href="#item-{asked.item("w-decision").item_id}">your answer above</a>.'
    asked.send({"_type": MESSAGE, "text": "More"}, **HTMX)
    assert f"1 message waits for {link}" in asked.show()
    asked.send({"_type": MESSAGE, "text": "And more"}, **HTMX)
    assert f"2 messages wait for {link}" in asked.show()


def test_a_key_that_is_used_up_is_replaced(desk: Desk) -> None:
    assert desk.send({"_type": MESSAGE, "text": "One", "_key": "old"}, **HTMX).status_code == 200
    response = desk.send({"_type": MESSAGE, "text": "Two", "_key": "old"}, **HTMX)
    html = response.content.decode()
    assert response.status_code == 422
    assert html.startswith("This was not sent. Try again.")
    key = re.search(r'id="composer-key" name="_key" value="([^"]+)"', html)
    assert key
    assert key[1] != "old"
    assert desk.send({"_type": MESSAGE, "text": "Two", "_key": key[1]}, **HTMX).status_code == 200
    action = {"_type": "w-confirmed", "title": "Lunch", "start": "2030-01-01T12:00", "_key": "old"}
    html = desk.send(action, **HTMX).content.decode()
    assert "This was not sent. Try again." in html
    assert 'value="Lunch"' in html
    assert 'name="_key" value="old"' not in html


def test_a_session_event_is_an_action(desk: Desk) -> None:
    assert "Confirm meeting" in desk.show()
    wrong = desk.send({"_type": "w-confirmed", "title": "x", "start": ""}, **HTMX)
    assert wrong.status_code == 422
    assert wrong["HX-Retarget"] == "[id='do-w-confirmed']"
    right = desk.send({"_type": "w-confirmed", "title": "Lunch", "start": "2026-12-01T12:00"})
    assert right.status_code == 303
    assert "Confirm meeting" not in desk.show()


@pytest.mark.fault("B74")
def test_a_failed_event_can_be_tried_again_until_it_succeeds(asked: Desk) -> None:
    guest = asked.item("w-guest-form")
    asked.answer(guest, "w-guest", name="Broken", born="2000-01-01")
    failed = asked.events("w-guest").get()
    assert failed.status == "failed"
    html = asked.show()
    assert f"(event {failed.seq})" in html
    assert f'name="_retry" value="{failed.seq}"' in html
    again = asked.send({"_type": "w-guest", "_item": guest.item_id, "_retry": failed.seq, "_key": "r"}, **HTMX)
    assert again.status_code == 200
    assert asked.events("w-guest").count() == 2


def test_a_failed_session_event_says_so_without_a_traceback(desk: Desk) -> None:
    desk.send({"_type": "w-unhandled", "_key": "u"})
    html = desk.show()
    assert "this could not be taken in (event 2)" in html
    assert "never mind" not in html
    assert "RuntimeError" not in html


def test_stop_ends_what_runs(desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump) -> None:
    script(calls(("fetch_parcel", {"name": "Soap"})))
    talk("Fetch")
    pump.until(lambda: gate.begun["Soap"])
    assert "Stop" in desk.show()
    for _ in range(2):
        assert desk.send({"_type": "@platform/stop", "_key": "stop-5"}, **HTMX).status_code == 200
    html = desk.show()
    assert "Stopped by you." in html
    assert "@platform/stop" not in html
    assert "<title>Stopped – Fetch</title>" in html


@pytest.mark.fault("B28")
def test_a_blocked_request_says_why_and_can_be_made_again(
    desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    down = ModelResponse(status=Terminated(reason="authentication", message="The key is <wrong>."))
    script(down, calls(("decide", {"question": "Go?"})))
    talk("Hello")
    pump()
    html = desk.show()
    assert "There is no answer." in html
    assert "The key is &lt;wrong&gt;." in html
    key = re.search(r'name="_key" value="(retry-\d+)"', html)
    assert key
    assert desk.send({"_type": "@platform/retry", "_key": key[1]}).status_code == 303
    pump()
    assert "Go?" in desk.show()


@pytest.mark.fault("B22", "B28")
@pytest.mark.parametrize("parts", [(), (TextPart(text=""),), (TextPart(text=" \n "),), (TextPart(text="\u200b"),)])
def test_a_reply_that_shows_nothing_is_said_to_be_none(
    desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump, parts: tuple[TextPart, ...]
) -> None:
    model = script(ModelResponse(parts=parts), *["Fine."] * 5)
    talk("Hello")
    pump()
    html = desk.show()
    assert "There is no answer. The model gave an empty answer." in " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "@platform/retry" in html
    for turn in range(5):
        talk(f"Turn {turn}")
        pump()
    assert model.faults == []
    assert "There is no answer." not in desk.show()


@pytest.mark.fault("B22")
def test_a_call_without_a_result_says_so(
    desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(calls(("hush", {})), "Done.")
    talk("Hush")
    pump()
    assert re.search(r'class="result"[^>]*>\(no output\)<', desk.show())


@pytest.mark.fault("B29")
def test_a_refusal_offers_no_second_try(
    desk: Desk, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(ModelResponse(status=Terminated(reason="refused", message="I will not.")))
    talk("Hello")
    pump()
    html = desk.show()
    assert "Write something else to go on." in html
    assert "@platform/retry" not in html


def test_work_that_failed_outside_a_call_can_be_tried_again_or_skipped(
    session: StoredSession, desk: Desk, ann: Sender, pump: Pump
) -> None:
    gate.opened.set()
    engine.dispatch_event(session, "w-dropped", {"name": "broken"}, sender=ann)
    pump()
    html = desk.show()
    assert "Parcel not found" in html
    assert "@platform/try-again" in html
    parcel = desk.item("w-parcel")
    assert desk.answer(parcel, "@platform/try-again", _key="t").status_code == 200
    pump()
    assert desk.answer(parcel, "@platform/skip", _key="s").status_code == 200
    assert "Skipped by you." in desk.show()


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x\x1b[31m", "\u202eevil", "😀" * 100])
@pytest.mark.fault("B32")
def test_no_text_breaks_a_page(desk: Desk, text: str) -> None:
    response = desk.send(
        {"_type": MESSAGE, "_key": "k", "text": text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")}
    )
    assert response.status_code == 303
    assert desk.page.get(desk.address.replace("events/", "")).status_code == 200


def test_a_post_needs_the_token(user: Any, session: StoredSession) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    address = reverse("session-events", args=[session.key.hex])
    assert client.post(address, {"_type": MESSAGE, "text": "x"}).status_code == 403
    page = client.get(reverse("session", args=[session.key.hex]))
    token = re.search(r'"X-CSRFToken":"(\w+)"', page.content.decode())
    assert token
    sent = client.post(address, {"_type": MESSAGE, "text": "x"}, headers={"X-CSRFToken": token[1], **HTMX})
    assert sent.status_code == 200


def test_only_posts_change_anything(page: Client, session: StoredSession) -> None:
    assert page.get(reverse("session-events", args=[session.key.hex])).status_code == 405
    assert page.post(reverse("session", args=[session.key.hex])).status_code == 405

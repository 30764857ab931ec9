"""The socket: who may listen, and that a page heals from whatever is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.test import Client

from sessions_app import consumers, engine, hub, outbox, reading
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredSession, StoredStream
from sessions_app.routing import websocket_urlpatterns

pytestmark = pytest.mark.database

PATIENCE = 3.0


class Listener:
    """A browser's end of the socket."""

    def __init__(self, session: StoredSession, page: Client | None, query: str = "") -> None:
        cookie = page.cookies[django_settings.SESSION_COOKIE_NAME].value if page else ""
        headers = [(b"cookie", f"{django_settings.SESSION_COOKIE_NAME}={cookie}".encode())] if page else []
        application: Any = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        self.line = WebsocketCommunicator(application, f"/ws/s/{session.key.hex}/{query}", headers=headers)

    async def __aenter__(self) -> Listener:
        connected, _ = await self.line.connect()
        assert connected, "a refusal before accepting would be tried again for ever"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.line.disconnect()

    async def hear(
        self, wanted: Callable[[dict[str, Any]], object] = bool, patience: float = PATIENCE
    ) -> dict[str, Any]:
        async def until() -> dict[str, Any]:
            while True:
                message: dict[str, Any] = json.loads(await self.line.receive_from(patience))
                if wanted(message):
                    return message

        return await asyncio.wait_for(until(), patience)

    async def closed(self, patience: float = PATIENCE) -> int:
        while True:
            message = await self.line.receive_output(patience)
            if message["type"] == "websocket.close":
                return int(message["code"])


def says(text: str) -> Callable[[dict[str, Any]], object]:
    return lambda message: text in message.get("html", "") or text in message.get("text", "")


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel layer that drops every message."""

    async def drop(group: str, message: dict[str, Any]) -> None:
        return None

    monkeypatch.setattr(get_channel_layer(), "group_send", drop)


@pytest.fixture
def say(session: StoredSession, ann: Sender) -> Callable[[str], Awaitable[Any]]:
    def send(text: str) -> Any:
        return engine.dispatch_event(session, "@platform/user-message", {"text": text}, sender=ann)

    return database_sync_to_async(send)


@pytest.fixture
def writing(session: StoredSession, ann: Sender) -> Any:
    """A session whose answer is being written; returns the functions that stream into it."""
    engine.dispatch_event(session, "@platform/user-message", {"text": "Hello"}, sender=ann)
    effect = StoredEffect.objects.get(session=session)
    StoredEffect.objects.filter(pk=effect.pk).update(status="running", attempt=1)

    class Writing:
        item = effect.owner_item

        @staticmethod
        async def save(text: str, attempt: int = 1, number: int = 0) -> None:
            def write() -> None:
                values = {"item_id": effect.owner_item, "attempt": attempt, "stream_no": number, "text": text}
                StoredStream.objects.update_or_create(effect=effect, defaults=values)

            await database_sync_to_async(write)()

        @staticmethod
        def stream(offset: int, text: str, attempt: int = 1, number: int = 0) -> None:
            message = {"type": "session.stream", "item_id": effect.owner_item, "attempt": attempt, "stream_no": number}
            outbox.notify(session.key.hex, {**message, "offset": offset, "text": text})

    return Writing


async def test_nobody_listens_before_signing_in(session: StoredSession) -> None:
    async with Listener(session, None) as listener:
        assert await listener.closed() == consumers.SIGNED_OUT


async def test_a_foreign_session_is_not_there(session: StoredSession, other: Any) -> None:
    stranger = Client()
    await database_sync_to_async(stranger.force_login)(other)
    async with Listener(session, stranger) as listener:
        assert await listener.closed() == consumers.NOT_THERE


async def test_a_page_gets_the_whole_first(session: StoredSession, page: Client, say: Any) -> None:
    await say("Hello there")
    async with Listener(session, page) as listener:
        frame = await listener.hear()
        assert frame["seq"] == 2
        assert frame["now"]
        for place in ("#head", "#items", "#tail", "#actions", "#foot", "#say", "#earlier"):
            assert f'hx-target="{place}"' in frame["html"]
        assert "Hello there" in frame["html"]


async def test_a_page_that_was_just_loaded_gets_only_what_came_since(
    session: StoredSession, page: Client, say: Any
) -> None:
    await say("Old news")
    await say("Fresh news")
    async with Listener(session, page, "?since=2") as listener:
        frame = await listener.hear()
        assert frame["seq"] == 3
        assert "Fresh news" in frame["html"]
        assert "innerMorph" not in frame["html"]


async def test_a_change_is_pushed_as_what_changed(session: StoredSession, page: Client, say: Any) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await say("A first message")
        frame = await listener.hear(says("A first message"))
        assert 'hx-target="#items" hx-swap="place' in frame["html"]
        await say("A second message")
        frame = await listener.hear(says("A second message"))
        assert "A first message" not in frame["html"].split("hx-target")[1]


async def test_a_page_heals_when_every_nudge_is_lost(
    session: StoredSession, page: Client, say: Any, deaf: None
) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await say("Nobody was told")
        await listener.hear(says("Nobody was told"), patience=2.0)


async def test_old_and_doubled_nudges_do_nothing(session: StoredSession, page: Client, say: Any) -> None:
    await say("Hello")
    async with Listener(session, page) as listener:
        await listener.hear()
        for seq in (1, 2, 2, 0):
            outbox.notify(session.key.hex, {"type": "session.changed", "seq": seq})
        assert await listener.line.receive_nothing(0.4)


async def test_streamed_text_is_sent_as_its_new_suffix(session: StoredSession, page: Client, writing: Any) -> None:
    async with Listener(session, page) as listener:
        assert f'id="text-{writing.item}"' in (await listener.hear())["html"]
        writing.stream(0, "The <b>")
        first = await listener.hear(lambda message: message.get("item"))
        assert (first["at"], first["text"], first["attempt"], first["no"]) == (0, "The <b>", 1, 0)
        writing.stream(0, "The <b> quick")
        assert (await listener.hear(lambda message: message.get("item")))["text"] == " quick"
        writing.stream(0, "The <b>")
        assert await listener.line.receive_nothing(0.3)


async def test_a_gap_in_streamed_text_is_filled_from_the_row(
    session: StoredSession, page: Client, writing: Any
) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await writing.save("One two ")
        writing.stream(8, "three")
        heard = ""
        while heard != "One two three":
            message = await listener.hear(lambda message: message.get("item"))
            assert message["at"] == len(heard)
            heard += message["text"]


async def test_streamed_text_arrives_when_every_nudge_is_lost(
    session: StoredSession, page: Client, writing: Any, deaf: None
) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await writing.save("Saved but never told")
        message = await listener.hear(lambda message: message.get("item"), patience=2.0)
        assert message["text"] == "Saved but never told"


@pytest.mark.fault("B30")
async def test_a_new_attempt_replaces_the_text(session: StoredSession, page: Client, writing: Any) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        writing.stream(0, "Half of an answer")
        await listener.hear(lambda message: message.get("item"))
        writing.stream(0, "Anew", attempt=2)
        message = await listener.hear(lambda message: message.get("item"))
        assert (message["attempt"], message["at"], message["text"]) == (2, 0, "Anew")


@pytest.mark.fault("B30")
async def test_a_retry_shows_without_an_event(session: StoredSession, page: Client, writing: Any) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()

        def wait_again() -> None:
            StoredEffect.objects.update(status="pending", attempt=1, message="The model is overloaded.")

        await database_sync_to_async(wait_again)()
        frame = await listener.hear(says("The model is overloaded."), patience=2.0)
        assert "Try 2 of 5" in frame["html"]


async def test_a_browser_that_lost_its_place_gets_the_whole(session: StoredSession, page: Client, say: Any) -> None:
    await say("Hello")
    async with Listener(session, page, "?since=2") as listener:
        await listener.hear()
        await listener.line.send_to("again")
        assert "innerMorph" in (await listener.hear())["html"]


@pytest.mark.parametrize("nonsense", ["{}", "again" * 1000, "\x00", '{"type":"session.changed","seq":99}'])
async def test_a_browser_can_say_nothing_else(session: StoredSession, page: Client, nonsense: str) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await listener.line.send_to(nonsense)
        await listener.line.send_to(bytes_data=b"\xff\x00")
        assert await listener.line.receive_nothing(0.3)


async def test_a_sign_out_elsewhere_ends_the_socket(
    session: StoredSession, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "BEAT_EVERY", 0.2)
    async with Listener(session, page) as listener:
        await listener.hear(lambda message: message.get("beat"))
        await database_sync_to_async(page.logout)()
        assert await listener.closed() == consumers.SIGNED_OUT


async def test_a_person_who_is_locked_out_hears_nothing_more(
    session: StoredSession, page: Client, user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "BEAT_EVERY", 0.2)
    async with Listener(session, page) as listener:
        await listener.hear(lambda message: message.get("beat"))
        user.is_active = False
        await database_sync_to_async(user.save)()
        assert await listener.closed() == consumers.SIGNED_OUT


async def test_a_browser_that_stopped_reading_is_let_go(
    session: StoredSession, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "BEAT_EVERY", 0.1)
    monkeypatch.setattr(consumers, "SILENT_FOR", 0.3)
    async with Listener(session, page) as listener:
        assert await listener.closed() == consumers.SILENT


async def test_a_deleted_session_ends_its_sockets(session: StoredSession, page: Client) -> None:
    async with Listener(session, page) as listener:
        await listener.hear()
        await database_sync_to_async(session.delete)()
        assert await listener.closed() == consumers.NOT_THERE


async def test_a_fault_while_drawing_makes_the_browser_come_back(
    session: StoredSession, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the database is away")

    monkeypatch.setattr(consumers, "whole_frame", fail)
    async with Listener(session, page) as listener:
        assert await listener.closed() == consumers.TROUBLE


async def test_all_watched_sessions_are_asked_about_at_once_and_none_when_nobody_watches(
    session: StoredSession, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []
    original = reading.read_pulses

    def counted(pks: Any) -> Any:
        asked.append(list(pks))
        return original(pks)

    monkeypatch.setattr(reading, "read_pulses", counted)
    monkeypatch.setattr(hub, "LOOK_EVERY", 0.05)
    async with Listener(session, page) as first, Listener(session, page) as second:
        await first.hear()
        await second.hear()
        assert hub.hub().watched == [session.pk]
        await asyncio.sleep(0.3)
    assert asked
    assert all(pks == [session.pk] for pks in asked)
    assert hub.hub().watched == []
    seen = len(asked)
    await asyncio.sleep(0.2)
    assert len(asked) == seen


def test_a_pulse_is_one_query(session: StoredSession, writing: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        pulses = reading.read_pulses([session.pk])
    assert pulses[session.pk].seq == 2
    assert {(owner, waits, attempt) for _id, owner, waits, attempt in pulses[session.pk].effects} == {
        (writing.item, False, 1)
    }


async def test_a_socket_leaves_nothing_behind(session: StoredSession, page: Client) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(3):
        async with Listener(session, page) as listener:
            await listener.hear()
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) == before

"""A page's socket: the server says what changed, in frames drawn from the database.

Messages from the channel layer are only reasons to look. They may be lost, doubled or late: what a frame says comes
from the rows, and the consumer knows what its own browser has. One task for each socket does all the work, so a burst
of nudges becomes one frame, and the handlers below it only set flags.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.utils import timezone

from sessions_app import outbox, reading
from sessions_app.fragments import Frame, Viewer, changed_frame, whole_frame
from sessions_app.fragments.texts import Gap, News, Texts
from sessions_app.hub import hub, in_thread
from sessions_app.models import StoredStream
from sessions_app.reading import Pulse

logger = logging.getLogger(__name__)

GATHER = 0.03
"""Seconds of news that are drawn together. They also let an effect that has just started go first: drawing at once
takes the processor from it, and the first word of an answer came 10 ms later."""
PAUSE = 0.06
"""Seconds between two frames to one browser."""
BEAT_EVERY = 20.0
"""A browser that hears nothing for twice as long knows that its line is dead."""
SILENT_FOR = 65.0
"""A browser that answers no beat for this long has stopped reading; it catches up when it comes back."""
LONGEST_JOIN = 2.0
"""Seconds to wait for the channel layer before a page goes on without its news."""
SIGNED_OUT, NOT_THERE, SILENT, TROUBLE = 4401, 4404, 4408, 4011


class SessionConsumer(AsyncWebsocketConsumer):
    """One browser that shows one session."""

    session_pk: int | None = None
    pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Let the owner in. A refusal before accepting would look like a network fault, and be tried again for ever."""
        await self.accept()
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        self.key = self.scope["url_route"]["kwargs"]["key"]
        self.viewer = Viewer.of(user)
        session = await in_thread(reading.find_session, self.viewer.pk, self.key)
        if session is None:
            await self.close(NOT_THERE)
            return
        self._prepare()
        # First listen, then look: what happens in between is in both, and doing it twice does no harm.
        self.group = outbox.group_name(session.key.hex)
        await self._listen()
        self.session_pk = session.pk
        hub().watch(session.pk, self)
        self.pump = asyncio.create_task(self._pump())

    async def _listen(self) -> None:
        """Join the session's group. Without its news the look once a second still shows everything."""
        try:
            async with asyncio.timeout(LONGEST_JOIN):
                await self.channel_layer.group_add(self.group, self.channel_name)
        except Exception as error:
            logger.warning("a page hears no news and looks by itself", extra={"error": type(error).__name__})

    def _prepare(self) -> None:
        query = dict(part.partition("=")[::2] for part in self.scope.get("query_string", b"").decode().split("&"))
        since = query.get("since", "")
        self.first = query.get("first", "")
        self.seq = int(since) if since.isdecimal() and len(since) < 19 else -1
        self.wake = asyncio.Event()
        self.wake.set()
        self.wants_whole = self.seq < 0
        self.wants_frame = True
        self.wants_rows = False
        self.also: set[str] = set()
        self.effects: frozenset[tuple[str, str, bool, int]] = frozenset()
        self.news: dict[str, News] = {}
        self.texts = Texts()
        self.sent: dict[str, str] = {}
        self.heard = self.beaten = time.monotonic()

    async def disconnect(self, code: int) -> None:
        """Forget the browser."""
        if self.session_pk is None:
            return
        hub().unwatch(self.session_pk, self)
        if self.pump is not None and self.pump is not asyncio.current_task():
            self.pump.cancel()
        await self.channel_layer.group_discard(self.group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Hear that the browser is alive, or that a text did not fit on what it has. Everything else is posted."""
        self.heard = time.monotonic()
        if text_data == "again" and self.session_pk is not None:
            self.wants_whole = True
            self._look(frame=True)

    # What the channel layer and the hub say. Nothing here waits or reads.

    async def session_changed(self, message: dict[str, Any]) -> None:
        """An event was stored."""
        if message["seq"] > self.seq:
            self._look(frame=True)

    async def session_stream(self, message: dict[str, Any]) -> None:
        """A model wrote something."""
        news = News(message["attempt"], message["stream_no"], message["offset"], message["text"])
        known = self.news.get(message["item_id"])
        if known is None or news.order >= known.order:
            self.news[message["item_id"]] = news
        self._look()

    def take_pulse(self, pulse: Pulse | None) -> None:
        """Compare the rows with what the browser has."""
        if pulse is None or pulse.seq > self.seq:
            self._look(frame=True)
        elif pulse.effects != self.effects:
            self.also |= {owner for _id, owner, _waits, _attempt in pulse.effects ^ self.effects if owner}
            self._look(frame=True)
        elif self.texts.lacks(pulse.streams):
            self.wants_rows = True
            self._look()

    def _look(self, *, frame: bool = False) -> None:
        self.wants_frame |= frame
        self.wake.set()

    # The pump.

    async def _pump(self) -> None:
        try:
            while await self._next():
                pass
        except asyncio.CancelledError:
            raise
        except Exception:
            # The browser comes back and gets the whole page anew; there is nothing to repair here.
            logger.exception("could not push to a page", extra={"session": self.key})
            await self.close(TROUBLE)

    async def _next(self) -> bool:
        """Wait for a reason, and do what it asks for. False when the socket was closed."""
        try:
            await asyncio.wait_for(self.wake.wait(), max(0.0, self.beaten + BEAT_EVERY - time.monotonic()))
        except TimeoutError:
            return await self._beat()
        self.wake.clear()
        if self.wants_frame:
            await asyncio.sleep(GATHER)
        if self.wants_frame and not await self._send_frame():
            return False
        await self._send_texts()
        await asyncio.sleep(PAUSE)
        return True

    async def _beat(self) -> bool:
        self.beaten = time.monotonic()
        if not await in_thread(_still_signed_in, self.scope, self.viewer.pk):
            await self.close(SIGNED_OUT)
            return False
        if self.beaten - self.heard > SILENT_FOR:
            await self.close(SILENT)
            return False
        await self._send({"beat": True})
        return True

    async def _send_frame(self) -> bool:
        whole, also = self.wants_whole, self.also
        self.wants_frame = self.wants_whole = False
        self.also = set()
        frame = await in_thread(_draw, self.viewer, self.key, None if whole else self.seq, also, self.first)
        if frame is None:
            await self.close(NOT_THERE)
            return False
        self.seq = max(self.seq, frame.seq)
        self.effects = frame.effects
        self.texts.drawn(frame.marks)
        parts = [part for part in frame.parts if whole or self.sent.get(part.target) != part.html]
        self.sent.update({part.target: part.html for part in frame.around})
        await self._send({"seq": frame.seq, "html": "\n".join(map(str, parts))})
        return True

    async def _send_texts(self) -> None:
        if self.wants_rows or any(not self.texts.fits(item_id, news) for item_id, news in self.news.items()):
            self.wants_rows = False
            for item_id, stream in (await in_thread(reading.read_streams, self.session_pk or 0)).items():
                await self._send_text(item_id, _as_news(stream))
        waiting, self.news = self.news, {}
        for item_id, news in waiting.items():
            await self._send_text(item_id, news)

    async def _send_text(self, item_id: str, news: News) -> None:
        """Send the part of a text that the browser does not have."""
        try:
            delta = self.texts.advance(item_id, news)
        except Gap:
            return  # The look that comes within a second finds what is missing.
        if delta is not None:
            at, text = delta
            message = {"item": item_id, "attempt": news.attempt, "no": news.stream_no, "at": at, "text": text}
            await self._send(message)

    async def _send(self, message: dict[str, Any]) -> None:
        await self.send(json.dumps({**message, "now": timezone.now().timestamp()}, ensure_ascii=False))


def _as_news(stream: StoredStream) -> News:
    return News(stream.attempt, stream.stream_no, 0, stream.text)


def _draw(viewer: Viewer, key: str, since: int | None, also: set[str], first: str) -> Frame | None:
    """Return what a page lacks, or None where the session is not this person's any more."""
    session = reading.find_session(viewer.pk, key)
    if session is None:
        return None
    return whole_frame(session, viewer, first) if since is None else changed_frame(session, viewer, since, also)


def _still_signed_in(scope: Any, user_pk: str) -> bool:
    """Look again whether the login that opened the socket still holds: a sign-out elsewhere ends it here too."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    # What stands in the scope was read when the socket opened.
    fresh: Any = SimpleNamespace(session=store(scope["session"].session_key))
    user = get_user(fresh)
    return bool(user.is_authenticated and user.is_active and str(user.pk) == user_pk)

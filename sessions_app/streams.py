"""Streamed text: shown at once, saved four times a second, forgotten when the answer is stored.

A frame says from which offset of which attempt it speaks and carries everything since the last save. A viewer that
joins reads the saved text first, so any frame that follows fits on it; a lost frame is healed by the next.
"""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType

from django.db import DatabaseError

from sessions_app import leases, outbox
from sessions_app.core.canonical import clean_text
from sessions_app.leases import Claim
from sessions_app.threads import in_database

logger = logging.getLogger(__name__)

PUSH_INTERVAL = 0.08
"""Seconds between two frames; the first word does not wait."""
SAVE_INTERVAL = 0.25


class StreamReporter:
    """Takes a model's text on the loop, pushes it to pages and saves it. The real `TextReporter`."""

    def __init__(self, claimed: Claim) -> None:
        self._claim = claimed
        self._stream_no = 0
        self._text = ""
        self._pushed = -1
        self._saved = 0
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> StreamReporter:
        owner = asyncio.current_task()
        self._tasks = [asyncio.create_task(self._push()), asyncio.create_task(self._save(owner))]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def text(self, delta: str) -> None:
        """Take the next piece of text."""
        self._text += clean_text(delta)
        if self._pushed < 0:
            self._send()
        self._changed.set()

    def restart(self) -> None:
        """Begin anew; the pages replace what they show."""
        self._stream_no += 1
        self._text = ""
        self._saved = 0
        self._pushed = -1

    def _send(self) -> None:
        self._pushed = len(self._text)
        outbox.notify(
            self._claim.effect.session.key.hex,
            {
                "type": "session.stream",
                "item_id": self._claim.effect.owner_item,
                "attempt": self._claim.attempt,
                "stream_no": self._stream_no,
                "offset": self._saved,
                "text": self._text[self._saved :],
            },
        )

    async def _push(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._pushed != len(self._text):
                self._send()
            await asyncio.sleep(PUSH_INTERVAL)

    async def _save(self, owner: asyncio.Task[object] | None) -> None:
        saved = (0, 0)
        while True:
            await asyncio.sleep(SAVE_INTERVAL)
            now = (self._stream_no, len(self._text))
            if now == saved:
                continue
            try:
                current = await in_database(leases.write_stream, self._claim, self._stream_no, self._text[: now[1]])
            except DatabaseError:
                logger.warning("a streamed text could not be saved", extra={"effect": self._claim.effect.pk})
                continue
            if not current:
                if owner is not None:
                    owner.cancel()  # Stopped, or another worker's by now: nobody wants the rest.
                return
            saved = now
            if self._stream_no == now[0]:
                self._saved = now[1]

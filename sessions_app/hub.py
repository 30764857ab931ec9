"""One look a second at all sessions that somebody in this process watches, in one query.

Nudges may be lost: a channel layer drops what it has no room for, and a worker may die between commit and nudge. The
look finds whatever they missed. With nobody watching there is nothing to ask, and nothing is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

from sessions_app import reading
from sessions_app.reading import Pulse
from sessions_app.threads import with_connection

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
THREADS = 4
"""Database connections that all pages of a process share for what is pushed to them."""

P = ParamSpec("P")
R = TypeVar("R")

_threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pages")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function that reads the database on one of a few threads.

    Channels' own default would send the reads of all pages through a single thread, one after the other.
    """
    return await asyncio.get_running_loop().run_in_executor(
        _threads, lambda: with_connection(function, *args, **kwargs)
    )


class Watcher(Protocol):
    """A page that wants to know."""

    def take_pulse(self, pulse: Pulse | None) -> None:
        """Compare a session's pulse with what the page shows; None where the session is gone. Must not block."""


class Hub:
    """The watchers of one event loop, and the task that looks for them."""

    def __init__(self) -> None:
        self._watchers: dict[int, set[Watcher]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    def watch(self, session_pk: int, watcher: Watcher) -> None:
        """Begin to watch a session."""
        self._watchers[session_pk].add(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    def unwatch(self, session_pk: int, watcher: Watcher) -> None:
        """Stop watching a session; whoever was last turns the light off."""
        watchers = self._watchers.get(session_pk, set())
        watchers.discard(watcher)
        if not watchers:
            self._watchers.pop(session_pk, None)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def watched(self) -> list[int]:
        """Keys of the sessions being watched."""
        return list(self._watchers)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                pulses = await in_thread(reading.read_pulses, self.watched)
            except Exception as error:
                logger.warning("could not look for news of watched sessions", extra={"error": type(error).__name__})
                continue
            for session_pk, watchers in list(self._watchers.items()):
                for watcher in list(watchers):
                    watcher.take_pulse(pulses.get(session_pk))


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


def hub() -> Hub:
    """Return the hub of the running event loop. A server has one loop; tests have many."""
    for loop in [loop for loop in _hubs if loop.is_closed()]:
        del _hubs[loop]
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())

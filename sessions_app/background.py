"""The process's one background event loop: effects run on it, and other threads send to Channels through it.

A loop per call would open a connection per call and never close it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
"""At most one; empty before the first call, so that a forked process starts its own."""


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the running loop, starting it at the first call."""
    with _lock:
        if not _loops or not _loops[0].is_running():
            _loops[:] = [_started_loop()]
        return _loops[0]


def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    started = threading.Event()
    loop.call_soon(started.set)
    threading.Thread(target=loop.run_forever, name="background-loop", daemon=True).start()
    started.wait()
    return loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the background loop, from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, background_loop())

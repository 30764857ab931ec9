"""Guards around agent code: a limit on its time, and in development a check that it is pure."""

from __future__ import annotations

import ctypes
import heapq
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from django.db import connection

from sessions_app.conf import configuration
from sessions_app.core.event_log import Transition
from sessions_app.core.purity import Watch, impure, only_pure_code, without_clock_and_chance

T = TypeVar("T")


PAUSE_BEFORE_NEXT = 0.1
"""Seconds after which code that overran and goes on is interrupted again."""


class HandlerOverran(BaseException):
    """Handling an event took too long. Raised inside the agent's code; no `Exception`, so it is hard to swallow."""

    def __str__(self) -> str:
        return "Handling took longer than allowed. Move slow work into an effect."


class _Limit:
    """One running call with its deadline. Once the call has finished, the watchdog no longer fires."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.thread = threading.get_ident()
        self.lock = threading.Lock()
        self.finished = False
        self.fired = False

    def __lt__(self, other: _Limit) -> bool:
        return self.deadline < other.deadline

    def fire(self) -> bool:
        """Raise in the thread that makes the call, unless it has finished; tell whether that was done."""
        with self.lock:
            if not self.finished:
                self.fired = True
                _raise_in(self.thread, HandlerOverran)
            return not self.finished

    def finish(self) -> None:
        with self.lock:
            self.finished = True
            if self.fired:
                _raise_in(self.thread, None)  # takes back what was not delivered yet


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)


class _Watchdog:
    """One thread that watches all running calls."""

    def __init__(self) -> None:
        self.limits: list[_Limit] = []
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def watch(self, limit: _Limit) -> None:
        with self.changed:
            heapq.heappush(self.limits, limit)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="handler-watchdog", daemon=True)
                self.thread.start()
            elif self.limits[0] is limit:
                self.changed.notify()

    def _run(self) -> None:
        while True:
            with self.changed:
                while not self.limits or self.limits[0].deadline > time.monotonic():
                    wait = self.limits[0].deadline - time.monotonic() if self.limits else None
                    self.changed.wait(wait)
                limit = heapq.heappop(self.limits)
            if limit.fire():
                # Code may swallow the error and go on; it is told again until it ends.
                limit.deadline = time.monotonic() + PAUSE_BEFORE_NEXT
                with self.changed:
                    heapq.heappush(self.limits, limit)


_watchdog = _Watchdog()


def limited(function: Callable[[], T], seconds: float) -> T:
    """Call a function and raise `HandlerOverran` inside it when it has taken `seconds`."""
    limit = _Limit(seconds)
    _watchdog.watch(limit)
    try:
        return function()
    finally:
        _finish(limit)


def _finish(limit: _Limit) -> None:
    """Take a limit off, also where it strikes in this very moment."""
    while True:
        try:
            limit.finish()
        except HandlerOverran:
            continue
        break
    if limit.fired:
        _deliver_what_is_signalled()


def _deliver_what_is_signalled() -> None:
    """Let one error arrive. Where one was only taken back, Python 3.11 goes on looking for it at every step."""
    with suppress(HandlerOverran):
        _raise_in(threading.get_ident(), HandlerOverran)
        time.sleep(0)  # it arrives after a call


def guarded(reduce: Callable[[], list[Transition]]) -> list[Transition]:
    """Reduce an event under the time limit; where purity is checked, do it twice and compare."""
    settings = configuration()
    if not settings.CHECK_PURITY:
        return limited(reduce, settings.HANDLER_LIMIT)
    with only_pure_code() as watch, connection.execute_wrapper(_refusing_queries(watch)):
        began = time.monotonic()
        transitions = limited(reduce, settings.HANDLER_LIMIT)
        if transitions[0].status == "failed" or time.monotonic() - began > settings.HANDLER_LIMIT:
            return transitions
        # Without a limit: it ended in time before, and Python 3.11 may hang where an overrun meets a profile function.
        with without_clock_and_chance():
            again = reduce()
    if watch.used:
        return [_failed(transitions[0], str(impure(watch.used[0])))]
    if _decisions(again) != _decisions(transitions):
        reason = (
            "Handling this event twice gave two different results, so a handler is not pure. Handlers may not ask "
            "the clock, chance or the outside; use event.time and event.id, or an effect."
        )
        return [_failed(transitions[0], reason)]
    return transitions


def _failed(transition: Transition, reason: str) -> Transition:
    return Transition(transition.seq, transition.event, "failed", reason)


def _refusing_queries(watch: Watch) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        watch.refuse("the database")

    return refuse


def _decisions(transitions: list[Transition]) -> list[object]:
    return [(transition.status, transition.operations) for transition in transitions]

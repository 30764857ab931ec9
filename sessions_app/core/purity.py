"""Finds agent code that is not pure, while an agent is developed and tested.

Handlers run inline, may run again, and must give the same result years later; so they may not ask the clock or chance,
read files, open connections, start processes or query the database. Python tells when they do: by its audit events,
and by the calls of built-in functions that a profile function sees. Everything is known here by name only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from types import FrameType, ModuleType
from typing import Any, NoReturn

from .errors import HandlerError

FORBIDDEN = {
    "open": "a file",
    "os.remove": "a file",
    "socket.bind": "the network",
    "socket.connect": "the network",
    "socket.getaddrinfo": "the network",
    "socket.gethostbyname": "the network",
    "socket.sendto": "the network",
    "sqlite3.connect": "a database",
    "subprocess.Popen": "another program",
    "os.system": "another program",
}
"""Audit events."""
READ_BY_PYTHON = (".py", ".pyc", ".pyi", ".mo", ".pyc.", "zoneinfo", "tzdata")
"""How paths end, or what they hold, where Python is at work: a late import, a traceback, a translation, a time zone."""
COUNTERS = ("time", "monotonic", "perf_counter", "process_time")
CLOCK = frozenset(
    {*COUNTERS, *(f"{name}_ns" for name in COUNTERS), "localtime", "ctime", "sleep", "generate_time_safe"}
)
TODAY = frozenset({"now", "today", "utcnow"})
CHANCE = frozenset({"random", "getrandbits", "urandom", "getrandom"})
TRUSTED = ("logging", "hypothesis")
"""Modules that may look at the clock, in a log line or while garbage is collected: the handler does not see it."""


@dataclass
class Watch:
    """What agent code reached for."""

    used: list[str] = field(default_factory=list)

    def refuse(self, what: str) -> NoReturn:
        """Put it on record and raise `HandlerError` in the code that does it."""
        self.used.append(what)
        raise impure(what)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)
_hooks: list[Callable[[str, tuple[Any, ...]], None]] = []


def impure(what: str) -> HandlerError:
    """Return the error that tells an author what their handler did."""
    return HandlerError(
        f"A handler used {what}. Handlers are pure: read event.time and event.id, and do everything else in an effect."
    )


@contextmanager
def only_pure_code() -> Iterator[Watch]:
    """Raise `HandlerError` in code of this thread that reaches for the outside, and tell what it reached for."""
    if not _hooks:
        # An audit hook cannot be removed again; it looks at one variable, and only where purity is checked.
        _hooks.append(_on_audit_event)
        sys.addaudithook(_on_audit_event)
    watch = Watch()
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


@contextmanager
def without_clock_and_chance() -> Iterator[None]:
    """Within `only_pure_code`, refuse calls of the clock and of chance too. Every call takes longer meanwhile."""
    # A profiler that a developer runs goes first; then only what differs between two runs is found.
    free = sys.getprofile() is None
    if free:
        sys.setprofile(_on_call)
    try:
        yield
    finally:
        if free:
            sys.setprofile(None)


def _on_audit_event(name: str, arguments: tuple[Any, ...]) -> None:
    if name in FORBIDDEN:
        watch = _watch.get()
        if watch is not None and not (name == "open" and _is_read_by_python(str(arguments[0]))):
            watch.refuse(FORBIDDEN[name])


def _is_read_by_python(path: str) -> bool:
    return path.endswith(READ_BY_PYTHON) or any(part in path for part in READ_BY_PYTHON[4:])


def _on_call(frame: FrameType, event: str, function: Any) -> None:
    if event == "c_call" and (what := _asks_for(function)):
        watch = _watch.get()
        if watch is not None and not str(frame.f_globals.get("__name__")).startswith(TRUSTED):
            watch.refuse(what)


def _asks_for(function: Any) -> str:
    """Return what a built-in function gives that differs from call to call; nothing for most of them."""
    name = function.__name__
    if name not in CLOCK and name not in TODAY and name not in CHANCE:
        return ""
    match function.__self__:
        case ModuleType(__name__="time" | "_uuid") if name in CLOCK:
            return "the clock"
        case type() as cls if issubclass(cls, date) and name in TODAY:
            return "the clock"
        case ModuleType(__name__="posix" | "nt") if name in CHANCE:
            return "chance"
        case owner if name in CHANCE and owner is getattr(sys.modules.get("random"), "_inst", None):
            return "chance"  # the generator that all of Python shares; one seeded with the event's id is no chance
        case _:
            return ""

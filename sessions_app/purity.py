"""Finds agent code that is not pure, while an agent is developed and tested.

Handlers run inline, may run again, and must give the same result years later; so they may not read files, open
connections, start processes or query the database. Python's audit events and Django's execute wrapper tell when they
do. What asks only the clock or chance is found by running it twice.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sessions_app.core.errors import HandlerError

FORBIDDEN = {
    "open": "a file",
    "socket.connect": "the network",
    "socket.getaddrinfo": "the network",
    "sqlite3.connect": "a database",
    "subprocess.Popen": "another program",
    "os.system": "another program",
}
SOURCE_FILES = (".py", ".pyc", ".pyi")
"""Reading these is Python at work: a late import, or a traceback being written."""


class _Watch(threading.local):
    active = False


_watch = _Watch()
_installed = threading.Event()


def impure(what: str) -> HandlerError:
    """Return the error that tells an author what their handler did."""
    return HandlerError(
        f"A handler used {what}. Handlers are pure: read event.time and event.id, and do everything else in an effect."
    )


def _on_audit_event(name: str, arguments: tuple[Any, ...]) -> None:
    if _watch.active and name in FORBIDDEN and not _reads_source(name, arguments):
        raise impure(FORBIDDEN[name])


def _reads_source(name: str, arguments: tuple[Any, ...]) -> bool:
    return name == "open" and str(arguments[0]).endswith(SOURCE_FILES)


@contextmanager
def only_pure_code() -> Iterator[None]:
    """Raise `HandlerError` in code of this thread that reaches for the outside."""
    if not _installed.is_set():
        # An audit hook cannot be removed again; it looks at one flag of the thread, and only where purity is checked.
        sys.addaudithook(_on_audit_event)
        _installed.set()
    _watch.active = True
    try:
        yield
    finally:
        _watch.active = False

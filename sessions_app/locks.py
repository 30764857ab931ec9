"""One writer at a time in a session, on SQLite and on PostgreSQL.

PostgreSQL: the event's transaction holds the session's row, so sessions never wait for each other. SQLite has one
writer for the whole file: a mutex per session keeps this process's events apart while agent code runs, and the
write itself is a short transaction that checks that nobody else moved the session on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from django.db import connection, transaction


class _Mutex:
    """A lock that can be referred to weakly, so that sessions nobody touches hold none."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


_mutexes: WeakValueDictionary[int, _Mutex] = WeakValueDictionary()
_mutexes_lock = threading.Lock()
_writer_lock = threading.RLock()
"""SQLite lets waiting writers poll, unfairly and for seconds; taking turns here is faster and fair."""


@contextmanager
def session_lock(session_pk: int) -> Iterator[None]:
    """Hold a session while an event is read, reduced and saved."""
    if connection.vendor == "sqlite":
        with _mutexes_lock:
            mutex = _mutexes.get(session_pk) or _Mutex()
            _mutexes[session_pk] = mutex
        with mutex.lock:
            yield
    else:
        with transaction.atomic():
            yield


@contextmanager
def writing() -> Iterator[None]:
    """A short write transaction. Inside `session_lock` on PostgreSQL it is part of the event's transaction."""
    if connection.vendor == "sqlite":
        with _writer_lock, transaction.atomic():
            yield
    else:
        with transaction.atomic(savepoint=False):
            yield


def locks_rows() -> bool:
    """Whether the session's row itself can be locked."""
    return connection.vendor != "sqlite"

"""Turns a database URL into an entry of Django's DATABASES.

A database URL can hold a password: messages name the variable and the shape it should have, never its value.
"""

from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SHAPES = "sqlite:///path/to/file.sqlite3 or postgresql://user:password@host:5432/name"

SQLITE_OPTIONS = {
    "timeout": 20,
    # The default (DEFERRED) takes the write lock only at the first write, where of two transactions that have
    # both read, one fails at once with "database is locked", whatever the timeout.
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
}
# A writer that waits, or a transaction left open, becomes an error that can be retried, not a silent queue.
POSTGRESQL_LIMITS = "-c lock_timeout=5s -c idle_in_transaction_session_timeout=10s"
# Under ASGI every request has a thread, and with it a connection, of its own; a Celery task closes its connection too.
# Opening one takes 3 ms on the same host and more over TLS, taking one from the pool 0.2 ms. The pool also bounds how
# many transactions one process runs at a time: who waits longer than the timeout gets an OperationalError.
POOL_TIMEOUT = 5


def database_from_url(variable: str, text: str, base_dir: Path, pool_size: int) -> dict[str, Any]:
    try:
        url = urlsplit(text)
        if url.scheme == "sqlite":
            return sqlite_database(url, base_dir)
        if url.scheme in ("postgresql", "postgres"):
            return postgresql_database(url, pool_size)
    except ValueError as error:
        raise ImproperlyConfigured(f"{variable} cannot be used: {error} Write it as {SHAPES}.") from None
    raise ImproperlyConfigured(f"{variable} names no database Agentsite supports. Write it as {SHAPES}.")


def sqlite_database(url: SplitResult, base_dir: Path) -> dict[str, Any]:
    path = unquote(url.path).removeprefix("/")
    if url.netloc or not path:
        raise ValueError("an SQLite URL has three slashes, or four before an absolute path.")
    if path == ":memory:":
        raise ValueError("an in-memory database is private to one thread, and Agentsite runs several.")
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(base_dir / path),
        # Threads that work keep their connection. Closing the last one makes SQLite write its log back and wait for the
        # disk, 15 ms after every transaction where each closes its own; opening one costs a millisecond more.
        "CONN_MAX_AGE": None,
        "OPTIONS": dict(SQLITE_OPTIONS),
    }


def postgresql_database(url: SplitResult, pool_size: int) -> dict[str, Any]:
    name = unquote(url.path).removeprefix("/")
    if not name:
        raise ValueError("the database name after the host is missing.")
    options = dict(parse_qsl(url.query))
    limits = f"{POSTGRESQL_LIMITS} {options.pop('options', '')}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": unquote(url.hostname or options.pop("host", "")),
        "PORT": port_of(url),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **options,
            "options": limits,
            "pool": {"min_size": 0, "max_size": pool_size, "timeout": POOL_TIMEOUT},
        },
    }


def port_of(url: SplitResult) -> str:
    try:
        return str(url.port or "")
    except ValueError:
        # urllib's own message would repeat what stands there, which may be part of a password.
        raise ValueError("the port is not a number; percent-encode special characters in the password.") from None

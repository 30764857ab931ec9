"""Which services the tests can use, and how a test gets a database of its own on a real server."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import kombu
import psycopg
import redis

POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL") or "postgresql://postgres@127.0.0.1:5432/postgres"
REDIS_URL = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/0"
AMQP_URL = os.environ.get("TEST_AMQP_URL") or "amqp://guest:guest@127.0.0.1:5672//"


def check_postgres() -> None:
    psycopg.connect(POSTGRES_URL, connect_timeout=2).close()


def check_redis() -> None:
    redis.Redis.from_url(REDIS_URL, socket_connect_timeout=2).ping()


def check_amqp() -> None:
    with kombu.Connection(AMQP_URL, connect_timeout=2) as connection:
        connection.connect()


def problem_with(check: Callable[[], None]) -> str | None:
    try:
        check()
    except Exception as error:  # every client library has its own
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return None


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def postgres_url(name: str) -> str:
    """The URL of another database on the test server."""
    return urlsplit(POSTGRES_URL)._replace(path=f"/{name}").geturl()


@contextmanager
def shared_services(broker_url: str = REDIS_URL) -> Iterator[dict[str, str]]:
    """Variables for processes that work together: a database, a broker and a channel layer of their own."""
    namespace = f"test-{uuid.uuid4().hex[:12]}"
    with temporary_postgres_database() as database_url:
        try:
            yield {
                "DATABASE_URL": database_url,
                "BROKER_URL": broker_url,
                "REDIS_URL": REDIS_URL,
                "AGENTSITE_NAMESPACE": namespace,
            }
        finally:
            with kombu.Connection(broker_url) as connection:
                kombu.Queue(namespace, channel=connection.default_channel).delete()
                kombu.Exchange(namespace, channel=connection.default_channel).delete()
            with redis.Redis.from_url(REDIS_URL) as client:
                for key in client.scan_iter(f"*{namespace}*"):
                    client.delete(key)


@contextmanager
def temporary_postgres_database() -> Iterator[str]:
    """The URL of an empty database that is dropped afterwards, whoever is still connected to it."""
    name = f"agentsite_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(POSTGRES_URL, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield postgres_url(name)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())

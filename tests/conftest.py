"""Fixtures for tests of every kind. Helpers without a fixture: tests/processes.py and tests/services.py."""

import pytest

from tests.services import shared_services, temporary_postgres_database


@pytest.fixture
def postgres_url():
    """An empty PostgreSQL database of the test's own, for processes that the test starts."""
    with temporary_postgres_database() as url:
        yield url


@pytest.fixture
def redis_services():
    """Variables for processes that share PostgreSQL and Redis with each other and with nobody else."""
    with shared_services() as variables:
        yield variables

"""One site on PostgreSQL, Redis and a channel layer for all tests here; each starts and ends its own processes."""

import pytest

from tests.process.sites import Site, shared_site


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    with shared_site(tmp_path_factory.mktemp("shared")) as site:
        yield site


@pytest.fixture
def alone(tmp_path):
    """A site on SQLite."""
    with Site(tmp_path) as site:
        yield site

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from sessions_app import runner
from sessions_app.providers import ProviderConfiguration, configure
from sessions_app.providers.configuration import configuration
from tests.engine.conftest import Pump, wait_for
from tools_app.services import configure_services
from tools_app.services.pace import DEFAULT_DELAY


@pytest.fixture(autouse=True)
def all_answer_at_once() -> Iterator[None]:
    """The stand-ins and the demo model wait for nothing, and no key of the environment is used."""
    before = configuration()
    configure(ProviderConfiguration(demo_delay=0))
    configure_services(delay=0)
    yield
    configure_services(delay=DEFAULT_DELAY)
    configure(before)


@pytest.fixture
def user(transactional_db: None, settings: Any) -> Iterator[Any]:
    """Somebody whose sessions are in the database, where handlers are checked for purity."""
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": True}
    yield get_user_model().objects.create_user("ann")
    wait_for(lambda: not runner.running_claims(), "effects that still run")
    connection.close()


@pytest.fixture
def pump(transactional_db: None) -> Pump:
    """Runs effects through the real sweeper, runner and loop."""
    return Pump()

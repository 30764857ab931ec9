"""Fixtures of the page tests: people, sessions, and what the model says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from sessions_app import engine, runner
from sessions_app.core.events import Sender
from sessions_app.models import StoredSession
from sessions_app.providers.scripted import ScriptedModel
from tests.engine.conftest import Pump, wait_for
from tests.engine.stage import brain, gate
from tests.web.agents import ShowAgent


@pytest.fixture(autouse=True)
def stage(settings: Any) -> Iterator[None]:
    """Let nothing of one test reach the next."""
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": True}
    gate.reset()
    brain.model = ScriptedModel(lambda request: "Noted.")
    yield
    gate.opened.set()


@pytest.fixture
def user(transactional_db: None) -> Iterator[Any]:
    yield get_user_model().objects.create_user("ann", password="correct horse")
    gate.opened.set()
    wait_for(lambda: not runner.running_claims(), "effects that still run")
    connection.close()


@pytest.fixture
def other(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("bob")


@pytest.fixture
def ann(user: Any) -> Sender:
    return Sender("person", str(user.pk), user.username)


@pytest.fixture
def page(user: Any) -> Client:
    """Ann's browser."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def session(user: Any) -> StoredSession:
    return engine.create_session(ShowAgent.name, {"city": "Tokyo"}, user=user)


@pytest.fixture
def script() -> Callable[..., ScriptedModel]:
    """Say what the model answers, in order."""

    def say(*responses: Any) -> ScriptedModel:
        brain.model = model = ScriptedModel(responses)
        return model

    return say


@pytest.fixture
def pump(transactional_db: None) -> Pump:
    return Pump()


@pytest.fixture
def talk(session: StoredSession, ann: Sender) -> Callable[[str], Any]:
    """Say something to the session."""

    def say(text: str) -> Any:
        return engine.dispatch_event(session, "@platform/user-message", {"text": text}, sender=ann)

    return say

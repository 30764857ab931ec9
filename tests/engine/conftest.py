"""Fixtures of the engine tests. After every one of them the history of every session must give its rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models.functions import Now

from sessions_app import engine, history, runner, sweeper
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredSession
from sessions_app.providers.scripted import ScriptedModel
from tests.engine import agents, desk
from tests.engine.stage import brain, gate

PATIENCE = 15.0
"""Seconds after which a test that waits has failed."""


@pytest.fixture(autouse=True)
def stage(settings: Any) -> Iterator[None]:
    """Check purity, wait for nothing, and let nothing of one test reach the next."""
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": True}
    gate.reset()
    brain.model = ScriptedModel(lambda request: "Noted.")
    yield
    gate.opened.set()


@pytest.fixture(autouse=True)
def history_gives_the_rows(transactional_db: None, stage: None) -> Iterator[None]:
    """The promise behind all others, checked after every test."""
    yield
    gate.opened.set()
    wait_for(lambda: not runner.running_claims(), "effects that still run")
    differences = [history.replay(session) for session in StoredSession.objects.all()]
    connection.close()
    assert not [str(difference) for difference in differences if difference]


@pytest.fixture
def user(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def ann(user: Any) -> Sender:
    return Sender("person", str(user.pk), user.username)


@pytest.fixture
def counter(user: Any) -> StoredSession:
    """A session that counts."""
    return engine.create_session(agents.CounterAgent.name, {}, user=user)


@pytest.fixture
def talk(user: Any) -> StoredSession:
    """A session that talks."""
    return engine.create_session(desk.DeskAgent.name, {}, user=user)


@pytest.fixture
def script() -> Callable[..., ScriptedModel]:
    """Say what the model answers, in order."""

    def say(*responses: Any) -> ScriptedModel:
        brain.model = model = ScriptedModel(responses)
        return model

    return say


def wait_for(condition: Callable[[], object], what: str = "condition") -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.005)


class Pump:
    """Runs effects through the real sweeper, runner and loop."""

    def __call__(self) -> None:
        """Run until no effect is open, without the pauses between attempts."""
        self.until(lambda: not open_effects() and not runner.running_claims(), skip_pauses=True)

    def until(self, condition: Callable[[], object], *, skip_pauses: bool = False) -> None:
        """Run until a condition holds."""

        def pumped() -> bool:
            if skip_pauses:
                pending = StoredEffect.objects.filter(status=StoredEffect.Status.PENDING, due_at__gt=Now())
                pending.update(due_at=Now())
            sweeper.sweep()
            return bool(condition())

        wait_for(pumped, f"open effects: {open_effects()}")


def open_effects() -> list[tuple[str, str, str]]:
    """Return id, type and status of the effects that have no outcome yet."""
    effects = StoredEffect.objects.exclude(status=StoredEffect.Status.ENDED)
    return list(effects.values_list("effect_id", "type", "status"))


@pytest.fixture
def pump(transactional_db: None) -> Pump:
    return Pump()


def in_threads(*work: Callable[[], Any]) -> list[Any]:
    """Call functions in threads of their own at the same moment; return what each returned or raised, in order.

    Each call ends as a web request does: the connection is given back.
    """
    barrier = threading.Barrier(len(work))
    results: list[Any] = [None] * len(work)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work[number]()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[number]) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results

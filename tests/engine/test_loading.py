"""What an event reads: what it touches, and little by little more where its handler asks for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models import F

from sessions_app import engine, runner, store, sweeper, tasks
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredSession
from tests.engine.conftest import Pump, wait_for
from tests.engine.measuring import cost
from tests.engine.stage import gate
from tests.engine.work import claim, only_effect, overdue, words

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_handler_that_looks_at_every_item_costs_few_queries(
    counter: StoredSession, ann: Sender, settings: Any
) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": False}
    engine.dispatch_event(counter, "t-filled", {"count": 1000}, sender=ann)
    with cost() as counted:
        assert engine.dispatch_event(counter, "t-surveyed", {}, sender=ann).status == "applied"
    counter.refresh_from_db()
    assert counter.title == "1000 items"
    assert counted.reads < 20


def test_a_handler_that_looks_at_one_item_reads_that_one(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(talk, "t-filled", {"count": 500}, sender=ann)
    with cost() as counted:
        engine.dispatch_event(talk, "@platform/skip", {}, sender=Sender("system"), item_id="2_7")
    assert counted.rows_read < 5


def test_time_never_goes_back(counter: StoredSession, ann: Sender) -> None:
    StoredSession.objects.filter(pk=counter.pk).update(updated_at=F("updated_at") + timedelta(hours=1))
    counter.refresh_from_db()
    engine.dispatch_event(counter, "t-added", {}, sender=ann)
    engine.dispatch_event(counter, "t-added", {}, sender=ann)
    times = StoredEvent.objects.filter(session=counter, seq__gt=1).values_list("time", flat=True)
    assert set(times) == {counter.updated_at}


def test_a_session_deleted_while_its_effect_runs(counter: StoredSession, ann: Sender, pump: Pump, caplog: Any) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "report"}, sender=ann)
    pump.until(lambda: gate.begun["one"])
    StoredSession.objects.filter(pk=counter.pk).delete()
    gate.opened.set()
    wait_for(lambda: not runner.running_claims(), "the effect of a session that is gone")
    sweeper.renew_leases()
    assert not StoredEvent.objects.exists()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_hint_may_come_twice_late_or_for_nothing(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    effect = only_effect(counter)
    gate.opened.set()
    for _ in range(3):
        tasks.run_effect(effect.pk)
    pump()
    tasks.run_effect(effect.pk)
    tasks.run_effect(effect.pk + 1000)
    wait_for(lambda: not runner.running_claims())
    assert (gate.begun["one"], words(counter)) == (1, ["paid one"])


def test_a_result_the_database_refuses_does_not_wait_for_ever(
    counter: StoredSession, ann: Sender, pump: Pump, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    effect = only_effect(counter)
    gate.opened.set()
    saved = store.save

    def refuse(loaded: Any, transitions: Any, columns: Any) -> Any:
        if any(transition.event.type == "t-secret" for transition in transitions):
            raise IntegrityError("no row of this kind")
        return saved(loaded, transitions, columns)

    monkeypatch.setattr(store, "save", refuse)
    pump.until(lambda: gate.begun["one"])
    wait_for(lambda: not runner.running_claims())
    sweeper.sweep()
    effect.refresh_from_db()
    assert (effect.status, effect.outcome) == ("reported", "")
    overdue(effect)
    sweeper.sweep()
    effect.refresh_from_db()
    assert (effect.outcome, effect.message) == ("failed", "Its result could not be stored.")
    assert "no row of this kind" in caplog.text


def test_a_busy_session_keeps_its_result(
    counter: StoredSession, ann: Sender, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    effect = only_effect(counter)
    from sessions_app import leases
    from sessions_app.core.errors import EventRejected

    payload = {"effect_id": effect.effect_id, "outcome": "done"}
    assert leases.report(claim(effect), "@platform/effect-ended", payload)
    overdue(effect)

    def busy(effect: Any) -> None:
        raise EventRejected("busy", "The session is busy.")

    with monkeypatch.context() as context:
        context.setattr(engine, "apply_result", busy)
        sweeper.sweep()
    effect.refresh_from_db()
    assert effect.status == "reported"
    sweeper.sweep()
    effect.refresh_from_db()
    assert effect.outcome == "done"

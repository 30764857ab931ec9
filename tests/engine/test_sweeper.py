"""The sweeper: deadlines pass, unknown work is left alone, and one bad effect does not hold up the others."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from sessions_app import engine, leases, runner, sweeper
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump, wait_for
from tests.engine.stage import calls, gate
from tests.engine.work import claim, only_effect, overdue, words

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def launch(session: StoredSession, sender: Sender, what: str = "report", name: str = "one") -> StoredEffect:
    before = set(session.effects.values_list("pk", flat=True))
    engine.dispatch_event(session, "t-launched", {"what": what, "name": name}, sender=sender)
    return session.effects.exclude(pk__in=before).get()


def outcome(effect: StoredEffect) -> tuple[str, str]:
    effect.refresh_from_db()
    return effect.outcome, effect.message


def test_a_deadline_passes_whatever_became_of_the_worker(counter: StoredSession, ann: Sender) -> None:
    waiting, running, saved = (launch(counter, ann, name=name) for name in "abc")
    claim(running)
    assert leases.report(claim(saved), "@platform/effect-ended", {"effect_id": saved.effect_id, "outcome": "done"})
    for effect in (waiting, running, saved):
        overdue(effect)
    sweeper.sweep()
    alone = ("timed out", "No worker was free for it for 300 s.")
    late = ("timed out", "It took longer than 300 s.")
    assert [outcome(effect) for effect in (waiting, running, saved)] == [alone, late, ("done", "")]
    assert gate.begun == {}


def test_code_that_ignores_its_deadline_is_left_behind(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(calls(("stubborn", {})), "Too slow.")
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Hi"}, sender=ann)
    pump.until(lambda: gate.begun["stubborn"] > 1)  # It was cancelled, and goes on.
    pump.until(lambda: len(model.requests) == 2)
    assert StoredItem.objects.filter(session=talk, type="@platform/tool-error").count() == 1
    gate.opened.set()
    pump()
    assert StoredEvent.objects.filter(session=talk, type="@platform/tool-finished").count() == 0


def test_what_nobody_here_knows_is_left_alone_and_logged_once(
    counter: StoredSession, ann: Sender, pump: Pump, caplog: Any
) -> None:
    effect = launch(counter, ann)
    StoredEffect.objects.filter(pk=effect.pk).update(type="t-from-tomorrow")
    for _ in range(5):
        sweeper.sweep()
    assert outcome(effect) == ("", "")
    assert (effect.status, effect.attempt) == ("pending", 0)
    logged = [record for record in caplog.records if "t-from-tomorrow" in str(record.__dict__)]
    assert len(logged) == 1
    overdue(effect)
    sweeper.sweep()
    assert outcome(effect)[0] == "timed out"
    counter.delete()  # Its rows were changed by hand, so its history cannot give them.


def test_much_unknown_work_does_not_hide_the_rest(
    counter: StoredSession, ann: Sender, pump: Pump, settings: Any
) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "EFFECTS_PER_WORKER": 2}
    strangers = [launch(counter, ann, name=f"{number}") for number in range(5)]
    StoredEffect.objects.filter(pk__in=[effect.pk for effect in strangers]).update(type="t-from-beyond")
    known = launch(counter, ann, name="known")
    gate.opened.set()
    pump.until(lambda: outcome(known)[0] == "done")
    StoredEffect.objects.filter(pk__in=[effect.pk for effect in strangers]).update(type="t-report")
    engine.dispatch_event(counter, "@platform/stop", {}, sender=ann)


def test_a_full_worker_still_keeps_deadlines(counter: StoredSession, ann: Sender, pump: Pump, settings: Any) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "EFFECTS_PER_WORKER": 1}
    first = launch(counter, ann, name="first")
    pump.until(lambda: gate.begun["first"])
    backlog = [launch(counter, ann, name=f"{number}") for number in range(3)]
    late = launch(counter, ann, name="late")
    overdue(late)
    sweeper.sweep()
    assert outcome(late)[0] == "timed out"
    assert [outcome(effect)[0] for effect in (first, *backlog)] == [""] * 4
    gate.opened.set()
    pump()
    assert [outcome(effect)[0] for effect in (first, *backlog)] == ["done"] * 4


def test_an_effect_that_cannot_be_attended_to_does_not_hold_up_others(
    user: Any, counter: StoredSession, ann: Sender, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    bad, good = launch(counter, ann, name="bad"), launch(counter, ann, name="good")
    for effect in (bad, good):
        overdue(effect)
    end_effect = engine.end_effect

    def fail_for_one(effect: StoredEffect, *arguments: Any, **options: Any) -> Any:
        if effect.pk == bad.pk:
            raise ValueError("nobody expected this")
        return end_effect(effect, *arguments, **options)

    monkeypatch.setattr(engine, "end_effect", fail_for_one)
    sweeper.sweep()
    assert outcome(good)[0] == "timed out"
    assert "nobody expected this" in caplog.text
    monkeypatch.undo()
    sweeper.sweep()
    assert outcome(bad)[0] == "timed out"


def test_a_session_whose_agent_is_not_here_waits_without_harm(
    user: Any, counter: StoredSession, ann: Sender, pump: Pump
) -> None:
    other = engine.create_session("t-counter", {}, user=user)
    orphan, good = launch(counter, ann), launch(other, ann, name="good")
    StoredSession.objects.filter(pk=counter.pk).update(agent="t-gone")
    overdue(orphan)
    overdue(good)
    sweeper.sweep()
    assert (outcome(orphan)[0], outcome(good)[0]) == ("", "timed out")
    StoredSession.objects.filter(pk=counter.pk).update(agent="t-counter")
    sweeper.sweep()
    assert outcome(orphan)[0] == "timed out"


def test_a_claim_that_fails_gives_its_slot_back(
    counter: StoredSession, ann: Sender, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = launch(counter, ann, "pay")
    free = runner.free_slots()

    def no_database(*_: Any, **__: Any) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as away:
        away.setattr(leases, "claim", no_database)
        with pytest.raises(OperationalError):
            runner.take(only_effect(counter))
    assert runner.free_slots() == free
    gate.opened.set()
    pump()
    assert (outcome(effect)[0], words(counter)) == ("done", ["paid one"])


def test_renewing_leases_spares_what_began_meanwhile(
    counter: StoredSession, ann: Sender, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(counter, ann, name="old")
    pump.until(lambda: gate.begun["old"])
    late = launch(counter, ann, "pay", name="new")
    renew = leases.renew

    def slow_renewal(claims: Any) -> Any:
        lost = renew(claims)
        runner.take(StoredEffect.objects.select_related("session").get(pk=late.pk))
        wait_for(lambda: gate.begun["new"], "the effect that begins meanwhile")
        return lost

    monkeypatch.setattr(leases, "renew", slow_renewal)
    sweeper.renew_leases()
    gate.opened.set()
    pump()
    assert outcome(late) == ("done", "")
    assert gate.begun["new"] == 1


def test_what_was_stopped_is_cancelled_where_it_runs(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    effect = launch(counter, ann)
    pump.until(lambda: gate.begun["one"])
    engine.dispatch_event(counter, "@platform/stop", {}, sender=ann)
    assert runner.running_claims()
    sweeper.renew_leases()
    wait_for(lambda: not runner.running_claims(), "the cancelled effect")
    assert outcome(effect)[0] == "cancelled"


def test_the_leases_of_what_runs_are_renewed(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    effect = launch(counter, ann)
    pump.until(lambda: gate.begun["one"])
    effect.refresh_from_db()
    before = effect.lease_until
    sweeper.renew_leases()
    effect.refresh_from_db()
    assert before is not None
    assert effect.lease_until is not None
    assert effect.lease_until > before
    gate.opened.set()
    pump()

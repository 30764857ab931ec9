"""Workers that die: what they ran goes on elsewhere, or is said to be unknown, and comes to one outcome."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app import engine, leases, runner, sweeper
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession
from tests.engine.conftest import Pump, wait_for
from tests.engine.stage import calls, gate
from tests.engine.work import claim, lose, only_effect, words

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def launch(session: StoredSession, sender: Sender, what: str) -> StoredEffect:
    engine.dispatch_event(session, "t-launched", {"what": what}, sender=sender)
    return only_effect(session)


def state(effect: StoredEffect) -> tuple[str, str, int, int]:
    effect.refresh_from_db()
    return effect.status, effect.outcome, effect.attempt, effect.losses


def test_another_worker_takes_over(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    effect = launch(counter, ann, "report")
    claim(effect)
    sweeper.sweep()
    assert state(effect) == ("running", "", 1, 0)  # The lease holds, so nobody else touches it.
    lose(effect)
    gate.opened.set()
    pump()
    assert state(effect) == ("ended", "done", 2, 1)
    assert words(counter) == ["one began", "one ended"]
    assert StoredEvent.objects.filter(session=counter, type="@platform/effect-ended").count() == 1


@pytest.mark.fault("B74")
def test_a_worker_lost_too_often_is_a_failure(counter: StoredSession, ann: Sender) -> None:
    effect = launch(counter, ann, "report")
    for losses in (1, 2):
        claim(effect)
        lose(effect)
        assert leases.put_back(StoredEffect.objects.get(pk=effect.pk))
        assert state(effect) == ("pending", "", losses, losses)
    claim(effect)
    lose(effect)
    sweeper.sweep()
    assert state(effect) == ("ended", "failed", 3, 2)
    assert effect.message == "The worker was lost 3 times while it ran."
    assert gate.begun == {}


def test_what_may_have_happened_once_is_not_repeated(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    effect = launch(counter, ann, "pay")
    claim(effect)
    lose(effect)
    gate.opened.set()
    pump()
    assert state(effect) == ("ended", "outcome unknown", 1, 0)
    assert "may or may not have happened" in effect.message
    assert (gate.begun, words(counter)) == ({}, [])


def test_what_cannot_have_happened_is_run(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    effect = launch(counter, ann, "pay")
    claim(effect, starts=False)
    lose(effect)
    gate.opened.set()
    pump()
    assert state(effect) == ("ended", "done", 2, 1)
    assert words(counter) == ["paid one"]
    assert gate.begun["one"] == 1


def test_a_worker_that_was_only_slow_changes_nothing(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    """The lease ran out while its code went on: it is run again elsewhere, and the first one's result is refused."""
    effect = launch(counter, ann, "report")
    pump.until(lambda: gate.begun["one"])
    lose(effect)
    effect.refresh_from_db()
    assert leases.put_back(effect)
    second = claim(effect)
    gate.opened.set()
    wait_for(lambda: not runner.running_claims(), "the slow worker")
    assert state(effect) == ("running", "", 2, 1)
    assert words(counter) == ["one began"]
    assert leases.report(second, "@platform/effect-ended", {"effect_id": "2_0", "outcome": "done"})
    assert engine.apply_result(effect) is not None
    assert state(effect) == ("ended", "done", 2, 1)


def test_a_saved_result_survives_its_worker(
    counter: StoredSession, ann: Sender, pump: Pump, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    effect = launch(counter, ann, "pay")
    gate.opened.set()
    with monkeypatch.context() as dying:
        dying.setattr(engine, "apply_result", lambda effect: 1 / 0)
        pump.until(lambda: gate.begun["one"])
        wait_for(lambda: not runner.running_claims(), "the dying worker")
    assert state(effect)[:2] == ("reported", "")
    sweeper.sweep()
    assert state(effect)[:2] == ("reported", "")  # Its worker may still apply it itself.
    lose(effect)
    sweeper.sweep()
    assert state(effect) == ("ended", "done", 1, 1)
    assert words(counter) == ["paid one"]
    assert gate.begun["one"] == 1
    assert "an effect could not be finished" in caplog.text


class ProcessEnds(BaseException):
    """Stands for a handler that takes its process with it."""


@pytest.mark.fault("B74")
def test_a_result_that_brings_down_every_worker_is_given_up(
    counter: StoredSession, ann: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = launch(counter, ann, "report")
    assert leases.report(claim(effect), "@platform/effect-ended", {"effect_id": "2_0", "outcome": "done"})
    deaths = 0

    def end_process(effect: StoredEffect) -> None:
        nonlocal deaths
        deaths += 1
        raise ProcessEnds

    with monkeypatch.context() as deadly:
        deadly.setattr(engine, "apply_result", end_process)
        for _ in range(5):
            lose(effect)
            with pytest.raises(ProcessEnds):
                sweeper.sweep()
            sweeper.sweep()  # What another worker is applying is left to it.
        lose(effect)
        sweeper.sweep()
    assert deaths == 5
    assert state(effect)[:2] == ("ended", "failed")
    assert effect.message == "The worker was lost each time its result was applied."
    assert engine.dispatch_event(counter, "t-added", {}, sender=ann).status == "applied"


def test_a_result_that_cannot_be_applied_fails_its_effect(talk: StoredSession, ann: Sender, script: Any) -> None:
    script("Sorry.")
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Hi"}, sender=ann)
    effect = only_effect(talk)
    claimed = claim(effect)
    assert leases.report(claimed, "@platform/model-responded", {"effect_id": effect.effect_id, "response": "nonsense"})
    receipt = engine.apply_result(effect)
    assert receipt is not None
    assert receipt.status == "failed"
    assert state(effect)[:2] == ("ended", "failed")
    assert effect.message == f"Its result could not be applied; event {receipt.seq} says why."
    talk.refresh_from_db()
    assert (talk.request, talk.blocked_code) == ("", "failed")
    assert engine.dispatch_event(talk, "@platform/retry", {}, sender=ann).status == "applied"


def test_a_tool_whose_result_cannot_be_applied_tells_the_model(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script(calls(("work", {"name": "a"})), "Sorry.")
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Hi"}, sender=ann)
    pump.until(lambda: gate.begun["a"])
    effect = only_effect(talk)
    items = [{"type": "t-unknown", "data": {}, "effects": []}]
    payload = {"effect_id": effect.effect_id, "items": items, "events": []}
    assert leases.report(leases.Claim(effect, effect.attempt, 1.0), "@platform/tool-finished", payload)
    engine.apply_result(effect)
    gate.opened.set()
    pump()
    (result,) = [part for message in model.requests[1].messages for part in message.parts if part.type == "tool_result"]
    assert "Its result could not be applied" in result.text
    assert result.is_error
    error = StoredItem.objects.get(session=talk, type="@platform/tool-error")
    assert error.parent == effect.owner_item

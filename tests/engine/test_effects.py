"""Effects: what they send counts once, and each comes to one outcome, whatever its code does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app import engine, leases
from sessions_app.core.events import Sender
from sessions_app.models import StoredEffect, StoredEvent, StoredSession
from tests.engine.conftest import Pump, in_threads, wait_for
from tests.engine.stage import calls, gate
from tests.engine.work import claim, give_up, lose, only_effect, words

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

SECRET = "t-secret"


@pytest.fixture
def launched(counter: StoredSession, ann: Sender) -> StoredSession:
    engine.dispatch_event(counter, "t-launched", {"what": "report"}, sender=ann)
    return counter


def outcomes(session: StoredSession) -> list[tuple[str, int, str]]:
    return list(session.effects.order_by("id").values_list("outcome", "attempt", "message"))


def test_an_effect_sends_events_and_returns_the_last(launched: StoredSession, pump: Pump) -> None:
    gate.opened.set()
    pump()
    assert words(launched) == ["one began", "one ended"]
    assert outcomes(launched) == [("done", 1, "")]
    effect = launched.effects.get()
    assert effect.started_at is not None
    assert effect.created_at <= effect.started_at <= effect.ended_at
    assert (effect.result, effect.lease_until) == ("", None)
    sent = StoredEvent.objects.filter(session=launched, type=SECRET).order_by("seq")
    assert list(sent.values_list("sender_kind", "sender_id", "sender_name", "effect_id", "ordinal", "cause")) == [
        ("effect", "2_0", "t-report", "2_0", 1, None),
        ("effect", "2_0", "t-report", "2_0", None, 4),  # caused by the outcome, which is one event
    ]


def test_what_an_attempt_sent_is_not_sent_again(launched: StoredSession, pump: Pump) -> None:
    effect = only_effect(launched)
    lost = claim(effect)
    engine.dispatch_from_effect(effect, lost.attempt, 1, SECRET, {"word": "one began"})
    lose(effect)
    gate.opened.set()
    pump()
    assert words(launched) == ["one began", "one ended"]
    assert outcomes(launched) == [("done", 2, "")]


def test_the_first_of_the_kth_events_counts(launched: StoredSession, pump: Pump) -> None:
    effect = only_effect(launched)
    first = engine.dispatch_from_effect(effect, claim(effect).attempt, 1, SECRET, {"word": "first"})
    give_up(effect)
    second = claim(effect)
    again = engine.dispatch_from_effect(effect, second.attempt, 1, SECRET, {"word": "something else"})
    assert (again.seq, again.repeated) == (first.seq, True)
    next_one = engine.dispatch_from_effect(effect, second.attempt, 2, SECRET, {"word": "second"})
    assert not next_one.repeated
    assert words(launched) == ["first", "second"]


def test_a_kth_event_sent_by_two_threads_counts_once(launched: StoredSession) -> None:
    effect = only_effect(launched)
    attempt = claim(effect).attempt

    def send() -> Any:
        return engine.dispatch_from_effect(effect, attempt, 1, SECRET, {"word": "once"})

    receipts = in_threads(*[send] * 4)
    assert sum(not receipt.repeated for receipt in receipts) == 1
    assert words(launched) == ["once"]


def test_news_of_an_attempt_that_was_given_up_is_put_on_record(launched: StoredSession) -> None:
    effect = only_effect(launched)
    late = claim(effect)
    give_up(effect)
    current = claim(effect)
    receipt = engine.dispatch_from_effect(effect, late.attempt, 1, SECRET, {"word": "late"})
    assert receipt.status == "dropped"
    event = StoredEvent.objects.get(session=launched, seq=receipt.seq)
    assert "given up" in event.reason
    assert (event.delta, event.ordinal, words(launched)) == ("[]", None, [])
    # Its number is not used up by that: the attempt that counts sends its first event.
    assert engine.dispatch_from_effect(effect, current.attempt, 1, SECRET, {"word": "in time"}).status == "applied"
    assert words(launched) == ["in time"]


@pytest.mark.fault("B73")
def test_the_outcome_of_an_attempt_that_was_given_up_changes_nothing(launched: StoredSession, pump: Pump) -> None:
    effect = only_effect(launched)
    late = claim(effect)
    give_up(effect)
    assert not leases.report(late, "@platform/effect-ended", {"effect_id": "2_0", "outcome": "failed"})
    claim(effect)
    assert not leases.report(late, "@platform/effect-ended", {"effect_id": "2_0", "outcome": "failed"})
    assert engine.end_effect(effect, "failed", "late") is None
    assert engine.apply_result(effect) is None
    assert outcomes(launched) == [("", 2, "The worker stopped; another takes over.")]
    lose(effect)
    gate.opened.set()
    pump()
    assert [outcome for outcome, _, _ in outcomes(launched)] == ["done"]
    assert engine.dispatch_from_effect(effect, 3, 9, SECRET, {"word": "late"}).status == "dropped"
    assert StoredEvent.objects.filter(session=launched, type="@platform/effect-ended").count() == 1


@pytest.mark.fault("B21")
def test_two_results_at_once_are_applied_once(launched: StoredSession) -> None:
    effect = only_effect(launched)
    assert leases.report(claim(effect), "@platform/effect-ended", {"effect_id": "2_0", "outcome": "done"})
    results = in_threads(*[lambda: engine.apply_result(effect)] * 4)
    assert sum(result is not None for result in results) == 1
    assert outcomes(launched) == [("done", 1, "")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("this is wrong", "RuntimeError: this is wrong"),
        ("exit", "SystemExit: 3"),
        ("cancelled", "CancelledError: by itself"),
        ("nul", "ValueError: a \ufffd and a \ufffd in the text"),
    ],
)
@pytest.mark.fault("B74")
def test_whatever_the_code_raises_is_an_outcome(
    counter: StoredSession, ann: Sender, pump: Pump, name: str, message: str
) -> None:
    engine.dispatch_event(counter, "t-launched", {"what": "faulty", "name": name}, sender=ann)
    pump()
    assert outcomes(counter) == [("failed", 1, message)]
    traceback = counter.effects.get().traceback
    assert traceback.startswith("Traceback")
    assert "\x00" not in traceback
    assert gate.begun[name] == 1
    assert engine.dispatch_event(counter, "t-added", {}, sender=ann).status == "applied"


@pytest.mark.fault("B74")
def test_an_event_that_cannot_be_handled_fails_its_effect(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    engine.dispatch_event(counter, "t-launched", {"what": "report"}, sender=ann)
    gate.opened.set()
    pump()
    assert outcomes(counter) == [("failed", 1, "Its event t-secret (event 4) could not be handled.")]
    statuses = StoredEvent.objects.filter(session=counter).order_by("seq").values_list("type", "status")
    assert list(statuses)[3:] == [(SECRET, "failed"), ("@platform/effect-ended", "applied")]


def test_a_result_the_owner_cannot_handle_is_a_failed_event(counter: StoredSession, ann: Sender, pump: Pump) -> None:
    engine.dispatch_event(counter, "t-broke", {}, sender=ann)
    engine.dispatch_event(counter, "t-launched", {"what": "pay"}, sender=ann)
    gate.opened.set()
    pump()
    assert outcomes(counter) == [("done", 1, "")]  # It was paid: saying that it failed would be wrong.
    assert StoredEvent.objects.get(session=counter, type=SECRET).status == "failed"
    # The event can be tried again once its handler can take it.
    engine.dispatch_event(counter, "t-mended", {}, sender=ann)
    failed = StoredEvent.objects.get(session=counter, type=SECRET)
    receipt = engine.dispatch_event(counter, SECRET, json.loads(failed.payload), sender=ann, retry_of=failed.seq)
    assert receipt.status == "applied"
    assert words(counter) == ["paid one"]


@pytest.mark.fault("B23", "B26")
def test_tools_that_run_side_by_side(talk: StoredSession, ann: Sender, pump: Pump, script: Any) -> None:
    model = script(
        calls(("work", {"name": "a", "times": 2}), ("fetch", {"name": "b"}), ("nothing", {}), ("work", {"nome": "c"})),
        "Done.",
    )
    engine.dispatch_event(talk, "@platform/user-message", {"text": "Go"}, sender=ann)
    pump.until(lambda: gate.begun["a"] and gate.begun["b"])
    gate.opened.set()
    pump()
    assert (gate.begun["a"], gate.begun["b"]) == (1, 1)
    talk.stored_state.refresh_from_db()
    assert json.loads(talk.stored_state.data)["total"] == 10
    parts = [part for message in model.requests[1].messages for part in message.parts]
    results = [part.text for part in parts if part.type == "tool_result"]
    assert results[:2] == ["worked on a", "b is here"]
    assert 'There is no tool "nothing"' in results[2]
    assert "arguments of work are wrong" in results[3]
    assert model.faults == []


def test_a_running_effect_holds_no_connection(launched: StoredSession, pump: Pump) -> None:
    pump.until(lambda: gate.begun["one"])
    wait_for(lambda: words(launched) == ["one began"])
    effect = only_effect(launched)
    assert (effect.status, effect.attempt) == (StoredEffect.Status.RUNNING, 1)
    gate.opened.set()
    pump()


def test_what_has_moved_on_since_it_was_read_is_left_alone(launched: StoredSession, pump: Pump) -> None:
    claimed = claim(only_effect(launched))
    stale = only_effect(launched)
    assert engine.end_effect(stale, "failed", "The worker was lost.", lost=True) is None  # Its lease still runs.
    assert leases.report(claimed, "@platform/effect-ended", {"effect_id": stale.effect_id, "outcome": "done"})
    assert engine.end_effect(stale, "timed out", "It took too long.") is None  # Its result was saved meanwhile.
    assert engine.apply_result(stale) is not None
    assert [outcome for outcome, _, _ in outcomes(launched)] == ["done"]

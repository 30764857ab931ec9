"""Many senders at once: one order within a session, and no waiting between sessions."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from sessions_app import engine, store
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredSession, StoredState
from tests.engine.conftest import Pump, in_threads, wait_for
from tests.engine.stage import gate

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

THREADS = 20
EVENTS = 25


def test_twenty_senders_make_one_order(counter: StoredSession, settings: Any) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": False}
    seqs: list[list[int]] = [[] for _ in range(THREADS)]

    def sender(number: int) -> Any:
        def send() -> None:
            for _ in range(EVENTS):
                receipt = engine.dispatch_event(counter, "t-added", {"by": 1}, sender=Sender("person", str(number)))
                seqs[number].append(receipt.seq)
                connection.close()

        return send

    errors = [result for result in in_threads(*map(sender, range(THREADS))) if result is not None]
    assert errors == []
    counter.refresh_from_db()
    assert counter.seq == 1 + THREADS * EVENTS
    stored = list(StoredEvent.objects.filter(session=counter).order_by("seq"))
    assert [event.seq for event in stored] == list(range(1, counter.seq + 1))
    assert [event.time for event in stored] == sorted(event.time for event in stored)
    assert all(sent == sorted(sent) for sent in seqs)
    assert Counter(event.sender_id for event in stored[1:]) == {str(number): EVENTS for number in range(THREADS)}
    assert json.loads(StoredState.objects.get(session=counter).data)["total"] == THREADS * EVENTS


def test_a_slow_handler_holds_up_its_own_session_only(user: Any, counter: StoredSession, ann: Sender) -> None:
    other = engine.create_session("t-counter", {}, user=user)
    slow = threading.Thread(target=closing(lambda: engine.dispatch_event(counter, "t-held", {}, sender=ann)))
    slow.start()
    wait_for(lambda: gate.begun["held"], "the slow handler")
    for _ in range(10):
        assert engine.dispatch_event(other, "t-added", {}, sender=ann).status == "applied"
    assert StoredEvent.objects.filter(session=counter).count() == 1  # the slow one is still at it
    gate.opened.set()
    slow.join()
    assert StoredEvent.objects.filter(session=counter).count() == 2


def test_an_event_waits_for_the_one_before_it(counter: StoredSession, ann: Sender) -> None:
    slow = threading.Thread(target=closing(lambda: engine.dispatch_event(counter, "t-held", {}, sender=ann)))
    slow.start()
    wait_for(lambda: gate.begun["held"], "the slow handler")
    quick = threading.Thread(target=closing(lambda: engine.dispatch_event(counter, "t-added", {}, sender=ann)))
    quick.start()
    quick.join(0.2)
    assert quick.is_alive()
    gate.opened.set()
    slow.join()
    quick.join()
    order = StoredEvent.objects.filter(session=counter).order_by("seq").values_list("type", flat=True)
    assert list(order)[1:] == ["t-held", "t-added"]


def closing(work: Any) -> Any:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    return run


def test_another_process_between_reading_and_saving(
    counter: StoredSession, ann: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No mutex holds off another process on SQLite; the write notices it, and the event is reduced again."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL locks the session's row, so there is nothing between reading and saving")
    guarded, saved = engine.guarded, store.save
    others = [Sender("person", "7", "sam")] * 2
    conflicts = 0

    def reduce_late(reduce: Any) -> Any:
        if others:
            engine.dispatch_event(counter, "t-added", {"by": 10}, sender=others.pop())
        return guarded(reduce)

    def save(*arguments: Any) -> Any:
        nonlocal conflicts
        try:
            return saved(*arguments)
        except store.Conflict:
            conflicts += 1
            raise

    monkeypatch.setattr(engine, "guarded", reduce_late)
    monkeypatch.setattr(store, "save", save)
    receipt = engine.dispatch_event(counter, "t-added", {"by": 1}, sender=ann)
    assert (receipt.seq, receipt.status, conflicts) == (4, "applied", 2)
    assert json.loads(StoredState.objects.get(session=counter).data)["total"] == 21


def test_sessions_at_work_side_by_side(user: Any, ann: Sender, pump: Pump, settings: Any) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": False}
    sessions = [engine.create_session("t-desk", {}, user=user) for _ in range(8)]

    def talker(session: StoredSession) -> Any:
        def say() -> None:
            for number in range(5):
                engine.dispatch_event(session, "@platform/user-message", {"text": f"{number}"}, sender=ann)
                connection.close()

        return say

    assert in_threads(*map(talker, sessions)) == [None] * 8
    pump()
    for session in sessions:
        session.refresh_from_db()
        assert session.request == ""
        assert session.owed_seq <= session.answered_seq

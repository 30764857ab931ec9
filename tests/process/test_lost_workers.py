"""A worker that is killed or stopped in the middle of its work: another one, or the next, finishes it."""

import time

import pytest

from tests.process.sites import LEASE, SWEEP, is_worker

pytestmark = pytest.mark.process

ASK = "Find flights to Tokyo"


def finish(site, session):
    """Answer the question the search leads to, and see the session come to rest."""
    question = site.wait(session, lambda look: look.question).question
    site.send(session, "answer-provided", {"answer": "The first one"}, item=question["id"])
    site.wait(session, lambda look: look.at_rest)
    look = site.check(session)
    assert "Nothing was booked" in look.answer or "nothing was booked" in look.answer
    assert len(look.effects_of("search-flights")) == 1
    return look


def test_the_one_process_is_killed_in_a_search_and_started_again(alone):
    with alone.serve() as server:
        session = alone.start()
        alone.say(session, ASK)
        alone.wait(session, lambda look: look.is_searching())
        server.kill()
        assert alone.look(session).is_searching()
        server.start()
        look = finish(alone, session)
        [search] = look.effects_of("search-flights")
        assert (search["outcome"], search["attempt"], search["losses"]) == ("done", 2, 1)


@pytest.mark.services
def test_a_worker_is_killed_in_a_search_and_another_takes_over(shared):
    session = shared.start()
    with shared.worker() as first:
        shared.say(session, ASK)
        look = shared.wait(session, lambda look: look.is_searching())
        assert is_worker(look.effects_of("search-flights")[0], first)
        first.kill()
    with shared.worker() as second:
        look = finish(shared, session)
        [search] = look.effects_of("search-flights")
        assert is_worker(search, second)
        assert (search["outcome"], search["attempt"], search["losses"]) == ("done", 2, 1)


@pytest.mark.services
def test_a_worker_that_is_told_to_stop_hands_its_search_over_at_once(shared):
    # With leases of a minute nobody but the first worker itself can give its search of 2.4 s away.
    slow = {"TEST_LEASE": "60", "AGENTSITE_DEMO_DELAY": "0.03"}
    with shared.worker(**slow) as first, shared.worker(**slow) as second:
        session = shared.start()
        shared.say(session, ASK)
        look = shared.wait(session, lambda look: look.is_searching())
        if is_worker(look.effects_of("search-flights")[0], second):
            first, second = second, first
        started = time.monotonic()
        assert first.terminate() == 0
        assert time.monotonic() - started < 5
        assert "Traceback" not in first.log
        look = finish(shared, session)
        assert time.monotonic() - started < 20
        [search] = look.effects_of("search-flights")
        assert (search["outcome"], search["losses"]) == ("done", 0)
        assert is_worker(search, second)


@pytest.mark.services
def test_every_open_effect_of_a_lost_worker_is_found_without_a_message(shared):
    """The only worker dies and the new one gets no message: rows alone say what is to be done."""
    with shared.worker() as first:
        sessions = [shared.start() for _ in range(5)]
        for session in sessions:
            shared.say(session, "Find flights to Tokyo and Paris")
        shared.wait(sessions[-1], lambda look: look.is_searching())
        first.kill()
    with shared.worker(AGENTSITE_NAMESPACE=f"{shared.variables['AGENTSITE_NAMESPACE']}-other"):
        for session in sessions:
            look = shared.wait(session, lambda look: look.question, timeout=LEASE + SWEEP + 20)
            assert all(effect["outcome"] == "done" for effect in look.effects)
            assert len(look.effects_of("search-flights")) == 2

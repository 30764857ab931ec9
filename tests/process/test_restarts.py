"""Every process ends and others take their place: what was done stays done, and what was stopped stays stopped."""

import time
from collections import Counter

import pytest

from tests.process.sites import LEASE, SWEEP, Site

pytestmark = pytest.mark.process


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger"


def site_with(ledger, pause: str) -> Site:
    return Site(ledger.parent, AGENTSITE_AGENTS="tests.process.agents_ledger", LEDGER=str(ledger), PAUSE=pause)


@pytest.mark.fault("B02", "B24", "B39")
def test_a_tool_that_ran_beside_a_question_does_not_run_again_after_the_answer(ledger):
    with site_with(ledger, pause="0") as site:
        session = site.start("ledger")
        with site.serve() as server:
            site.say(session, "append 1 ask")
            look = site.wait(session, lambda look: look.question and not look.open_effects)
            server.terminate()
        with site.serve():
            site.send(session, "answer-provided", {"answer": "Oslo"}, item=look.question["id"])
            site.wait(session, lambda look: look.at_rest)
            look = site.check(session)
        assert len(ledger.read_text().split()) == 1
        assert look.answer == "Results: Written., Oslo"
        assert len(look.effects_of("@platform/generate-response")) == 2


def test_stopped_work_does_not_run_after_a_restart(ledger):
    with site_with(ledger, pause="30") as site:
        session = site.start("ledger")
        with site.serve() as server:
            site.say(session, "append 3")
            site.wait(session, lambda look: len([e for e in look.effects_of("write-line") if e["attempt"]]) == 3)
            site.wait(session, lambda _: ledger.exists() and len(ledger.read_text().split()) == 3)
            site.send(session, "@platform/stop", {})
            stopped = site.wait(session, lambda look: look.at_rest, timeout=2)
            server.kill()
        with site.serve():
            time.sleep(LEASE + 2 * SWEEP)
            look = site.check(session)
        assert look.seq == stopped.seq
        assert look.stopped
        assert Counter(effect["outcome"] for effect in look.effects_of("write-line")) == {"cancelled": 3}
        assert len(ledger.read_text().split()) == 3


def test_a_search_that_runs_while_the_one_process_is_stopped_goes_on_as_soon_as_it_is_back(tmp_path):
    # With a lease of a minute it would lie idle that long if it were not handed back.
    with Site(tmp_path, TEST_LEASE="60", AGENTSITE_DEMO_DELAY="0.03") as site, site.serve() as server:
        session = site.start()
        site.say(session, "Find flights to Tokyo")
        site.wait(session, lambda look: look.is_searching())
        assert server.terminate() == 0
        assert "Traceback" not in server.log
        assert site.look(session).effects_of("search-flights")[0]["status"] == "pending"
        server.start()
        site.wait(session, lambda look: look.question)
        [search] = site.look(session).effects_of("search-flights")
        assert (search["outcome"], search["attempt"], search["losses"]) == ("done", 2, 0)


def test_what_ends_soon_after_the_order_to_stop_keeps_its_result(ledger):
    with site_with(ledger, pause="0.7") as site, site.serve() as server:
        session = site.start("ledger")
        site.say(session, "append 2 once")
        site.wait(session, lambda _: ledger.exists() and len(ledger.read_text().split()) == 2)
        assert server.terminate() == 0
        assert "Traceback" not in server.log
        lines = site.look(session).effects_of("write-line-once")
        assert [effect["outcome"] for effect in lines] == ["done", "done"]
        server.start()
        site.wait(session, lambda look: look.at_rest)
        assert site.check(session).answer == "Results: Written., Written."

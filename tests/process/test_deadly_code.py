"""Code that takes its process with it costs a stated number of processes and then no more."""

import time
from contextlib import suppress

import pytest

from tests.process.sites import Site

pytestmark = pytest.mark.process

MOST_DEATHS = {"run": 3, "handle": 6}
"""A worker lost three times while it runs, or once with its result and five times over a saved one."""


@pytest.mark.fault("B74")
@pytest.mark.parametrize("where", MOST_DEATHS)
def test_code_that_ends_its_process_is_given_up_and_other_sessions_go_on(tmp_path, where):
    with Site(tmp_path, AGENTSITE_AGENTS="tests.process.agents_deadly") as site, site.serve() as server:
        session, other = site.start("deadly"), site.start("deadly")
        site.send(session, "deadly", {"where": where})
        site.say(other, "Hello")
        deaths = 0
        while site.look(session).open_effects:
            if server.process.poll() is not None:
                deaths += 1
                assert deaths <= MOST_DEATHS[where]
                with suppress(AssertionError):  # It may end before it says that it is ready.
                    server.start()
            time.sleep(0.05)
        [work] = site.look(session).effects
        assert deaths == MOST_DEATHS[where]
        assert work["outcome"] == "failed"
        assert "The worker was lost" in work["message"]
        site.wait(other, lambda look: look.at_rest)
        site.say(session, "Well?")
        assert site.wait(session, lambda look: look.at_rest and look.answer).answer == "Still here."

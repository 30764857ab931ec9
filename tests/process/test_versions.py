"""During a deploy old workers run beside new web processes: what they do not know they leave to others."""

import time

import pytest

from tests.process.sites import LEASE, SWEEP

pytestmark = [pytest.mark.process, pytest.mark.services]

OLD = {"AGENTSITE_AGENTS": "tests.process.agents_old"}
NEW = {"AGENTSITE_AGENTS": "tests.process.agents_new"}


def test_an_old_worker_leaves_what_it_lacks_to_a_new_one_and_goes_on_with_the_rest(shared):
    with shared.apart(**NEW) as site:
        of_new_tool = site.start("growing")
        with site.worker() as first:
            site.say(of_new_tool, "Use the tool")
            site.wait(of_new_tool, lambda look: [e for e in look.effects_of("@platform/run-tool") if e["attempt"]])
            first.kill()
        with site.worker(**OLD) as old:
            of_new_effect = [site.start("growing", work="new") for _ in range(3)]
            of_new_agent = site.start("brand-new")
            site.say(of_new_agent, "Hello")
            fleeting = site.start("growing", work="fleeting")
            for _ in range(3):
                steady = site.start("steady")
                site.say(steady, "Hello")
                site.wait(steady, lambda look: look.at_rest)
                assert site.check(steady).answer == "Steady."
            # Nobody who knows it came before its deadline.
            look = site.wait(fleeting, lambda look: not look.open_effects, timeout=3 + SWEEP + 5)
            assert [effect["outcome"] for effect in look.effects] == ["timed out"]

            time.sleep(LEASE + 2 * SWEEP)
            for session in (*of_new_effect, of_new_agent):
                assert [effect["attempt"] for effect in site.look(session).effects] == [0]
            [tool] = site.look(of_new_tool).effects_of("@platform/run-tool")
            assert tool["attempt"] == 1
            assert tool["outcome"] == ""
            assert old.log.count("effect type new-work") == 1
            assert old.log.count("agent brand-new") == 1
            assert old.log.count("tool new_tool") == 1
            assert "Traceback" not in old.log
            old.terminate()
        with site.worker():
            for session in (*of_new_effect, of_new_agent, of_new_tool):
                site.wait(session, lambda look: look.at_rest)
                assert all(effect["outcome"] == "done" for effect in site.check(session).effects)
        assert site.look(of_new_agent).answer == "The new worker answered."
        assert site.look(of_new_tool).answer == "The tool has run."

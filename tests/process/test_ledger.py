"""kill -9 at any moment: every effect gets one outcome, and one that must not be repeated is not."""

import os
import random
import time
from collections import Counter

import pytest

from tests.process.sites import LEASE, SWEEP, Site, shared_site

pytestmark = pytest.mark.process

AGENTS = "tests.process.agents_ledger"
SECONDS = LEASE + SWEEP + 10
"""How long after the restart every effect may take to get its outcome."""


def kill_at_random(site: Site, start, kills: int, ledger) -> None:
    """Kill the process `start` gives in the middle of a turn, again and again, and check what became of each turn."""
    seed = int(os.environ.get("TEST_SEED") or random.randrange(10**6))
    print(f"TEST_SEED={seed}")
    chance = random.Random(seed)
    with start() as process:
        for kill in range(kills):
            session = site.start("ledger")
            site.say(session, "append 6" if kill % 2 else "append 6 once")
            time.sleep(chance.uniform(0, 1))
            process.kill()
            before = site.look(session)
            process.start()
            restarted = time.monotonic()
            site.wait(session, lambda look: look.at_rest, timeout=SECONDS)
            look = site.check(session)
            lines = Counter(ledger.read_text().split() if ledger.exists() else [])
            check_ledger(look, lines)
            outcomes = Counter(effect["outcome"] for effect in look.effects)
            took = time.monotonic() - restarted
            print(f"killed with {len(before.open_effects)} open; {took:.1f} s after the restart: {dict(outcomes)}")


def check_ledger(look, lines: Counter) -> None:
    assert len(look.effects_of("@platform/run-tool")) == 6
    for effect in look.effects_of("write-line"):
        assert effect["outcome"] == "done"
        assert 1 <= lines[effect["key"]] <= 2
    for effect in look.effects_of("write-line-once"):
        assert lines[effect["key"]] <= 1, "an effect that must not be repeated ran twice"
        assert effect["outcome"] in ("done", "outcome unknown")
        assert effect["outcome"] == "outcome unknown" or lines[effect["key"]] == 1
    assert look.answer.startswith("Results: ")
    assert look.answer.count("Written.") == sum(effect["outcome"] == "done" for effect in look.effects) - 8


def test_a_busy_worker_that_nobody_disturbs_begins_nothing_twice(tmp_path):
    """Leases are renewed many times while effects begin and end at every moment."""
    ledger = tmp_path / "ledger"
    variables = {"AGENTSITE_AGENTS": AGENTS, "LEDGER": str(ledger), "PAUSE": "0.05", "TEST_LEASE": "1.5"}
    with Site(tmp_path, **variables) as site, site.serve():
        sessions = [site.start("ledger") for _ in range(12)]
        for session in sessions:
            site.say(session, "append 8")
        for session in sessions:
            site.wait(session, lambda look: look.at_rest, timeout=30)
        looks = [site.check(session) for session in sessions]
        again = [effect for look in looks for effect in look.effects if effect["attempt"] != 1]
        assert not again
        assert set(Counter(ledger.read_text().split()).values()) == {1}


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.full)])
def test_the_one_process_is_killed_at_random_moments(tmp_path, kills):
    ledger = tmp_path / "ledger"
    with Site(tmp_path, AGENTSITE_AGENTS=AGENTS, LEDGER=str(ledger)) as site:
        kill_at_random(site, site.serve, kills, ledger)


@pytest.mark.full
@pytest.mark.services
def test_a_worker_of_its_own_is_killed_20_times_at_random_moments(tmp_path):
    ledger = tmp_path / "ledger"
    with shared_site(tmp_path, AGENTSITE_AGENTS=AGENTS, LEDGER=str(ledger)) as site:
        kill_at_random(site, site.worker, 20, ledger)

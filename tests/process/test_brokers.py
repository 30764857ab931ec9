"""The broker only carries hints: wiped, absent or another one, the rows say what is to be done."""

import re
import time
from collections import Counter
from contextlib import closing
from socket import create_server

import pytest
import redis

from tests import services
from tests.process.sites import LEASE, SWEEP, is_worker, shared_site

pytestmark = [pytest.mark.process, pytest.mark.services]

NO_BROKER = re.compile(r"Cannot connect to ")


def empty_redis_database() -> str:
    """The URL of a numbered database on the Redis server that nobody uses."""
    base = services.REDIS_URL.rsplit("/", 1)[0]
    for number in range(15, 0, -1):
        with closing(redis.Redis.from_url(f"{base}/{number}")) as client:
            if client.dbsize() == 0:
                return f"{base}/{number}"
    raise AssertionError("every numbered database of this Redis server is in use")


def closed_port() -> int:
    with closing(create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def test_after_the_broker_was_wiped_and_all_workers_died_every_effect_gets_its_one_outcome(tmp_path):
    broker = empty_redis_database()
    ledger = tmp_path / "ledger"
    variables = {"AGENTSITE_AGENTS": "tests.process.agents_ledger", "LEDGER": str(ledger), "PAUSE": "1"}
    with shared_site(tmp_path, broker, **variables) as site:
        with site.worker() as first:
            sessions = [site.start("ledger") for _ in range(7)]
            for session in sessions:
                site.say(session, "append 10")
            # By now some effects run and others wait; of some sessions only the tools are open that will start more.
            site.wait(sessions[0], lambda look: any(e["status"] == "running" for e in look.effects_of("write-line")))
            first.kill()
        with closing(redis.Redis.from_url(broker)) as client:
            client.flushdb()
        opened = sum(len(site.look(session).open_effects) for session in sessions)
        assert opened > 20
        with site.worker():
            restarted = time.monotonic()
            for session in sessions:
                site.wait(session, lambda look: look.at_rest, timeout=LEASE + SWEEP + 20)
                look = site.check(session)
                assert [effect["outcome"] for effect in look.effects_of("write-line")] == ["done"] * 10
            took = time.monotonic() - restarted
            print(f"{opened} effects were open: all sessions at rest {took:.1f} s after the restart")
        lines = Counter(ledger.read_text().split())
        assert len(lines) == 70
        assert max(lines.values()) <= 2


def test_without_a_broker_events_are_taken_at_once_and_sweepers_do_the_work(shared):
    gone = {"BROKER_URL": f"redis://127.0.0.1:{closed_port()}/0"}
    worker = shared.worker(**gone)
    worker.ready = NO_BROKER
    with worker, shared.apart(**gone) as site:
        session = site.start()
        asked = time.monotonic()
        site.say(session, "Find flights to Tokyo")
        taken = time.monotonic() - asked
        assert taken < 1
        look = site.wait(session, lambda look: look.question, timeout=20)
        answered = time.monotonic()
        site.send(session, "answer-provided", {"answer": "None"}, item=look.question["id"])
        assert time.monotonic() - answered < 1
        site.wait(session, lambda look: look.at_rest)
        look = site.check(session)
        assert all(is_worker(effect, worker) for effect in look.effects)
        turn = time.monotonic() - asked
        print(f"no broker: an event is taken in {taken * 1000:.0f} ms, the turn ends after {turn:.1f} s")


def test_a_turn_works_with_rabbitmq_as_the_broker(tmp_path):
    with shared_site(tmp_path, services.AMQP_URL) as site:
        assert site.driver.call("effective_settings")["broker"] == "amqp"
        # Sweeps once a minute: what moves in seconds was brought by a message.
        with site.worker(TEST_SWEEP_INTERVAL="60"):
            session = site.start()
            site.say(session, "Find flights to Tokyo")
            look = site.wait(session, lambda look: look.question)
            site.send(session, "answer-provided", {"answer": "None"}, item=look.question["id"])
            site.wait(session, lambda look: look.at_rest)
            site.check(session)

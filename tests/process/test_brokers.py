"""The broker only carries hints: wiped, absent or another one, the rows say what is to be done."""

import re
import time
from collections import Counter
from contextlib import closing
from socket import create_server

import pytest
import redis

from tests import services
from tests.process.people import Person
from tests.process.sites import LEASE, PASSWORD, SWEEP, is_worker, shared_site

pytestmark = [pytest.mark.process, pytest.mark.services]

NO_BROKER = re.compile(r"Cannot connect to ")


@pytest.fixture
def own_redis():
    """A numbered database on the Redis server that nobody else uses: its URL and a client."""
    base = services.REDIS_URL.rsplit("/", 1)[0]
    for number in range(15, 0, -1):
        with closing(redis.Redis.from_url(f"{base}/{number}")) as client:
            if client.dbsize() == 0:
                yield f"{base}/{number}", client
                client.flushdb()
                return
    raise AssertionError("every numbered database of this Redis server is in use")


def closed_port() -> int:
    with closing(create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def test_after_the_broker_was_wiped_and_all_workers_died_every_effect_gets_its_one_outcome(tmp_path, own_redis):
    broker, client = own_redis
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


def test_without_a_broker_clicks_are_taken_at_once_and_sweepers_do_the_work(shared):
    gone = {"BROKER_URL": f"redis://127.0.0.1:{closed_port()}/0"}
    worker = shared.worker(**gone)
    worker.ready = NO_BROKER
    with worker, shared.web(**gone) as web:
        ann = Person(web)
        ann.sign_in("ann", PASSWORD)
        session = ann.start("flights")
        asked = time.monotonic()
        ann.say(session, "Find flights to Tokyo")
        clicks = [time.monotonic() - asked]
        look = shared.wait(session, lambda look: look.question, timeout=20)
        turn = time.monotonic() - asked
        for number in range(3):
            clicked = time.monotonic()
            ann.say(session, f"Message {number}")
            clicks.append(time.monotonic() - clicked)
        shared.send(session, "answer-provided", {"answer": "None"}, item=look.question["id"])
        shared.wait(session, lambda look: look.at_rest)
        look = shared.check(session)
        assert max(clicks) < 1
        assert all(is_worker(effect, worker) for effect in look.effects)
        print(f"no broker: {max(clicks) * 1000:.0f} ms for a page and a click at most; the question after {turn:.1f} s")


def test_turns_work_with_rabbitmq_as_the_broker_and_two_workers_on_one_host(tmp_path):
    # Sweeps once a minute: what moves in seconds was brought by a message.
    idle = {"TEST_SWEEP_INTERVAL": "60"}
    with shared_site(tmp_path, services.AMQP_URL, **idle) as site, site.worker() as one, site.worker() as other:
        assert site.driver.call("effective_settings")["broker"] == "amqp"
        sessions = [site.start() for _ in range(4)]
        for session in sessions:
            site.say(session, "Find flights to Tokyo and Paris")
        for session in sessions:
            look = site.wait(session, lambda look: look.question)
            site.send(session, "answer-provided", {"answer": "None"}, item=look.question["id"])
        for session in sessions:
            site.wait(session, lambda look: look.at_rest)
        effects = [effect for session in sessions for effect in site.check(session).effects]
        assert {is_worker(effect, one) for effect in effects} == {True, False}
        assert all(is_worker(effect, one) or is_worker(effect, other) for effect in effects)

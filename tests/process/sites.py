"""A site of several processes with data of its own, and a view of its rows, for the tests in this directory."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests import processes, services
from tests.processes import ROOT, ServerProcess, bare_environment

FAST = "tests.process.settings_fast"
KEY = "only for tests, and long enough for Django's checks to be content with it"
PASSWORD = "correct horse battery staple"
LEASE = 2.0
SWEEP = 0.3


class Rejected(Exception):
    """The engine refused an event. `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Driver:
    """A process that looks at rows and sends events; see tests/process/driver.py."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.process.driver"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def call(self, name: str, /, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the driver ended; its log:\n{Path(self._log.name).read_text(errors='replace')}"
        answer = json.loads(line)
        if "rejected" in answer:
            raise Rejected(answer["rejected"], answer["message"])
        return answer["value"]

    def close(self) -> None:
        with self._process, self._log:
            self._process.kill()


@dataclass(frozen=True)
class Look:
    """A session's rows at one moment."""

    seq: int
    blocked: str
    stopped: bool
    items: list[dict[str, Any]]
    effects: list[dict[str, Any]]
    events: list[dict[str, Any]]

    @property
    def open_effects(self) -> list[dict[str, Any]]:
        return [effect for effect in self.effects if effect["status"] != "ended"]

    @property
    def open_items(self) -> list[dict[str, Any]]:
        return [item for item in self.items if item["status"] == "pending" and not item["closed"]]

    @property
    def question(self) -> dict[str, Any] | None:
        """The open question of the flights example."""
        return next((item for item in self.open_items if item["type"] == "user-question"), None)

    @property
    def at_rest(self) -> bool:
        """Nothing is under way and nobody is waited for."""
        return not self.open_effects and not self.open_items

    @property
    def answer(self) -> str:
        """The text of the last assistant message."""
        texts = [item["data"]["text"] for item in self.items if item["type"] == "@platform/assistant-message"]
        return texts[-1] if texts else ""

    def effects_of(self, type: str) -> list[dict[str, Any]]:
        return [effect for effect in self.effects if effect["type"] == type]

    def is_searching(self) -> bool:
        return any(effect["status"] == "running" for effect in self.effects_of("search-flights"))

    def check_outcomes(self) -> None:
        """Every effect has exactly one outcome: in the rows, and in the history."""
        unfinished = [(effect["id"], effect["type"], effect["status"]) for effect in self.open_effects]
        assert not unfinished, unfinished
        outcomes = Counter(effect_id for event in self.events for effect_id in event["ended"])
        assert outcomes == Counter(effect["id"] for effect in self.effects)
        started = Counter(effect_id for event in self.events for effect_id in event["started"])
        assert started == outcomes
        failed = [event for event in self.events if event["status"] == "failed"]
        assert not failed, failed


class Site:
    """Processes that share a database, and what they need in their environment."""

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir = data_dir
        self.variables = {
            "AGENTSITE_SECRET_KEY": KEY,
            "AGENTSITE_DEBUG": "1",
            "DJANGO_SETTINGS_MODULE": FAST,
            "AGENTSITE_DATA_DIR": str(data_dir),
            "AGENTSITE_DEMO_DELAY": "0.01",  # a search of 0.8 s
        } | variables
        self._count = 0
        self.driver = Driver(self.environment, data_dir / f"{self._name('driver')}.log")
        try:
            self.driver.call("migrate")
            self.driver.call("add_user", name="ann", password=PASSWORD)
        except BaseException:
            self.driver.close()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """All that a process of this site finds in its environment."""
        return bare_environment() | self.variables

    def apart(self, **variables: str) -> "Site":
        """The same data, with other variables."""
        return Site(self.data_dir, **self.variables | variables)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count}"

    def serve(self, **variables: str) -> ServerProcess:
        """The whole site in one process."""
        return processes.serve(self.data_dir, **self.variables | variables)

    def web(self, **variables: str) -> ServerProcess:
        return processes.web(self.data_dir, self._name("web"), **self.variables | variables)

    def worker(self, *arguments: str, **variables: str) -> ServerProcess:
        return processes.worker(self.data_dir, self._name("worker"), *arguments, **self.variables | variables)

    def start(self, agent: str = "flights", **args: Any) -> str:
        """Create a session and return its key."""
        key: str = self.driver.call("create", user="ann", agent=agent, args=args)
        return key

    def say(self, session: str, text: str) -> None:
        self.send(session, "@platform/user-message", {"text": text})

    def send(self, session: str, type: str, payload: dict[str, Any], item: str = "") -> None:
        self.driver.call("dispatch", session=session, type=type, payload=payload, user="ann", item=item)

    def look(self, session: str) -> Look:
        return Look(**self.driver.call("look", session=session))

    def wait(self, session: str, until: Callable[[Look], Any], timeout: float = 15) -> Look:
        """Look until something is so, and return what was seen then."""
        deadline = time.monotonic() + timeout
        while True:
            look = self.look(session)
            if until(look):
                return look
            assert time.monotonic() < deadline, f"not so within {timeout} s: {describe(look)}"
            time.sleep(0.03)

    def check(self, session: str) -> Look:
        """The session is at rest, each effect has one outcome, and its history gives its rows."""
        look = self.look(session)
        look.check_outcomes()
        difference = self.driver.call("difference", session=session)
        assert difference is None, difference
        return look

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.close()


def describe(look: Look) -> str:
    items = [(item["id"], item["type"], item["status"], item["closed"], item["label"]) for item in look.items]
    effects = [
        (effect["id"], effect["type"], effect["status"], effect["outcome"], effect["attempt"], effect["message"])
        for effect in look.effects
    ]
    events = [(event["seq"], event["type"], event["status"], event["reason"][-300:]) for event in look.events]
    return f"blocked={look.blocked!r}\nitems={items}\neffects={effects}\nevents={events}"


def is_worker(effect: dict[str, Any], process: ServerProcess) -> bool:
    """Whether a process is the one that an effect's row names."""
    assert process.process is not None
    return bool(re.search(rf"-{process.process.pid}-[0-9a-f]+$", effect["worker"]))


@contextmanager
def shared_site(data_dir: Path, broker_url: str = services.REDIS_URL, **variables: str) -> Iterator[Site]:
    """A site on PostgreSQL, Redis and a broker, each with a corner of its own."""
    with services.shared_services(broker_url) as shared, Site(data_dir, **shared | variables) as site:
        yield site

"""docs/scale-out.md is true: its own commands start two web and two worker processes, and one of each may die."""

import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from socket import create_server

import pytest

from tests.process.people import Person
from tests.process.sites import FAST, PASSWORD, Site, is_worker
from tests.processes import ROOT, RUNNING, WORKER_READY, ServerProcess
from tests.services import shared_services

pytestmark = [pytest.mark.process, pytest.mark.services]

PAGE = (ROOT / "docs" / "scale-out.md").read_text()
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINES = [shlex.split(line) for block in BLOCK.findall(PAGE) for line in block.splitlines()]
EXPORTS = [tuple(line[1].split("=", 1)) for line in LINES if line[0] == "export"]
COMMANDS = [line for line in LINES if line[0] == "./run"]
HOST = "agents.example.org"


def test_the_page_shows_nothing_but_variables_and_commands():
    assert len(EXPORTS) + len(COMMANDS) == len(LINES)
    assert [command[1] for command in COMMANDS] == ["prepare", "manage", "web", "web", "worker", "worker"]
    assert [name for name, _ in EXPORTS].count("BROKER_URL") == 2
    assert EXPORTS[-1][0] == "BROKER_URL"
    assert EXPORTS[-1][1].startswith("amqp://")


def environment(shared: dict[str, str], tmp_path) -> dict[str, str]:
    """The page's variables, with the addresses of services that exist here, and short leases."""
    written = dict(EXPORTS[:-1])
    assert {"DATABASE_URL", "BROKER_URL", "REDIS_URL"} < set(written)
    elsewhere = {"AGENTSITE_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": FAST, "AGENTSITE_DEBUG": ""}
    return written | shared | elsewhere


def free_port() -> str:
    with closing(create_server(("127.0.0.1", 0))) as listener:
        return str(listener.getsockname()[1])


def run_to_its_end(command: list[str], variables: dict[str, str], *more: str) -> None:
    result = subprocess.run(
        [*command, *more], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def server_process(command: list[str], name: str, tmp_path, variables: dict[str, str]) -> ServerProcess:
    ready = RUNNING if command[1] == "web" else WORKER_READY
    if "--port" in command:
        at = command.index("--port") + 1
        command = [*command[:at], free_port(), *command[at + 1 :]]
    command = [str(ROOT / "run"), *command[1:]]
    return ServerProcess(command, log=tmp_path / f"{name}.log", ready=ready, **variables)


def test_the_site_of_the_page_outlives_a_web_process_and_a_worker(tmp_path):
    prepare, manage, *servers = COMMANDS
    with shared_services() as shared, ExitStack() as stack:
        variables = environment(shared, tmp_path)
        site = stack.enter_context(Site(tmp_path, **variables))
        known = site.environment
        run_to_its_end(prepare, known)
        account = ["--noinput", "--username", "bea", "--email", "bea@example.org"]
        run_to_its_end(manage, known | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}, *account)

        found = site.driver.call("effective_settings")
        assert found["broker"] == "redis"
        assert found["layer"] == "RedisPubSubChannelLayer"
        assert "postgresql" in found["database"]
        assert (found["eager"], found["embedded"], found["debug"]) == (False, False, False)

        processes = [
            server_process(command, f"{command[1]}-{number}", tmp_path, site.variables)
            for number, command in enumerate(servers)
        ]
        with ThreadPoolExecutor() as starting:
            for process in starting.map(ServerProcess.start, processes):
                stack.enter_context(process)
        web, other_web, *workers = processes

        bea = Person(web, https_host=HOST)
        bea.sign_in("bea", PASSWORD)
        session = bea.start("flights")
        elsewhere = Person(other_web, https_host=HOST, cookies=bea.cookies)
        with closing(elsewhere.listen(session)) as listener:
            frames = listener.messages()
            next(frames)
            bea.say(session, "Find flights to Tokyo")
            # What one web process takes in shows on a page of the other, and so does what the workers do.
            assert any("Find flights to Tokyo" in frame.get("html", "") for frame in frames)
            assert any("Searching flights to Tokyo" in frame.get("html", "") for frame in frames)

        look = site.wait(session, lambda look: look.is_searching())
        [busy] = [worker for worker in workers if is_worker(look.effects_of("search-flights")[0], worker)]
        [idle] = [worker for worker in workers if worker is not busy]
        web.kill()
        busy.kill()
        killed = time.monotonic()

        site.wait(session, lambda look: look.question)
        page = elsewhere.get(f"/s/{session}/")
        fields = page.form('value="answer-provided"')
        [answer] = [name for name in fields if not name.startswith(("_", "csrf"))]
        answered = elsewhere.post(f"/s/{session}/events/", fields | {answer: "The first one"})
        assert answered.status == 303, answered.text
        site.wait(session, lambda look: look.at_rest)
        print(f"the turn ended {time.monotonic() - killed:.1f} s after the kill")

        look = site.check(session)
        [search] = look.effects_of("search-flights")
        assert (search["outcome"], search["losses"]) == ("done", 1)
        assert is_worker(search, idle)
        assert all(any(is_worker(effect, worker) for worker in workers) for effect in look.effects)
        assert "othing was booked" in elsewhere.get(f"/s/{session}/").text
        for process in (other_web, idle):
            assert process.terminate() == 0
            assert "Traceback" not in process.log

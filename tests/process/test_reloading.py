"""`./run` starts the site again when a file is saved, and holds out while one is broken."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection

import pytest

from agentsite.reloading import difference, snapshot
from tests.process.people import Person
from tests.processes import RUN, RUNNING, ServerProcess, manage

pytestmark = pytest.mark.process

GUIDE = """
from sessions_app.providers import default_model
from sessions_app.sdk import Agent


class Guide(Agent, name="guide"):
    title = "Guide the first"
    system_prompt = "Name three sights."
    model = default_model()
"""
SETTINGS = """
from agentsite.settings import *

TEMPLATES[0]["DIRS"].insert(0, BASE_DIR / {templates!r})
"""
ADD_ANN = "from django.contrib.auth.models import User; User.objects.create_user('ann', password='of no account')"
PATIENCE = 10.0


class Development:
    """A site whose agent and templates lie in a directory of their own, and a person who looks at it."""

    def __init__(self, directory: Path) -> None:
        self.agent = directory / "guide.py"
        self.template = directory / "templates" / "_mark.html"
        self.template.parent.mkdir(parents=True)
        self.template.write_text("mark one")
        self.agent.write_text(GUIDE)
        (directory / "site_settings.py").write_text(SETTINGS.format(templates=str(self.template.parent)))
        variables = {
            "AGENTSITE_DATA_DIR": str(directory / "data"),
            "AGENTSITE_AGENTS": "guide",
            "DJANGO_SETTINGS_MODULE": "site_settings",
            "PYTHONPATH": str(directory),
        }
        manage(directory / "data", "migrate", "-v0", **variables)
        manage(directory / "data", "shell", "-v0", "-c", ADD_ANN, **variables)
        command = [*RUN, "--port", "0"]
        self.server = ServerProcess(command, log=directory / "log", ready=RUNNING, **variables)

    def saves(self, file: Path, old: str, new: str) -> float:
        """Change a file, wait until the site runs again, and return how long that took."""
        seen, began = len(self.server.log), time.monotonic()
        file.write_text(file.read_text().replace(old, new))
        self.server.wait_for_log(RUNNING, PATIENCE, seen)
        return time.monotonic() - began

    def told(self, text: str, since: int) -> None:
        self.server.wait_for_log(re.compile(re.escape(text)), PATIENCE, since)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Development]:
    site = Development(tmp_path)
    with site.server:
        yield site


def test_a_saved_file_is_on_the_page_and_a_broken_one_is_told(site: Development) -> None:
    ann = Person(site.server)
    ann.sign_in("ann", "of no account")
    assert "Guide the first" in ann.get("/").text
    session, port = ann.start("guide"), site.server.port

    took = site.saves(site.agent, "the first", "the second")
    print(f"a saved file was served after {took:.1f} s")
    assert "Guide the second" in ann.get("/").text
    assert ann.get(f"/s/{session}/").status == 200
    assert site.server.port == port

    site.saves(site.template, "one", "two")
    assert "mark two" in ann.get("/").text

    seen = len(site.server.log)
    site.agent.write_text(site.agent.read_text() + "def broken(:\n")
    site.told("It starts again when a file is saved.", seen)
    broken = site.agent.read_text().count("\n")
    assert f"{site.agent}:{broken}\n  Python cannot read this line" in site.server.log[seen:]
    assert "Traceback" not in site.server.log
    site.saves(site.agent, "def broken(:\n", "")
    assert "Guide the second" in ann.get("/").text

    seen = len(site.server.log)
    site.agent.rename(site.agent.with_suffix(".away"))
    site.told('There is no module "guide".', seen)
    site.told("It starts again when a file is saved.", seen)
    began = time.monotonic()
    assert site.server.interrupt() == 0
    assert time.monotonic() - began < 3


def test_ctrl_c_stops_a_running_site_and_frees_its_port(site: Development) -> None:
    began = time.monotonic()
    assert site.server.interrupt() == 0
    assert time.monotonic() - began < 3
    assert "Traceback" not in site.server.log


def test_the_server_ends_when_the_process_that_watches_is_killed(site: Development) -> None:
    port = site.server.port
    site.server.kill()
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_what_never_ran_is_not_waited_for(tmp_path: Path) -> None:
    site = Development(tmp_path)
    site.agent.write_text("x = y\n")
    with pytest.raises(AssertionError, match="ended with 1"):
        site.server.start()
    assert f"{site.agent}:1\n  NameError: name 'y' is not defined." in site.server.log


def test_a_change_is_a_new_time_size_or_name(tmp_path: Path) -> None:
    one = tmp_path / "one.py"
    (tmp_path / "data.json").write_text(json.dumps({}))
    one.write_text("1")
    started = one.stat().st_mtime_ns + 1
    before = snapshot({str(tmp_path), str(tmp_path / "nowhere")})
    assert set(before) == {str(one)}
    assert difference(before, before, started) == ""
    os.utime(one, ns=(started, started))
    assert difference(dict(before), snapshot({str(tmp_path)}), started) == str(one)
    assert difference(dict(before), {}, started) == str(one)


def test_a_file_that_is_seen_late_counts_if_it_is_newer_than_the_server(tmp_path: Path) -> None:
    two = tmp_path / "two.html"
    two.write_text("2")
    saved = two.stat().st_mtime_ns
    now = snapshot({str(tmp_path)})
    known: dict[str, tuple[int, int]] = {}
    assert difference(known, now, saved) == ""
    assert known == now
    assert difference({}, now, saved - 1) == str(two)
    assert difference(now, now, saved - 1) == "", "a file from the future does not start it for ever"

"""The one command: what it says, and that what it starts answers, stops and goes on where it was."""

import ast
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing, suppress
from socket import create_server

import pytest

from tests.processes import ROOT, RUN, RUNNING, ServerProcess, bare_environment, manage, serve, web, worker

LIVE_DEBUG = {"AGENTSITE_DEBUG": "1"}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments], env=bare_environment() | variables, capture_output=True, text=True, timeout=60, check=False
    )


def get(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_help_names_every_command():
    result = run("--help")
    assert result.returncode == 0
    for command in (
        "./run ",
        "./run test",
        "./run manage",
        "./run prepare",
        "./run web",
        "./run worker",
        "--port",
        "--no-reload",
    ):
        assert command in result.stdout


def test_an_unknown_command_is_answered_with_the_known_ones():
    result = run("sevre")
    assert result.returncode == 1
    assert "There is no ./run sevre. Known: serve, test, manage, prepare, web, worker." in result.stderr


def test_a_worker_without_a_broker_is_refused():
    result = run("worker")
    assert result.returncode == 1
    assert "Set it to redis://" in result.stderr


@pytest.mark.parametrize("command", [("web",), ("manage", "check")])
def test_a_missing_setting_is_told_without_a_traceback(command, tmp_path):
    result = run(*command, AGENTSITE_DATA_DIR=str(tmp_path), AGENTSITE_DEBUG="0")
    assert result.returncode == 1
    assert "Agentsite is not configured: AGENTSITE_SECRET_KEY is not set." in result.stderr
    assert "Traceback" not in result.stderr


def test_an_old_python_can_read_the_script_and_so_be_told_that_it_is_too_old():
    ast.parse((ROOT / "run").read_text(), feature_version=(3, 7))


def test_a_python_without_ensurepip_is_told_which_package_to_install(tmp_path):
    for name in ("run", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    hide_it = (
        "import runpy, sys; sys.modules['ensurepip'] = None; del sys.argv[1:]; runpy.run_path('run', {}, '__main__')"
    )
    without_uv = {"PATH": "/nowhere"}
    result = subprocess.run(
        [sys.executable, "-c", hide_it], cwd=tmp_path, env=without_uv, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert re.search(r"sudo apt-get install python3\.\d+-venv", result.stderr)
    assert "Traceback" not in result.stderr


@pytest.mark.full
@pytest.mark.process
def test_a_fresh_checkout_runs_with_one_command(tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    command = [sys.executable, str(checkout / "run"), "--port", "0"]
    with ServerProcess(command, log=tmp_path / "log", ready=RUNNING).start(timeout=300) as site:
        assert get(site.url + "/health/ready/") == 200
        assert site.interrupt() == 0
    assert (checkout / ".venv").exists()


@pytest.mark.process
def test_the_site_starts_stops_and_keeps_its_data(tmp_path):
    started = time.monotonic()
    with serve(tmp_path) as site:
        assert time.monotonic() - started < 10
        assert get(site.url + "/health/live/") == 200
        assert get(site.url + "/health/ready/") == 200
        assert get(site.url + "/static/vendor/htmx-4.0.1.min.js") == 200
        stopping = time.monotonic()
        assert site.interrupt() == 0
        assert time.monotonic() - stopping < 3
        assert "Traceback" not in site.log

        create_user = "from django.contrib.auth.models import User; User.objects.create_user('ann'); print('made')"
        count_users = "from django.contrib.auth.models import User; print(User.objects.filter(username='ann').count())"
        assert "made" in manage(tmp_path, "shell", "-v0", "-c", create_user, **LIVE_DEBUG)
        site.start()
        assert get(site.url + "/health/ready/") == 200
        assert manage(tmp_path, "shell", "-v0", "-c", count_users, **LIVE_DEBUG).split() == ["1"]
        assert site.terminate() == 0


@pytest.mark.process
def test_a_taken_port_that_was_asked_for_is_an_error(tmp_path):
    with closing(create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        result = run("--port", port, AGENTSITE_DATA_DIR=str(tmp_path))
    assert result.returncode == 1
    assert f"Cannot listen on 127.0.0.1, port {port}: Address already in use." in result.stderr


@pytest.mark.process
def test_a_free_port_replaces_the_default_one_when_that_is_taken(tmp_path):
    with ExitStack() as stack:
        # Another program may hold the port already, which serves as well.
        with suppress(OSError):
            stack.enter_context(closing(create_server(("127.0.0.1", 8000))))
        log = tmp_path / "serve.log"
        with ServerProcess([*RUN, "--no-reload"], log=log, ready=RUNNING, AGENTSITE_DATA_DIR=str(tmp_path)) as site:
            assert "Port 8000 cannot be used (Address already in use), so a free one is taken." in site.log
            assert site.port != 8000
            assert get(site.url + "/health/live/") == 200


@pytest.mark.process
@pytest.mark.services
def test_two_web_processes_and_a_worker_share_postgresql_and_redis(tmp_path, redis_services):
    variables = redis_services | LIVE_DEBUG
    manage(tmp_path, "migrate", "-v0", **variables)
    with web(tmp_path, "one", **variables) as one, web(tmp_path, "two", **variables) as two:
        assert get(one.url + "/health/ready/") == get(two.url + "/health/ready/") == 200
        with worker(tmp_path, **variables) as crew:
            assert crew.terminate() == 0
            assert "Traceback" not in crew.log
        assert one.interrupt() == two.terminate() == 0


def test_manage_acts_on_the_local_site_and_says_so(tmp_path):
    result = run("manage", "check", AGENTSITE_DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stderr.count("the site that ./run serves")) == (0, 1)

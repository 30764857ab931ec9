"""The worker inside the web process: it is quick, and it does not hold up Ctrl-C."""

import re
import subprocess
import sys
import time

import pytest

from tests.processes import ROOT, bare_environment, manage

pytestmark = pytest.mark.process


@pytest.fixture
def site(tmp_path):
    variables = {"AGENTSITE_DEBUG": "1", "AGENTSITE_DATA_DIR": str(tmp_path)}
    manage(tmp_path, "migrate", "-v0", **variables)

    def run(what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tests.embedded_site", what],
            cwd=ROOT,
            env=bare_environment() | variables | {"DJANGO_SETTINGS_MODULE": "agentsite.settings"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_200_tasks_sent_at_once_are_done_in_two_seconds(site):
    result = site("drain")
    assert result.returncode == 0, result.stderr
    assert float(re.search(r"drained in (\S+) s", result.stdout)[1]) < 2


def test_a_task_that_does_not_end_holds_the_process_for_the_grace_period_only(site):
    started = time.monotonic()
    result = site("hang")
    assert result.returncode == 0, result.stderr
    assert "a task did not end in time" in result.stderr
    assert "Traceback" not in result.stderr
    # Starting takes part of it; the grace period is 2.5 s and the task would sleep for 60.
    assert time.monotonic() - started < 10

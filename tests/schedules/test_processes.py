"""Several dispatcher processes and one database, while another schedule is edited all the time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, RUN, ServerProcess, bare_environment, manage
from tests.services import temporary_postgres_database

pytestmark = pytest.mark.process

ONE_OFFS = 40
DISPATCHERS = 3


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'site.sqlite3'}"
    else:
        with temporary_postgres_database() as url:
            yield url


def test_each_slot_is_sent_once(database: str, tmp_path: Path) -> None:
    site = {"DATABASE_URL": database, "AGENTSITE_DEBUG": "1", "AGENTSITE_AGENTS": "tests.schedules.agents"}
    manage(tmp_path, "migrate", "-v0", **site)
    site["AGENTSITE_DATA_DIR"] = str(tmp_path)
    with ExitStack() as stack:
        dispatchers = [
            ServerProcess(
                [*RUN, "manage", "dispatch_scheduled_events", "--loop", "0.02"],
                log=tmp_path / f"dispatcher-{number}.log",
                ready=re.compile("Dispatching what is due"),
                **site,
            )
            for number in range(DISPATCHERS)
        ]
        for dispatcher in dispatchers:
            stack.enter_context(dispatcher)
        found = disturb(site)
        assert [dispatcher.interrupt() for dispatcher in dispatchers] == [0] * DISPATCHERS
    assert {slot for _, slot, _ in found["sent"]} == {found["due"]}
    assert [count for _, _, count in found["sent"]] == [1] * ONE_OFFS
    assert not [dispatcher.log for dispatcher in dispatchers if "Traceback" in dispatcher.log]
    print("sent by each dispatcher:", [dispatcher.log.count("applied") for dispatcher in dispatchers])


def disturb(site: dict[str, str]) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-m", "tests.schedules.disturber", str(ONE_OFFS)],
        cwd=ROOT,
        env={**bare_environment(), **site, "DJANGO_SETTINGS_MODULE": "agentsite.settings"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found

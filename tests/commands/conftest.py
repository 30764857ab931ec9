"""Commands as a shell sees them: what they print, and how they exit."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import ManagementUtility

from sessions_app import engine
from sessions_app.models import StoredSession
from tests.schedules.agents import DiaryAgent

AGENT = DiaryAgent.name


@dataclass(frozen=True)
class Shell:
    """How a command ended."""

    code: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*words: object) -> Shell:
    """Run a command as `manage.py` does, but for the checks: other tests define agents that are wrong on purpose."""
    out, error, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            ManagementUtility(["manage.py", *map(str, words), "--skip-checks"]).execute()
        except SystemExit as exit:
            code = int(exit.code or 0)
    return Shell(code, out.getvalue(), error.getvalue())


@pytest.fixture
def user(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def diary(user: Any) -> StoredSession:
    return engine.create_session(AGENT, {"about": "tea"}, user=user)

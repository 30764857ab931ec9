"""One status for every combination of facts."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sessions_app.core.status import RUNNING, WORDS, Facts, Wait, Work, derive_status

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
ASK = Wait("Which city?", NOW, person=True)
LATER = Wait("And when?", NOW + timedelta(minutes=1), person=True)
PAUSE = Wait("Waiting for the bank", NOW)
MODEL = Work(NOW, model=True)
TOOL = Work(NOW, "Searching flights")
AGAIN = Work(NOW, "Searching flights", again=True, attempt=2, limit=5, due=NOW)


@pytest.mark.parametrize(
    ("facts", "kind", "reason"),
    [
        ({}, "idle", ""),
        ({"stopped": True}, "stopped", ""),
        ({"work": [MODEL]}, "generating", ""),
        ({"work": [TOOL]}, "working", "Searching flights"),
        ({"work": [TOOL, MODEL]}, "generating", ""),
        ({"work": [MODEL, AGAIN]}, "retrying", "Searching flights"),
        ({"waits": [PAUSE]}, "waiting", "Waiting for the bank"),
        ({"waits": [PAUSE], "work": [TOOL]}, "working", "Searching flights"),
        ({"waits": [PAUSE, ASK], "work": [TOOL]}, "needs-person", "Which city?"),
        ({"waits": [LATER, ASK]}, "needs-person", "Which city?"),
        ({"blocked_code": "error", "blocked_reason": "It failed."}, "blocked", "It failed."),
        ({"blocked_code": "error", "blocked_reason": "It failed.", "waits": [ASK]}, "needs-person", "Which city?"),
        ({"blocked_code": "request-limit", "blocked_reason": "Go on?"}, "needs-person", "Go on?"),
        (
            {"readable": False, "waits": [ASK]},
            "needs-migration",
            "What is stored does not fit the agent's present code.",
        ),
        ({"archived": True, "waits": [ASK]}, "archived", ""),
    ],
)
def test_what_a_status_says(facts: dict[str, Any], kind: str, reason: str) -> None:
    status = derive_status(Facts(NOW, **facts))
    assert (status.kind, status.reason) == (kind, reason)
    assert status.running is (kind in RUNNING)


def test_a_status_counts_what_waits_for_a_person() -> None:
    assert derive_status(Facts(NOW, waits=[ASK, LATER, PAUSE])).count == 2
    assert derive_status(Facts(NOW, waits=[ASK], blocked_code="request-limit")).count == 2


def test_a_retry_says_which_one_it_is_and_when() -> None:
    status = derive_status(Facts(NOW, work=[AGAIN]))
    assert (status.attempt, status.limit, status.due) == (2, 5, NOW)


def test_there_is_a_status_for_all_facts() -> None:
    choices = itertools.product(
        [True, False], [True, False], ["", "error", "request-limit"], [True, False],
        [[], [ASK], [PAUSE], [ASK, PAUSE]], [[], [MODEL], [TOOL], [AGAIN], [MODEL, TOOL]],
    )  # fmt: skip
    for readable, archived, code, stopped, waits, work in choices:
        facts = Facts(NOW, code, "why", stopped, waits, work, readable, archived)
        status = derive_status(facts)
        assert WORDS[status.kind] == status.words
        assert (status.count > 0) is (status.kind == "needs-person")

"""docs/limits.md says what the code enforces."""

from pathlib import Path

import pytest

from sessions_app.conf import Configuration
from sessions_app.core import author, canonical, change, outcomes, request, turn
from sessions_app.core.effects import Policy
from sessions_app.core.platform import MODEL_POLICY
from sessions_app.core.tools import TOOL_TIMEOUT
from sessions_app.sweeper import MOST_LOSSES_APPLYING

TABLES = (Path(__file__).resolve().parents[2] / "docs" / "limits.md").read_text()
SETTINGS = Configuration()

ROWS = {
    "payload of a person's event, a message included": f"{SETTINGS.PAYLOAD_LIMIT // 1024} KB",
    "payload of an event that an effect sends": f"{SETTINGS.EFFECT_PAYLOAD_LIMIT // 1024} KB",
    "data of one item, effect, agent state, or event that is returned": f"{change.ITEM_LIMIT // 1024} KB",
    "one tool result in a model request": f"{request.RESULT_LIMIT // 1024} KB",
    "nesting of JSON": f"{canonical.MAX_DEPTH} levels",
    "whole numbers": f"{canonical.MAX_INTEGER.bit_length() + 1} bits",
    "updates of one event": f"{author.UPDATES_PER_EVENT:,}",
    "effects one event starts": str(change.EFFECTS_PER_EVENT),
    "workers lost one after the other over one saved result": str(MOST_LOSSES_APPLYING + Policy().losses),
    "time to handle one event": f"{SETTINGS.HANDLER_LIMIT:g} s",
    "model requests in a row without a person": str(turn.REQUEST_LIMIT),
    "replies in a row cut by the output limit": str(outcomes.CUT_TRIES),
    "session title": f"{author.TITLE_LENGTH} characters",
    "text of one reply": f"{change.REPLY_LIMIT // 1024} KB",
    "label of a pending item": f"{change.LABEL_LENGTH} characters",
    "deadline, over all attempts": f"{MODEL_POLICY.timeout:g} s | {TOOL_TIMEOUT:g} s | {Policy().timeout:g} s",
    "retries after an error": f"{MODEL_POLICY.retries}, transient faults only | 0 | {Policy().retries}",
    "attempts lost with their worker": f"{MODEL_POLICY.losses} | 3 | {Policy().losses}",
    "lease of a running effect": f"{SETTINGS.LEASE:g} s, renewed every {SETTINGS.LEASE / 3:g} s",
    "sweep": f"every {SETTINGS.SWEEP_INTERVAL:g} s, give or take a quarter",
    "effects at once in one process": str(SETTINGS.EFFECTS_PER_WORKER),
}


@pytest.mark.docs
@pytest.mark.parametrize("name", ROWS)
def test_limit_is_written_down(name):
    assert f"| {name} | {ROWS[name]} |" in TABLES

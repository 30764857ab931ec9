"""Models that misbehave: whatever they do, the session says what happened and stays usable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.core.language_model import Terminated
from sessions_app.models import StoredItem, StoredSession, StoredStream
from sessions_app.sdk import ModelRequest, ModelResponse, ReasoningPart, TextPart, Usage
from tests.engine.conftest import Pump
from tests.engine.stage import brain, calls, gate
from tests.engine.work import only_effect

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def ask(session: StoredSession, sender: Sender) -> None:
    engine.dispatch_event(session, "@platform/user-message", {"text": "Hello"}, sender=sender)


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        request.reporter.text("I was about to")
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("out of \x00 order"), "The model failed. RuntimeError: out of \ufffd order"),
        (TimeoutError("slow"), "The model failed. TimeoutError: slow"),
    ],
)
def test_a_model_that_raises_blocks_with_the_reason(
    talk: StoredSession, ann: Sender, pump: Pump, error: Exception, reason: str
) -> None:
    brain.model = Raising(error)
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.blocked_reason) == ("error", reason)


def test_a_model_that_wants_to_end_the_process_does_not(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    brain.model = Raising(SystemExit(1))
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.blocked_reason) == ("failed", "SystemExit: 1")


def test_what_a_provider_says_of_a_fault_is_made_storable(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    passing = Terminated(reason="overloaded", message="a\x00b", retryable=True)
    script(ModelResponse(status=passing), ModelResponse(status=Terminated(reason="error", message="c\x00d")))
    ask(talk, ann)
    pump.until(lambda: only_effect(talk).attempt == 1 and only_effect(talk).status == "pending")
    waiting = only_effect(talk)
    assert (waiting.message, waiting.due_at < waiting.deadline) == ("a\ufffdb", True)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.blocked_reason) == ("error", "c\ufffdd")


@pytest.mark.parametrize("seconds", [900.0, 1e15])
def test_a_pause_beyond_the_deadline_ends_the_request_with_its_reason(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any, seconds: float
) -> None:
    busy = Terminated(reason="rate_limited", message="Too many requests.", retryable=True, retry_after=seconds)
    script(ModelResponse(status=busy))
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.blocked_reason) == ("rate_limited", "Too many requests.")


@pytest.mark.fault("B34")
def test_a_response_that_cannot_be_stored_blocks_with_the_reason(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    deep: Any = {}
    for _ in range(60):
        deep = {"a": deep}
    script(ModelResponse(parts=(ReasoningPart(text="Hm.", provider="x", private=deep), TextPart(text="Hello."))))
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert talk.blocked_code == "error"
    assert "nested deeper" in talk.blocked_reason


class Silent:
    async def generate_response(self, request: ModelRequest) -> Any:
        return None


def test_a_model_that_returns_nothing_blocks_with_the_reason(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    brain.model = Silent()
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert talk.blocked_code == "error"
    assert "Brain returned NoneType, not a ModelResponse." in talk.blocked_reason


def test_an_agent_that_cannot_name_its_tools_is_not_asked_again(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    model = script("Hello.")
    engine.dispatch_event(talk, "t-broke", {}, sender=ann)
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.request, model.requests) == ("failed", "", [])
    assert "no tools to be found" in talk.blocked_reason
    effect = talk.effects.get()
    assert (effect.attempt, effect.outcome) == (1, "failed")
    assert "Traceback" in effect.traceback


class Babbling:
    """Answers with what no database takes."""

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        request.reporter.text("a\x00b\ud800")
        await gate.passed("babbling")
        return ModelResponse(parts=(TextPart(text="a\x00b"),), model="m\x00")


@pytest.mark.fault("B32")
def test_a_model_that_writes_what_cannot_be_stored(talk: StoredSession, ann: Sender, pump: Pump) -> None:
    brain.model = Babbling()
    ask(talk, ann)
    pump.until(lambda: StoredStream.objects.filter(text="a\ufffdb\ufffd").exists())
    gate.opened.set()
    pump()
    reply = StoredItem.objects.get(session=talk, type="@platform/assistant-message")
    assert json.loads(reply.data)["text"] == "a\ufffdb"


class Counting:
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(parts=(TextPart(text="Hello."),), usage=Usage(input_tokens=self.tokens))


@pytest.mark.parametrize("tokens", [-5, 2**70])
def test_a_model_that_cannot_count_blocks_with_the_reason(
    talk: StoredSession, ann: Sender, pump: Pump, tokens: int
) -> None:
    brain.model = Counting(tokens)
    ask(talk, ann)
    pump()
    talk.refresh_from_db()
    assert (talk.blocked_code, talk.input_tokens) == ("error", 0)
    assert "input_tokens" in talk.blocked_reason


def test_a_model_that_calls_more_tools_than_may_run_at_once(
    talk: StoredSession, ann: Sender, pump: Pump, script: Any
) -> None:
    script(calls(*[("work", {"name": f"{number}"}) for number in range(130)]), "Phew.")
    gate.opened.set()
    ask(talk, ann)
    pump()
    assert StoredItem.objects.filter(session=talk, type="t-note").count() == 100
    assert StoredItem.objects.filter(session=talk, type="@platform/tool-error").count() == 30


class BreaksOnce:
    """Begins to answer and is then overloaded; answers the next time."""

    def __init__(self) -> None:
        self.asked = 0

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        self.asked += 1
        if self.asked == 1:
            for piece in ("Half ", "of an ", "answer"):
                request.reporter.text(piece)
            return ModelResponse(status=Terminated(reason="overloaded", message="Too busy.", retryable=True))
        request.reporter.text("A whole answer.")
        return ModelResponse(parts=(TextPart(text="A whole answer."),))


@pytest.mark.fault("B30")
def test_a_reply_that_breaks_in_the_middle_leaves_nothing_but_the_next_one(
    talk: StoredSession, ann: Sender, pump: Pump
) -> None:
    model = BreaksOnce()
    brain.model = model
    ask(talk, ann)
    pump.until(lambda: only_effect(talk).message == "Too busy.")
    assert (only_effect(talk).attempt, only_effect(talk).status) == (1, "pending")
    pump()
    answer = StoredItem.objects.get(session=talk, type="@platform/assistant-message")
    assert json.loads(answer.data)["text"] == "A whole answer."
    assert not StoredStream.objects.exists()
    assert (model.asked, talk.effects.get().attempt) == (2, 2)

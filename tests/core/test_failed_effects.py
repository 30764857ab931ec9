"""Work of the session's own that fails is seen by a person and by the model, unless the agent makes something of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sessions_app.core.operations import EffectStarted
from sessions_app.core.platform import EffectFailed, Skip, TryAgain
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EffectEnded,
    EventRejected,
    EventResult,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    SystemPromptRenderResult,
    set_agent_state,
)
from sessions_app.testing import AgentHarness

FAILURES = ("failed", "timed out", "outcome unknown")


class Begin(SessionEvent, type="failing-begin"):
    hook: str = "none"


class Fetch(SessionEffect, type="failing-fetch"):
    url: str

    async def run(self, context: EffectContext) -> None:
        raise RuntimeError("The line is dead.")


class Hook(AgentState):
    hook: str = "none"
    outcome: str = ""


class Fetcher(Agent[Hook, Begin], name="failing-fetcher"):
    def handle_event(self, state: SessionState[Hook], event: Begin) -> EventResult:
        return EventResult([set_agent_state(Hook(hook=event.hook))], effects=[Fetch(url="about:blank")])

    def handle_effect_ended(self, state: SessionState[Hook], ended: EffectEnded) -> EventResult | None:
        match state.agent_state.hook:
            case "raises":
                raise RuntimeError("The hook is broken.")
            case "handles":
                return EventResult([set_agent_state(state.agent_state.evolve(outcome=ended.outcome))])
            case _:
                return None


def failing(hook: str = "none") -> AgentHarness:
    session = AgentHarness(Fetcher, model=["I see.", "Yes."])
    session.dispatch(Begin(hook=hook))
    return session


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_failure_nobody_handles_is_an_item_that_the_model_reads(outcome: str) -> None:
    session = failing()
    session.end(Fetch, outcome, "The line is dead.")
    failed = session.item(EffectFailed)
    assert (failed.effect, failed.outcome, failed.reason) == ("failing-fetch", outcome, "The line is dead.")
    session.say("What happened?")
    session.run_all()
    assert f"(failing fetch: {outcome}. The line is dead.)" in session.messages()[0].text
    assert session.answer == "I see."


def test_it_asks_no_model_by_itself() -> None:
    session = failing()
    session.run(Fetch)
    assert "The line is dead." in session.item(EffectFailed).reason
    assert session.effects == []


@pytest.mark.parametrize("how", ["ends", "stops"])
def test_what_is_too_large_to_be_kept_comes_to_its_end_like_anything_else(how: str) -> None:
    session = failing()
    effect = replace(session.effects[0], payload={"url": "x" * 200_000})
    session.memory.effects[effect.id] = session.stored.effects[effect.id] = effect
    transition = session.stop() if how == "stops" else session.end(effect, "failed", "Dead.")
    assert transition.status == "applied"
    assert session.effects == []
    for failed in session.items(EffectFailed):
        assert failed.payload == ""
        with pytest.raises(EventRejected, match="too large to be kept"):
            session.dispatch(TryAgain(), failed.id)


def test_a_failure_the_agent_handles_is_its_own_business() -> None:
    session = failing("handles")
    session.run(Fetch)
    assert session.items(EffectFailed) == []
    assert session.state == Hook(hook="handles", outcome="failed")


def test_a_hook_that_raises_says_so() -> None:
    session = failing("raises")
    session.run(Fetch)
    assert "handle_effect_ended failed" in session.item(EffectFailed).reason


@pytest.mark.parametrize("outcome", ["cancelled", "done"])
def test_what_did_not_fail_leaves_nothing(outcome: str) -> None:
    session = failing()
    session.end(Fetch, outcome)
    assert session.items(EffectFailed) == []


def test_it_can_be_run_again() -> None:
    session = failing()
    session.run(Fetch)
    transition = session.dispatch(TryAgain(), session.item(EffectFailed).id)
    (started,) = [op for op in transition.operations if isinstance(op, EffectStarted)]
    assert (started.type, started.payload, started.owner) == ("failing-fetch", {"url": "about:blank"}, "")
    assert session.items(EffectFailed) == []
    session.run(Fetch)
    assert len(session.items(EffectFailed)) == 1


def test_it_can_be_put_away_once() -> None:
    session = failing()
    session.run(Fetch)
    item_id = session.item(EffectFailed).id
    session.dispatch(Skip(), item_id)
    assert session.items(EffectFailed) == []
    with pytest.raises(EventRejected):
        session.dispatch(TryAgain(), item_id)


def test_stop_tells_the_agent_that_its_effect_was_cancelled() -> None:
    session = failing("handles")
    session.stop()
    assert session.state == Hook(hook="handles", outcome="cancelled")
    assert session.effects == []


class Loaded(SessionEvent, type="failing-loaded", private=True):
    pass


class Load(SessionEffect[Loaded], type="failing-load"):
    async def run(self, context: EffectContext[Loaded]) -> Loaded:
        return Loaded()


class Waiting(Agent[Hook, Loaded], name="failing-waiting"):
    """Says nothing before its data is there."""

    def create_session(self, args: SessionArgs) -> SessionResult[Hook]:
        return SessionResult(Hook(), effects=[Load()])

    def get_system_prompt(self, state: Hook) -> SystemPromptRenderResult:
        return SystemPromptRenderResult.ready("Go.") if state.outcome else SystemPromptRenderResult.pending()

    def handle_event(self, state: SessionState[Hook], event: Loaded) -> EventResult:
        return EventResult([set_agent_state(state.agent_state.evolve(outcome="here"))])


def test_a_message_that_waits_for_what_failed_is_answered_once_it_worked_again() -> None:
    session = AgentHarness(Waiting, model=["Hello."])
    session.say("Hello?")
    session.end(Load, "failed", "The line is dead.")
    assert session.memory.session.blocked_code == "prompt-pending"
    session.dispatch(TryAgain(), session.item(EffectFailed).id)
    assert session.memory.session.blocked_code == ""
    session.run_all()
    assert session.answer == "Hello."

"""The harness that authors test their agents with. The first test is how such a test looks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest

from sessions_app.core.errors import HandlerError
from sessions_app.core.platform import GenerateResponse
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EventResult,
    Message,
    ModelRequest,
    ModelResponse,
    SessionEffect,
    SessionEvent,
    SessionState,
    set_agent_state,
    set_title,
)
from sessions_app.testing import AgentHarness, tool_calls
from tests.core.lab import LabAgent, StartWork, Worked
from tools_app.agents import TravelAgent
from tools_app.services import configure_services
from tools_app.services.pace import DEFAULT_DELAY
from tools_app.tools.ask_user import AnswerProvided, AskUser, UserQuestion
from tools_app.tools.flights import FindFlights, FlightSearch, SearchFlights


@pytest.fixture(autouse=True)
def services_answer_at_once() -> Iterator[None]:
    configure_services(delay=0)
    yield
    configure_services(delay=DEFAULT_DELAY)


def test_the_travel_agent_finds_flights_and_asks_which_one() -> None:
    asks = tool_calls(AskUser(question="Which flight?"), text="I found some.")
    session = AgentHarness(TravelAgent, model=[tool_calls(FindFlights(destination="Tokyo")), asks, "Enjoy Tokyo!"])
    session.say("I want to go to Tokyo.")
    session.run(GenerateResponse)
    session.run(FindFlights)
    assert session.item(FlightSearch).render().label == "Searching flights to Tokyo…"
    session.run(SearchFlights)
    assert session.request().request.messages[-1].parts[0].type == "tool_result"
    session.run_all()
    session.dispatch(AnswerProvided(answer="The first"), session.item(UserQuestion).id)
    session.run_all()
    assert session.answer == "Enjoy Tokyo!"


def test_a_model_of_the_agents_own_is_asked_where_the_test_gives_none() -> None:
    session = AgentHarness(EchoAgent)
    session.say("Hello")
    session.run_all()
    assert session.answer == "You said: Hello"


class Echo:
    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        if "boom" in request.messages[-1].text:
            raise ValueError("The model broke.")
        return ModelResponse(parts=Message.assistant(f"You said: {request.messages[-1].text}").parts)  # type: ignore[arg-type]


class EchoAgent(Agent, name="echo"):
    model = Echo()


def test_a_model_that_raises_blocks_the_session() -> None:
    session = AgentHarness(EchoAgent)
    session.say("boom")
    session.run_all()
    assert session.memory.session.blocked_code == "failed"
    assert "The model broke." in session.memory.session.blocked_reason


class Roll(SessionEvent, type="roll"):
    pass


class DiceAgent(Agent[AgentState, Roll], name="dice"):
    def handle_event(self, state: SessionState[AgentState], event: Roll) -> EventResult:
        return EventResult([set_title(str(random.random()))])


def test_a_handler_that_uses_chance_is_found_out() -> None:
    session = AgentHarness(DiceAgent)
    with pytest.raises(AssertionError, match="not pure"):
        session.dispatch(Roll())
    AgentHarness(DiceAgent, check_purity=False).dispatch(Roll())


class Step(SessionEvent, type="step", private=True):
    name: str


class Undeclared(SessionEvent, type="undeclared", private=True):
    pass


class Walk(SessionEffect[Step], type="walk"):
    how: str = ""

    async def run(self, context: EffectContext[Step]) -> Any:
        await context.dispatch_event(Step(name=f"{context.idempotency_key} {context.attempt}"))
        await context.dispatch_event(Step(name=await context.in_thread(str.upper, "thread")))
        match self.how:
            case "undeclared":
                await context.dispatch_event(Undeclared())  # type: ignore[arg-type]
            case "unhandled":
                await context.dispatch_event(Step(name="boom"))
            case "returns":
                return Undeclared()
            case "later":
                Walk.context = context  # type: ignore[attr-defined]
            case _:
                pass
        return None


class Go(SessionEvent, type="go"):
    how: str = ""


class Trail(AgentState):
    steps: tuple[str, ...] = ()


class WalkingAgent(Agent[Trail, Go | Step], name="walking"):
    def handle_event(self, state: SessionState[Trail], event: Go | Step) -> EventResult:
        match event:
            case Go(how=how):
                return EventResult(effects=[Walk(how=how)])
            case Step(name="boom"):
                raise ValueError("boom")
            case Step(name=name):
                return EventResult([set_agent_state(Trail(steps=(*state.agent_state.steps, name)))])


def walked(how: str) -> AgentHarness:
    session = AgentHarness(WalkingAgent, mistakes="keep")
    session.dispatch(Go(how=how))
    session.run(Walk)
    return session


def outcome(session: AgentHarness) -> tuple[str, str]:
    (effect,) = session.memory.effects.values()
    return effect.outcome, effect.message


def test_an_effect_really_runs_with_a_context() -> None:
    session = walked("")
    assert session.state == Trail(steps=("2_0 1", "THREAD"))
    assert outcome(session) == ("done", "")


@pytest.mark.fault("B73")
def test_an_effect_that_sends_or_returns_what_it_does_not_declare_has_failed() -> None:
    for how in ("undeclared", "returns"):
        assert outcome(walked(how)) == (
            "failed",
            "HandlerError: Walk sent Undeclared, but declares Step. Add it between the brackets.",
        )


@pytest.mark.fault("B73")
def test_an_effect_whose_event_could_not_be_handled_has_failed() -> None:
    assert outcome(walked("unhandled")) == ("failed", "Its event step (event 5) could not be handled.")


@pytest.mark.fault("B73")
def test_an_effect_that_has_returned_can_send_no_more() -> None:
    walked("later")
    with pytest.raises(HandlerError, match="has returned"):
        asyncio.run(Walk.context.dispatch_event(Step(name="late")))  # type: ignore[attr-defined]


def test_what_is_not_open_cannot_be_run() -> None:
    session = AgentHarness(LabAgent)
    with pytest.raises(AssertionError, match="open are"):
        session.run(FindFlights)
    session.dispatch(StartWork())
    with pytest.raises(AssertionError, match="lab-work"):
        session.end(SearchFlights)


def test_time_moves_on_with_each_event() -> None:
    session = AgentHarness(LabAgent)
    session.say("a")
    session.say("b")
    times = [transition.event.time for transition in session.log]
    assert times == sorted(set(times))


def test_an_endless_session_is_noticed() -> None:
    session = AgentHarness(RestlessAgent)
    session.dispatch(Worked(by=1), sender=session.log[0].event.sender)
    with pytest.raises(AssertionError, match="still open after 5"):
        session.run_all(limit=5)


class Restart(SessionEffect[Worked], type="restart"):
    async def run(self, context: EffectContext[Worked]) -> Worked:
        return Worked(by=1)


class RestlessAgent(Agent[AgentState, Worked], name="restless"):
    def handle_event(self, state: SessionState[AgentState], event: Worked) -> EventResult:
        return EventResult(effects=[Restart()])

"""Two speeds: the state says which model is asked."""

import pytest

from sessions_app.providers import demo, label_of
from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import ModelRequest
from sessions_app.testing import AgentHarness
from tests.providers.helpers import request
from tools_app.agents import TwoSpeedsAgent
from tools_app.agents.two_speeds import (
    DETAILED,
    FAST,
    DetailedModelChosen,
    FastModelChosen,
    InAManner,
    SpeedState,
)
from tools_app.tools.notice import Notice


def test_the_state_chooses_the_model_and_the_only_switch_that_makes_sense() -> None:
    agent = TwoSpeedsAgent()
    fast, detailed = SpeedState(), SpeedState(use_detailed_model=True)
    assert (agent.get_model(fast), agent.get_actions(fast)) == (FAST, [DetailedModelChosen])
    assert (agent.get_model(detailed), agent.get_actions(detailed)) == (DETAILED, [FastModelChosen])


def test_an_event_switches_the_model_and_says_so() -> None:
    session = AgentHarness(TwoSpeedsAgent, model=["Gas."])
    session.dispatch(DetailedModelChosen())
    assert session.state == SpeedState(use_detailed_model=True)
    assert session.item(Notice).text == "From now on the detailed model answers."
    assert session.dispatch(DetailedModelChosen()).operations == ()
    session.say("How does bread rise?")
    session.run_all()
    assert session.answer == "Gas."
    session.dispatch(FastModelChosen())
    assert session.state == SpeedState()


async def test_a_manner_is_one_sentence_more_and_a_label_of_its_own() -> None:
    asked = ScriptedModel(["Yes."])
    model = InAManner("curt", "Say yes or no.", asked)
    response = await model.generate_response(request("Is it?"))
    assert list(asked.requests[0].system) == ["Be brief.", "Say yes or no."]
    assert (label_of(model), response.model) == ("scripted model, curt", "scripted model, curt")


@pytest.mark.parametrize("question", TwoSpeedsAgent.examples)
def test_with_the_demo_model_the_next_answer_is_longer(question: str) -> None:
    session = AgentHarness(TwoSpeedsAgent)
    session.say(question)
    session.run_all()
    brief = session.answer
    session.dispatch(DetailedModelChosen())
    session.say(question)
    session.run_all()
    assert len(brief.split()) < 20
    assert len(session.answer.split()) > 40
    assert session.answer.count("\n1. ") == 1


async def test_the_demo_model_says_what_it_knows_here() -> None:
    asked = ModelRequest(system=[FAST.sentence], messages=request("Who are you?").messages, tools=())
    response = await demo().generate_response(asked)
    assert response.parts[0].type == "text"
    assert "knows how bread rises" in response.parts[0].text

"""The explainer: the prompt follows the state, and the state follows the event."""

from typing import Any

import pytest
from pydantic import ValidationError

from sessions_app.providers import demo
from sessions_app.testing import AgentHarness
from tools_app.agents import ExplainerAgent
from tools_app.agents.explainer import AudienceChanged
from tools_app.tools.notice import Notice


@pytest.mark.parametrize("args", [{}, {"audience": "cat"}, {"audience": None}])
def test_a_session_needs_an_audience(args: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AgentHarness(ExplainerAgent, args)


def test_the_audience_stands_in_the_prompt_and_a_change_counts_from_the_next_request_on() -> None:
    session = AgentHarness(ExplainerAgent, {"audience": "child"}, model=["It is like a ball.", "It goes with λ⁻⁴."])
    session.say("Why is the sky blue?")
    session.run_all()
    session.dispatch(AudienceChanged(audience="expert"))
    assert session.effects == []  # a change asks the model nothing
    session.say("And now?")
    session.run_all()
    first, second = session.model.requests
    assert "for a child." in first.system[0]
    assert "for an expert." in second.system[0]
    assert session.answer == "It goes with λ⁻⁴."


def test_a_change_is_told_to_people_and_not_to_the_model() -> None:
    session = AgentHarness(ExplainerAgent, {"audience": "child"}, model=[])
    session.dispatch(AudienceChanged(audience="beginner"))
    assert session.item(Notice).text == "From now on it is explained for a beginner."
    assert not any("From now on" in message.text for message in session.messages())


def test_a_change_to_the_same_audience_changes_nothing() -> None:
    session = AgentHarness(ExplainerAgent, {"audience": "child"}, model=[])
    assert session.dispatch(AudienceChanged(audience="child")).operations == ()
    assert session.items(Notice) == []


@pytest.mark.parametrize("question", ExplainerAgent.examples)
def test_with_the_demo_model_each_audience_gets_an_explanation_of_its_own(question: str) -> None:
    session = AgentHarness(ExplainerAgent, {"audience": "child"}, model=demo())
    answers = []
    for audience in ("child", "beginner", "expert"):
        session.dispatch(AudienceChanged.model_validate({"audience": audience}))
        session.say(question)
        session.run_all()
        answers.append(session.answer)
    assert [answer.split(":")[0] for answer in answers] == ["For a child", "For a beginner", "For an expert"]
    assert len({answer.partition(": ")[2] for answer in answers}) == 3


def test_the_demo_model_says_what_it_can_explain() -> None:
    session = AgentHarness(ExplainerAgent, {"audience": "expert"}, model=demo())
    session.say("What is justice?")
    session.run_all()
    assert session.answer.startswith("I would explain that for an expert, but the demo model knows only three things")

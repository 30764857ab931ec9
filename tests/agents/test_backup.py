"""The help desk: whichever model is out of service, people get their answer."""

import pytest

from sessions_app.core.platform import AssistantMessage
from sessions_app.providers import label_of, with_backup
from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import Terminated
from sessions_app.testing import AgentHarness
from tests.providers.helpers import Heard, request, text_of
from tools_app.agents import BackupAgent
from tools_app.agents.backup import (
    IN_SERVICE,
    OUT_OF_SERVICE,
    DeskState,
    Numbered,
    OutOfService,
    PrimaryPutBack,
    PrimaryTakenOut,
)
from tools_app.tools.notice import Notice


async def test_a_model_out_of_service_ends_without_an_answer_and_the_backup_gives_one() -> None:
    first, second = Numbered("first", ScriptedModel(["Never."])), Numbered("second", ScriptedModel(["At ten."]))
    heard = Heard()
    refused = await OutOfService(first).generate_response(request("When?"))
    assert refused.status == Terminated(reason="connection", message="The first model is out of service.")
    response = await with_backup(OutOfService(first), second).generate_response(request("When?", reporter=heard))
    assert (text_of(response), response.model, heard.all) == ("At ten.", "second scripted model", "At ten.")


def test_the_labels_say_which_model_is_which() -> None:
    assert label_of(IN_SERVICE).startswith("first ")
    assert ", out of service (backup: second " in label_of(OUT_OF_SERVICE)


def test_the_start_argument_and_the_events_choose_the_model() -> None:
    agent = BackupAgent()
    session = AgentHarness(BackupAgent, {"primary_out_of_service": True}, model=["At ten."])
    assert session.state == DeskState(primary_out_of_service=True)
    assert agent.get_model(DeskState(primary_out_of_service=True)) is OUT_OF_SERVICE
    assert agent.get_actions(DeskState(primary_out_of_service=True)) == [PrimaryPutBack]
    session.dispatch(PrimaryPutBack())
    assert session.dispatch(PrimaryPutBack()).operations == ()
    assert session.item(Notice).text == "The first model is back in service."
    assert session.state == DeskState(primary_out_of_service=False)
    assert agent.get_model(DeskState(primary_out_of_service=False)) is IN_SERVICE
    assert agent.get_actions(DeskState(primary_out_of_service=False)) == [PrimaryTakenOut]
    session.say("When are you open?")
    session.run_all()
    assert session.answer == "At ten."


@pytest.mark.parametrize(
    ("question", "answer"),
    list(zip(BackupAgent.examples, ["10:00 to 19:00", "four weeks", "costs nothing"], strict=True)),
)
def test_with_the_demo_model_each_answer_names_the_model_that_gave_it(question: str, answer: str) -> None:
    session = AgentHarness(BackupAgent)
    session.say(question)
    session.run_all()
    session.dispatch(PrimaryTakenOut())
    session.say(question)
    session.run_all()
    first, second = session.items(AssistantMessage)
    assert answer in first.text
    assert first.text == second.text
    assert (first.model, second.model) == ("first demo model", "second demo model")


def test_the_demo_model_says_what_the_desk_knows() -> None:
    session = AgentHarness(BackupAgent)
    session.say("Good morning")
    session.run_all()
    assert session.answer.startswith("I know when the library is open")

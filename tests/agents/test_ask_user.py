"""A question to the person."""

from typing import Any

import pytest
from pydantic import ValidationError

from sessions_app.core.data import dump, load
from sessions_app.sdk import Message, RenderResult, ToolContext
from tools_app.tools.ask_user import AnswerProvided, AskUser, UserQuestion


def test_a_question_waits_for_its_answer() -> None:
    item = UserQuestion(question="Which one?")
    assert item.render() == RenderResult.pending("Which one?")
    item = item.handle_event(AnswerProvided(answer="The first")).data
    assert item.render() == RenderResult.ready(Message.user("The first"))
    assert load(UserQuestion, dump(item)) == item


def test_anybody_in_the_session_may_answer() -> None:
    assert UserQuestion.event_types() == (AnswerProvided,)
    assert not AnswerProvided.is_private()


def test_an_answer_loses_the_space_around_it() -> None:
    assert AnswerProvided(answer="  yes \n").answer == "yes"
    assert AnswerProvided(answer="x" * 2000).answer == "x" * 2000


@pytest.mark.parametrize("answer", ["", " \n ", "x" * 2001, None, 5, ["yes"], {"answer": "yes"}])
def test_an_answer_that_is_none_is_refused(answer: Any) -> None:
    with pytest.raises(ValidationError):
        AnswerProvided(answer=answer)


def test_the_form_can_be_made_from_the_schema() -> None:
    (answer,) = AnswerProvided.model_json_schema()["properties"].values()
    assert answer == {"type": "string", "title": "Your answer", "minLength": 1, "maxLength": 2000}


async def test_the_tool_asks() -> None:
    result = await AskUser(question="Which one?").execute(ToolContext(idempotency_key="key"))
    assert list(result.context_items) == [UserQuestion(question="Which one?")]

"""What every model promises, on each of them: demo, scripted, and Anthropic through a stand-in server."""

import asyncio
import json
from typing import Any

import pytest

from sessions_app.core.language_model import Completed, LanguageModel, ModelRequest, ModelResponse, Terminated, Usage
from sessions_app.core.messages import Message, TextPart, ToolResultPart
from sessions_app.providers import anthropic, default_model, demo, label_of
from sessions_app.providers.scripted import ScriptedModel
from tests.providers.helpers import ASK_USER, FIND_FLIGHTS, Heard, answered, call, calls_of, request, text_of

QUESTION = "Find flights to Tokyo"
TOOLS = [FIND_FLIGHTS]


def as_a_model_would(request: ModelRequest) -> str | ModelResponse:
    """Calls the first tool on offer once, then talks."""
    if request.tools and not any(isinstance(part, ToolResultPart) for part in request.messages[-1].parts):
        parts = (TextPart(text="I will look."), call("", request.tools[0].name))
        return ModelResponse(parts=parts, usage=Usage(input_tokens=3, output_tokens=3), model="scripted model")
    return "A reply of several words, so that it can be seen to stream."


@pytest.fixture(params=["demo", "scripted", "anthropic", "default without a key", "default with a key"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param in ("anthropic", "default with a key"):
        request.getfixturevalue("anthropic_server")
    models: dict[str, LanguageModel] = {
        "demo": demo(),
        "scripted": ScriptedModel(as_a_model_would),
        "anthropic": anthropic("claude-haiku-5-5"),
    }
    return models.get(request.param, default_model())


async def test_text_comes_complete_and_as_it_was_streamed(model: LanguageModel) -> None:
    heard = Heard()
    response = await model.generate_response(request("Hello", reporter=heard))
    assert response.status == Completed()
    assert len(heard.pieces) > 3
    assert heard.all == text_of(response) != ""
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
    assert response.model
    assert label_of(model)


async def test_a_tool_loop_calls_and_ends(model: LanguageModel) -> None:
    first = await model.generate_response(request(QUESTION, tools=TOOLS))
    (made,) = calls_of(first)
    assert first.status == Completed()
    assert made.name == "find_flights"
    assert "destination" in json.loads(made.arguments)

    second = await model.generate_response(request(QUESTION, *answered(first), tools=TOOLS))
    assert second.status == Completed()
    assert calls_of(second) == []
    assert text_of(second)


async def test_a_request_that_must_be_refused_is_not_sent(model: LanguageModel) -> None:
    response = await model.generate_response(request("Hello", Message.assistant("Yes?")))
    assert isinstance(response.status, Terminated)
    assert response.status.reason == "invalid_request"
    assert not response.status.retryable
    assert "The last message is the assistant's." in response.status.message


async def test_cancelling_is_clean(model: LanguageModel) -> None:
    task = asyncio.create_task(model.generate_response(request("Hello")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    after = await model.generate_response(request("Hello"))
    assert after.status == Completed()


async def test_fifty_at_once_do_not_mix(model: LanguageModel) -> None:
    reporters = [Heard() for _ in range(50)]
    asked = (model.generate_response(request(f"Hello {n}", reporter=heard)) for n, heard in enumerate(reporters))
    responses = await asyncio.gather(*asked)
    assert all(response.status == Completed() for response in responses)
    assert [heard.all for heard in reporters] == [text_of(response) for response in responses]


def test_the_default_model_says_who_answers(anthropic_server: object) -> None:
    assert label_of(default_model()) == "claude-sonnet-5-5"


async def test_the_default_model_passes_settings_on(anthropic_server: Any) -> None:
    await default_model(model_settings={"effort": "low"}).generate_response(request("Hello"))
    (asked,) = anthropic_server.requests
    assert asked.body["output_config"] == {"effort": "low"}


def test_without_a_key_the_default_is_the_demo_model() -> None:
    assert label_of(default_model()) == "demo model"


async def test_tools_are_offered_in_any_number(model: LanguageModel) -> None:
    response = await model.generate_response(request(QUESTION, tools=[ASK_USER, FIND_FLIGHTS]))
    assert response.status == Completed()
    assert calls_of(response)

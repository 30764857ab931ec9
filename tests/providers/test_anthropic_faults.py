"""Every way a request to Anthropic can go wrong, through the real client and a real server."""

import asyncio
import json
import time
from typing import Any

import pytest
from llmock.scenarios import Reply as ServerReply
from llmock.scenarios import ToolCall

from sessions_app.core.language_model import Completed, ModelResponse, Terminated
from sessions_app.providers import ProviderConfiguration, anthropic, configure
from sessions_app.providers.anthropic_api.faults import retry_after, status_of_error
from tests.providers.helpers import FIND_FLIGHTS, Heard, calls_of, request, text_of

Server = Any
WORDS = "one two three four five six seven eight nine ten"


async def ask(heard: Heard | None = None, **options: Any) -> ModelResponse:
    return await anthropic("claude-haiku-5-5").generate_response(request("Hello", reporter=heard, **options))


def ended(response: ModelResponse) -> Terminated:
    assert isinstance(response.status, Terminated)
    return response.status


@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [
        (400, "invalid_request", False),
        (401, "authentication", False),
        (402, "authentication", False),
        (403, "authentication", False),
        (404, "invalid_request", False),
        (408, "error", True),
        (409, "error", True),
        (413, "invalid_request", False),
        (422, "invalid_request", False),
        (429, "rate_limited", True),
        (500, "error", True),
        (503, "overloaded", True),
        (529, "overloaded", True),
    ],
)
async def test_an_error_has_a_reason_and_is_asked_once(
    anthropic_server: Server, status: int, reason: str, retryable: bool
) -> None:
    anthropic_server.fail(status)
    response = await ask()
    assert (ended(response).reason, ended(response).retryable) == (reason, retryable)
    assert ended(response).message.endswith(".")
    assert response.parts == ()
    assert response.model == "claude-haiku-5-5"
    assert len(anthropic_server.requests) == 1  # the client itself retries nothing


async def test_a_refused_key_says_where_to_look(anthropic_server: Server) -> None:
    anthropic_server.fail(401)
    assert ended(await ask()).message == "The Anthropic API key was refused. Check ANTHROPIC_API_KEY."


async def test_a_refused_request_says_what_anthropic_said(anthropic_server: Server) -> None:
    anthropic_server.fail(400, message="max_tokens: 99999999 is too large.")
    assert "max_tokens: 99999999 is too large." in ended(await ask()).message


async def test_the_wait_anthropic_asks_for_is_handed_on(anthropic_server: Server) -> None:
    anthropic_server.rate_limit(retry_after=7)
    assert ended(await ask()).retry_after == 7


async def test_without_a_key_nothing_is_sent(anthropic_server: Server) -> None:
    configure(ProviderConfiguration(anthropic_base_url=anthropic_server.base_url("anthropic")))
    status = ended(await ask())
    assert status.reason == "authentication"
    assert "Set ANTHROPIC_API_KEY" in status.message
    assert anthropic_server.requests == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt", "stall"])
async def test_a_stream_that_breaks_can_be_tried_again(anthropic_server: Server, fault: str) -> None:
    anthropic_server.reply(WORDS, times=None)
    getattr(anthropic_server, fault)(after_chunks=5)
    heard = Heard()
    response = await ask(heard)
    assert (ended(response).reason, ended(response).retryable) == ("connection", True)
    assert response.parts == ()
    assert heard.all.startswith("one two")  # what was seen before the fault
    assert response.usage.input_tokens > 0  # and is paid for

    again = await ask()
    assert text_of(again) == WORDS


@pytest.mark.usefixtures("impatient")
async def test_a_stall_ends_after_the_read_timeout(anthropic_server: Server) -> None:
    anthropic_server.stall(after_chunks=3, seconds=30)
    begun = time.monotonic()
    assert "stopped sending" in ended(await ask()).message
    assert time.monotonic() - begun < 3


@pytest.mark.usefixtures("impatient")
async def test_a_server_that_does_not_answer_at_all(anthropic_server: Server) -> None:
    anthropic_server.delay(2)
    assert "stopped sending" in ended(await ask()).message


async def test_a_short_delay_is_no_fault(anthropic_server: Server) -> None:
    anthropic_server.delay(0.1)
    assert (await ask()).status == Completed()


async def test_an_address_where_nobody_listens() -> None:
    configure(ProviderConfiguration(anthropic_api_key="k", anthropic_base_url="http://127.0.0.1:9"))
    status = ended(await ask())
    assert (status.reason, status.retryable) == ("connection", True)
    assert status.message == "Anthropic could not be reached."


@pytest.mark.fault("B27")
async def test_a_cut_answer_keeps_its_text(anthropic_server: Server) -> None:
    anthropic_server.add(ServerReply(text=WORDS, finish_reason="length"))
    response = await ask()
    assert (ended(response).reason, ended(response).retryable) == ("length", False)
    assert text_of(response) == WORDS


@pytest.mark.fault("B29")
async def test_a_refusal_is_told_and_its_text_dropped(anthropic_server: Server) -> None:
    anthropic_server.add(ServerReply(text="Well", finish_reason="content_filter"))
    response = await ask()
    assert (ended(response).reason, ended(response).retryable) == ("refused", False)
    assert response.parts == ()


@pytest.mark.parametrize("finish", ["pause_turn", "something_new"])
@pytest.mark.fault("B28")
async def test_an_unknown_end_is_no_answer(anthropic_server: Server, finish: str) -> None:
    anthropic_server.add(ServerReply(text=WORDS, finish_reason=finish))
    status = ended(await ask())
    assert (status.reason, status.retryable) == ("error", True)
    assert finish in status.message


@pytest.mark.parametrize("text", ["", " \n\n ", "\u200b"])
@pytest.mark.fault("B28")
async def test_an_empty_answer_is_no_answer(anthropic_server: Server, text: str) -> None:
    anthropic_server.add(ServerReply(text=text))
    assert ended(await ask()).reason == "empty"


@pytest.mark.fault("B26")
async def test_malformed_arguments_arrive_as_the_model_wrote_them(anthropic_server: Server) -> None:
    anthropic_server.break_tool_call("malformed_arguments")
    response = await ask(tools=[FIND_FLIGHTS])
    (made,) = calls_of(response)
    assert response.status == Completed()  # a model's mistake, for the machine to judge
    with pytest.raises(json.JSONDecodeError):
        json.loads(made.arguments)


@pytest.mark.fault("B25")
async def test_parallel_calls_keep_order_and_their_own_ids(anthropic_server: Server) -> None:
    wanted = (ToolCall("find_flights", {"destination": "Tokyo"}), ToolCall("find_flights", {"destination": "Paris"}))
    anthropic_server.add(ServerReply(text="Two.", tool_calls=wanted))
    made = calls_of(await ask(tools=[FIND_FLIGHTS]))
    assert [call.arguments for call in made] == ['{"destination": "Tokyo"}', '{"destination": "Paris"}']
    assert len({call.provider_id for call in made}) == 2
    assert {call.id for call in made} == {""}


async def test_cancelling_in_the_middle_of_a_stream(anthropic_server: Server) -> None:
    anthropic_server.reply(WORDS, times=None).pace(50)
    begun = asyncio.Event()

    class Listening(Heard):
        def text(self, delta: str) -> None:
            begun.set()

    task = asyncio.create_task(ask(Listening()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    anthropic_server.pace(0)
    assert text_of(await ask()) == WORDS


def test_an_overload_inside_a_stream_is_known_by_its_type() -> None:
    status = status_of_error(200, "overloaded_error", "Overloaded", {})
    assert (status.reason, status.retryable) == ("overloaded", True)


def test_an_error_without_a_known_type_inside_a_stream_can_be_tried_again() -> None:
    assert status_of_error(200, None, "", {}).retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=100.0) == seconds

"""Streams no well-behaved server sends, byte by byte."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sessions_app.core.language_model import ModelResponse, Terminated
from sessions_app.providers import ProviderConfiguration, anthropic, configure
from tests.providers.helpers import Heard, request
from tests.providers.test_anthropic_reply import START, opened, piece

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def event(data: Any, name: str = "") -> bytes:
    return f"event: {name or data['type']}\ndata: {json.dumps(data)}\n\n".encode()


@asynccontextmanager
async def serving(body: bytes) -> AsyncIterator[None]:
    """Answer every request with this stream."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(rb"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length))
        writer.write(HEAD + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    configure(
        ProviderConfiguration(
            anthropic_api_key="k", anthropic_base_url=f"http://127.0.0.1:{port}", anthropic_read_timeout=2
        )
    )
    async with server:
        yield


async def ask(body: bytes, heard: Heard | None = None) -> ModelResponse:
    async with serving(body):
        return await anthropic().generate_response(request("Hello", reporter=heard))


BEGUN = event(START) + event(opened(0, type="text", text="")) + event(piece(0, "text_delta", text="Half"))
OVERLOADED = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


def end(reason: str, **details: Any) -> bytes:
    delta = {"stop_reason": reason, **details}
    return event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}) + event(
        {"type": "message_stop"}
    )


@pytest.mark.fault("B30")
async def test_an_overload_after_a_good_beginning() -> None:
    heard = Heard()
    response = await ask(BEGUN + OVERLOADED, heard)
    assert heard.all == "Half"
    assert isinstance(response.status, Terminated)
    assert (response.status.reason, response.status.retryable) == ("overloaded", True)
    assert response.parts == ()


@pytest.mark.parametrize(
    "broken",
    [
        b"event: content_block_delta\ndata: {half a chu\n\n",
        b"event: content_block_delta\ndata: null\n\n",
        b'event: content_block_delta\ndata: "text"\n\n',
        event({"type": "content_block_delta", "index": 0}),
        event({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}}),
        event({"type": "content_block_start", "index": 1}),
        event({"type": "message_delta"}),
        b"event: content_block_delta\ndata: \xff\xfe\n\n",
    ],
)
@pytest.mark.fault("B25")
async def test_a_chunk_that_cannot_be_read_ends_the_try(broken: bytes) -> None:
    response = await ask(BEGUN + broken + end("end_turn"))
    assert isinstance(response.status, Terminated)
    assert (response.status.reason, response.status.retryable) == ("connection", True)


async def test_events_nobody_knows_yet_are_passed_over() -> None:
    unknown = event({"type": "weather"}) + event({"type": "ping"}) + event(opened(1, type="hologram"))
    response = await ask(BEGUN + unknown + event(piece(1, "hologram_delta", light=1)) + end("end_turn"))
    assert [part.model_dump() for part in response.parts] == [{"type": "text", "text": "Half"}]
    assert response.model == "claude-served"


async def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
    response = await ask(BEGUN + end("refusal", stop_details=details))
    assert isinstance(response.status, Terminated)
    assert response.status.message == "The model declined to answer. It could do harm."


async def test_a_full_context_window_keeps_the_text() -> None:
    response = await ask(BEGUN + end("model_context_window_exceeded"))
    assert isinstance(response.status, Terminated)
    assert response.status.reason == "length"
    assert response.parts

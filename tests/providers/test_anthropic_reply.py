"""Anthropic's events put together, with events no stand-in server sends."""

from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from sessions_app.core.language_model import Usage
from sessions_app.core.messages import ReasoningPart, TextPart, ToolCallPart
from sessions_app.providers.anthropic_api.reply import BrokenStream, Reply
from tests.providers.helpers import Heard

EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-served",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 100},
    },
}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def call_opened(index: int, name: str) -> dict[str, Any]:
    return opened(index, type="tool_use", id=f"toolu_{index}", name=name, input={})


def put_together(*events: dict[str, Any]) -> tuple[Reply, Heard]:
    reply, heard = Reply(model="claude-asked"), Heard()
    for event in events:
        reply.take(EVENT.validate_python(event), heard)
    return reply, heard


@pytest.mark.fault("B25")
def test_pieces_of_several_calls_may_come_interleaved() -> None:
    reply, _ = put_together(
        START,
        call_opened(1, "second"),
        call_opened(0, "first"),
        piece(0, "input_json_delta", partial_json='{"a":'),
        piece(1, "input_json_delta", partial_json='{"b":'),
        piece(0, "input_json_delta", partial_json="1}"),
        piece(1, "input_json_delta", partial_json="2}"),
    )
    assert [(part.name, part.arguments) for part in reply.parts("") if isinstance(part, ToolCallPart)] == [
        ("first", '{"a":1}'),
        ("second", '{"b":2}'),
    ]


@pytest.mark.parametrize(
    "events",
    [
        (START, piece(0, "text_delta", text="lost")),
        (START, opened(0, type="text", text=""), opened(0, type="text", text="")),
    ],
)
@pytest.mark.fault("B25")
def test_pieces_that_cannot_be_told_apart_break_the_stream(events: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(BrokenStream):
        put_together(*events)


def test_reasoning_is_kept_with_what_only_its_provider_understands() -> None:
    reply, heard = put_together(
        START,
        opened(0, type="thinking", thinking="", signature=""),
        piece(0, "thinking_delta", thinking="Let me "),
        piece(0, "thinking_delta", thinking="see."),
        piece(0, "signature_delta", signature="signed"),
        opened(1, type="redacted_thinking", data="sealed"),
        opened(2, type="text", text=""),
        piece(2, "text_delta", text="Yes."),
    )
    assert reply.parts("p") == (
        ReasoningPart(text="Let me see.", provider="anthropic", private={"signature": "signed", "prefix": "p"}),
        ReasoningPart(provider="anthropic", private={"redacted": "sealed", "prefix": "p"}),
        TextPart(text="Yes."),
    )
    assert heard.all == "Yes."


def test_two_texts_stream_as_the_message_shows_them() -> None:
    reply, heard = put_together(
        START,
        opened(0, type="text", text=""),
        piece(0, "text_delta", text="One."),
        opened(1, type="text", text=""),
        piece(1, "text_delta", text=""),
        piece(1, "text_delta", text="Two."),
        opened(2, type="text", text=""),
    )
    assert reply.parts("") == (TextPart(text="One."), TextPart(text="Two."))
    assert heard.all == "One.\n\nTwo."


@pytest.mark.fault("B32")
def test_text_that_cannot_be_stored_is_cleaned_before_anybody_sees_it() -> None:
    reply, heard = put_together(START, opened(0, type="text", text=""), piece(0, "text_delta", text="a\x00b"))
    assert heard.all == "a\ufffdb"
    assert reply.parts("") == (TextPart(text="a\ufffdb"),)


def test_a_call_without_arguments_has_an_empty_object() -> None:
    reply, _ = put_together(START, call_opened(0, "now"))
    assert reply.parts("") == (ToolCallPart(id="", name="now", arguments="{}", provider_id="toolu_0"),)


def test_arguments_given_at_once_are_taken() -> None:
    whole = opened(0, type="tool_use", id="toolu_0", name="now", input={"b": 1, "a": 2})
    reply, _ = put_together(START, whole)
    assert reply.parts("") == (ToolCallPart(id="", name="now", arguments='{"a":2,"b":1}', provider_id="toolu_0"),)


def test_tokens_are_totals_and_cached_input_counts() -> None:
    reply, _ = put_together(START)
    assert reply.usage == Usage(input_tokens=105, output_tokens=1)
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}}
    reply, _ = put_together(START, end)
    assert reply.usage == Usage(input_tokens=105, output_tokens=40)
    assert (reply.model, reply.stop_reason, reply.ended) == ("claude-served", "end_turn", False)


def test_what_we_did_not_ask_for_is_left_out() -> None:
    reply, _ = put_together(
        START,
        opened(0, type="server_tool_use", id="s", name="web_search", input={}),
        piece(0, "input_json_delta", partial_json="{}"),
        {"type": "content_block_stop", "index": 0},
    )
    assert reply.parts("") == ()

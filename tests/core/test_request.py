"""From items to a request that no provider refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.canonical import clean, digest
from sessions_app.core.language_model import ModelRequest
from sessions_app.core.memory import Memory
from sessions_app.core.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sessions_app.core.operations import Render
from sessions_app.core.platform import AssistantMessage, ToolCall, ToolError, UserMessage
from sessions_app.core.request import (
    BEGIN_NOTE,
    CUT_NOTE,
    GO_ON_NOTE,
    NO_OUTPUT,
    PreparedRequest,
    messages_of,
    repaired,
)
from sessions_app.core.state import ItemRecord
from sessions_app.providers.strict import provider_faults
from sessions_app.testing import tool_calls
from tests.core.checked import lab
from tests.core.lab import PinTool
from tests.strategies import blank_texts, unhurried, wild_texts

PENDING, READY = Render(status="pending"), Render(status="ready")


class Builder:
    """Makes items of a session directly, as they would be stored."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.number = 0

    def add(self, item: Any, *, parent: str = "", render: Render = READY, **facts: Any) -> str:
        self.number += 1
        item_id = f"{self.number}_0" if not parent else f"{parent}_{self.number}"
        data = clean(item.model_dump(mode="json")) if not isinstance(item, dict) else item
        type = item.type_name() if not isinstance(item, dict) else "author-made"
        self.memory.items[item_id] = ItemRecord(item_id, type, data, render, parent, self.number, **facts)
        if not parent:
            self.memory.placed.append(item_id)
        return item_id

    def messages(self) -> list[Message]:
        return messages_of(self.memory, self.memory.placed)


def text_of(messages: list[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def test_neighbours_of_one_role_become_one_message() -> None:
    builder = Builder()
    for item in (UserMessage(text="a"), UserMessage(text="b"), AssistantMessage(text="c"), AssistantMessage(text="d")):
        builder.add(item)
    assert text_of(builder.messages()) == [("user", "a\n\nb"), ("assistant", "c\n\nd"), ("user", GO_ON_NOTE)]


@pytest.mark.fault("B22")
def test_a_conversation_begins_and_ends_with_the_user() -> None:
    builder = Builder()
    builder.add(AssistantMessage(text="Hello"))
    assert text_of(builder.messages()) == [("user", BEGIN_NOTE), ("assistant", "Hello"), ("user", GO_ON_NOTE)]
    assert text_of(repaired([])) == [("user", BEGIN_NOTE)]


@pytest.mark.fault("B22")
def test_what_shows_nothing_is_left_out() -> None:
    builder = Builder()
    builder.add(UserMessage(text="a"))
    builder.add(AssistantMessage(text=" \n\u200b", reasoning=(ReasoningPart(text="Hm."),)))
    builder.add(UserMessage(text="\u2060"))
    builder.add(UserMessage(text="b"))
    assert text_of(builder.messages()) == [("user", "a\n\nb")]


@pytest.mark.fault("B19")
def test_results_stand_directly_after_their_calls_and_before_other_text() -> None:
    builder = Builder()
    message = builder.add(AssistantMessage(text="Let me see"))
    calls = [builder.add(ToolCall(name="a", arguments="{}"), parent=message) for _ in range(2)]
    builder.add(ToolError(message="No."), parent=calls[1])
    builder.add(UserMessage(text="And?"))
    _, asked, answered = builder.messages()
    assert [part.type for part in asked.parts] == ["text", "tool_call", "tool_call"]
    assert [part.type for part in answered.parts] == ["tool_result", "tool_result", "text"]
    results = [part for part in answered.parts if isinstance(part, ToolResultPart)]
    assert [(part.call_id, part.text, part.is_error) for part in results] == [
        (calls[0], NO_OUTPUT, False),
        (calls[1], "No.", True),
    ]


def test_closed_items_are_told_in_words() -> None:
    builder = Builder()
    builder.add({"a": 1}, closed="skipped", reason="Skipped by Ada.")
    message = builder.add(AssistantMessage(text="x"))
    call = builder.add(ToolCall(name="a", arguments="{}"), parent=message)
    builder.add({"a": 1}, parent=call, closed="timed out", render=PENDING)
    cancelled = builder.add(ToolCall(name="b", arguments="{}"), parent=message, closed="cancelled", reason="Stopped.")
    messages = builder.messages()
    assert messages[0].text == "(author made: skipped. Skipped by Ada.)"
    found = {part.call_id: part for part in messages[2].parts if isinstance(part, ToolResultPart)}
    assert found[call].text == "(author made: timed out)"
    assert found[cancelled].text == "(tool call: cancelled. Stopped.)"
    assert all(part.is_error for part in found.values())


def test_a_cut_reply_is_followed_by_a_note() -> None:
    builder = Builder()
    builder.add(UserMessage(text="a"))
    builder.add(AssistantMessage(text="b", note="length"))
    assert text_of(builder.messages())[-1] == ("user", CUT_NOTE)


def test_an_authors_item_speaks_only_in_text() -> None:
    odd = (
        Message(role="assistant", parts=(ToolCallPart(id="1", name="x", arguments="{}"), TextPart(text="said"))),
        Message(role="user", parts=(ToolResultPart(call_id="1", text="y"),)),
        Message(role="user", parts=()),
    )
    builder = Builder()
    builder.add(UserMessage(text="a"))
    builder.add({}, render=Render(status="ready", messages=odd))
    assert text_of(builder.messages()) == [("user", "a"), ("assistant", "said"), ("user", GO_ON_NOTE)]


def test_a_nested_item_speaks_for_the_user_only() -> None:
    builder = Builder()
    message = builder.add(AssistantMessage(text="x"))
    call = builder.add(ToolCall(name="a", arguments="{}"), parent=message)
    both = (Message.user("seen"), Message.assistant("not seen"), Message.user("also seen"))
    builder.add({}, parent=call, render=Render(status="ready", messages=both))
    (result,) = [part for part in builder.messages()[2].parts if isinstance(part, ToolResultPart)]
    assert result.text == "seen\n\nalso seen"


@pytest.mark.fault("B72")
def test_reasoning_is_kept_with_its_message() -> None:
    """What is private to a provider stays marked as its own."""
    part = ReasoningPart(text="Hm.", provider="somebody", private={"signature": "abc"})
    builder = Builder()
    builder.add(UserMessage(text="a"))
    builder.add(AssistantMessage(text="b", reasoning=(part,)))
    assert builder.messages()[1].parts == (part, TextPart(text="b"))


def test_an_unknown_item_is_read_from_its_stored_render() -> None:
    builder = Builder()
    builder.add({"whatever": 1}, render=Render(status="ready", messages=(Message.user("From another version."),)))
    assert text_of(builder.messages()) == [("user", "From another version.")]


@st.composite
def sessions(draw: st.DrawFn) -> Memory:
    """Sessions as they might be stored, with texts nobody would want."""
    builder = Builder()
    texts = wild_texts() | blank_texts()
    names = st.sampled_from(["search", "", "größe", "a b", "x" * 80, "9lives"])
    roles = st.sampled_from(["user", "assistant"])
    parts = st.lists(texts.map(lambda text: TextPart(text=text)), max_size=2).map(tuple)
    rendered = st.lists(st.builds(Message, role=roles, parts=parts), max_size=2).map(lambda found: tuple(found))
    for _ in range(draw(st.integers(0, 5))):
        match draw(st.sampled_from(["user", "assistant", "card", "closed"])):
            case "user":
                builder.add(UserMessage(text=draw(texts)))
            case "card":
                messages = Render.model_validate({"status": "ready", "messages": clean_all(draw(rendered))})
                builder.add({}, render=messages)
            case "closed":
                builder.add({}, closed="failed", reason=clean(draw(texts)))
            case _:
                note = draw(st.sampled_from(["", "length", "stopped"]))
                reasoning = draw(st.sampled_from([(), (ReasoningPart(text="Hm."),)]))
                message = builder.add(AssistantMessage(text=draw(texts), note=note, reasoning=reasoning))
                for _ in range(draw(st.integers(0, 3))):
                    data = ToolCall(name=draw(names), arguments=draw(texts))
                    call = builder.add(data, parent=message, closed=draw(st.sampled_from(["", "cancelled"])))
                    for text in draw(st.lists(texts, max_size=2)):
                        builder.add(ToolError(message=text), parent=call)
    return builder.memory


def clean_all(messages: tuple[Message, ...]) -> Any:
    return clean([message.model_dump(mode="json") for message in messages])


@unhurried
@given(sessions())
@pytest.mark.fault("B19", "B22", "B32", "B33", "B70")
def test_whatever_is_stored_the_request_is_legal(memory: Memory) -> None:
    messages = messages_of(memory, memory.placed)
    assert provider_faults(ModelRequest((), messages, ())) == []
    assert repaired(messages) == messages
    prepared = PreparedRequest(ModelRequest((), messages, ()), ())
    assert json.loads(prepared.text)["messages"] == [message.model_dump(mode="json") for message in messages]
    assert len(prepared.digest) == 64


def test_the_same_session_gives_the_same_request_and_another_gives_another() -> None:
    session = lab("Hello.")
    session.say("Hi")
    first, second = session.request(), session.request()
    assert first.text == second.text
    assert (first.digest, first.system_digest, first.tools_digest) == (
        digest(first.text),
        digest(first.system_text),
        digest(first.tools_text),
    )
    session.run_all()
    session.say("More")
    assert session.request().digest != first.digest
    assert session.request().tools_digest == first.tools_digest


def test_a_request_names_the_tools_it_offers() -> None:
    session = lab(tool_calls(PinTool(texts=["x"])))
    session.say("Hi")
    prepared = session.request()
    assert prepared.offered == tuple(tool.name for tool in prepared.request.tools)
    assert provider_faults(prepared.request) == []


@pytest.mark.parametrize("text", ["\ud800 half", "nul \x00"])
@pytest.mark.fault("B32")
def test_what_no_provider_takes_is_replaced_wherever_it_comes_from(text: str) -> None:
    session = lab("model: nul \x00")
    session.send("@platform/user-message", {"text": f"said {text}"})
    session.run_all()
    session.send("lab-pin", {"text": f"pinned {text}"})
    session.say("Go on")
    assert provider_faults(session.request().request) == []
    assert session.request().text.count("\ufffd") == 3
    session.request().text.encode()

"""The check of requests against what providers refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.language_model import ModelRequest, ToolSpecification
from sessions_app.core.messages import Message, ReasoningPart, TextPart
from sessions_app.providers.strict import is_blank, provider_faults
from tests.providers.helpers import ASK_USER, FIND_FLIGHTS, call, calls, request, result, results

CALLED = calls(TextPart(text="I will look."), call("5_0_0"), call("5_0_1"))
ANSWERED = results(result("5_0_0"), result("5_0_1"))


@pytest.mark.parametrize(
    "good",
    [
        request("Hello"),
        request("Hello", "Are you there?"),
        request("Hello", Message.assistant("Yes."), "Good.", tools=[FIND_FLIGHTS, ASK_USER]),
        request("Fly", CALLED, ANSWERED),
        request("Fly", CALLED, results(result("5_0_1"), result("5_0_0"))),
        request("Fly", CALLED, results(result("5_0_0")), results(result("5_0_1")), "And?"),
        request("Fly", CALLED, results(result("5_0_0"), result("5_0_1"), TextPart(text="And?"))),
        request("Fly", calls(call("5_0_0", arguments="not json")), results(result("5_0_0"))),
        request("Hi", calls(ReasoningPart(text="", provider="other"), TextPart(text="Yes.")), "And?"),
        request("a family: \U0001f468\u200d\U0001f469\u200d\U0001f467"),
    ],
)
def test_what_providers_take(good: ModelRequest) -> None:
    assert provider_faults(good) == []


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (request(), "There is no message."),
        (request(Message.assistant("Hello"), "Hi"), "The first message is the assistant's."),
        (request("Hi", Message.assistant("Hello")), "The last message is the assistant's."),
        (request("Hi", CALLED), "The call '5_0_0' has no result directly after it."),
        (request("Hi", CALLED, "And?"), "The call '5_0_1' has no result directly after it."),
        (request("Hi", CALLED, results(result("5_0_0"))), "The call '5_0_1' has no result directly after it."),
        (
            request("Hi", CALLED, ANSWERED, Message.assistant("So."), results(result("5_0_0"))),
            "The result for '5_0_0' does not stand directly after that call.",
        ),
        (request(results(result("5_0_0"))), "The result for '5_0_0' does not stand directly after that call."),
        (
            request("Hi", CALLED, results(result("5_0_0"), result("5_0_1"), result("5_0_1"))),
            "The call '5_0_1' has more than one result.",
        ),
        (
            request("Hi", CALLED, results(TextPart(text="Well"), result("5_0_0"), result("5_0_1"))),
            "A tool result stands behind other parts of its message.",
        ),
        (
            request("Hi", CALLED, ANSWERED, CALLED, ANSWERED),
            "Two calls have the id '5_0_0'.",
        ),
        (request("Hi", calls(call("")), results(result(""))), "The call id '' is not legal."),
        (request("Hi", calls(call("5.0")), results(result("5.0"))), "The call id '5.0' is not legal."),
        (
            request("Hi", calls(call("5_0_0", name="fly!")), results(result("5_0_0"))),
            "The call '5_0_0' names 'fly!', which is not a legal tool name.",
        ),
        (request(""), "A text of message 1 is blank."),
        (request("Hi", Message.assistant(" \n"), "And?"), "A text of message 2 is blank."),
        (request("\u200b"), "A text of message 1 is blank."),
        (
            request("Hi", CALLED, results(result("5_0_0", ""), result("5_0_1"))),
            "The result of call '5_0_0' is blank.",
        ),
        (ModelRequest(system=[" "], messages=[Message.user("Hi")], tools=[]), "System text 1 is blank."),
        (request(Message(role="user", parts=())), "A message of the user has no parts."),
        (
            request(Message(role="user", parts=(call("5_0_0"),))),
            "A message of the user holds a tool call or reasoning.",
        ),
        (request("Hi", calls(result("5_0_0")), "x"), "A message of the assistant holds a tool result."),  # type: ignore[arg-type]
        (request("a\x00b"), "A text of message 1 holds NUL or half a character."),
        (
            request("Hi", calls(call("5_0_0", arguments='{"a":"\x00"}')), results(result("5_0_0"))),
            "The arguments of call '5_0_0' holds NUL or half a character.",
        ),
        (request("Hi", tools=[FIND_FLIGHTS, FIND_FLIGHTS]), "Two tools are called 'find_flights'."),
        (
            request("Hi", tools=[FIND_FLIGHTS.evolve(name="1st")]),
            "The tool name '1st' is not legal.",
        ),
        (
            request("Hi", tools=[ToolSpecification(name="x", description="d", parameters={"type": "string"})]),
            "The arguments of the tool 'x' are not described as an object.",
        ),
    ],
)
@pytest.mark.fault("B19", "B22")
def test_what_providers_refuse(bad: ModelRequest, fault: str) -> None:
    assert fault in provider_faults(bad)


@pytest.mark.fault("B33")
def test_half_a_character_is_found_where_it_could_slip_in() -> None:
    half = TextPart.model_construct(type="text", text="a\ud800")
    bad = ModelRequest(system=["x"], messages=[Message.model_construct(role="user", parts=(half,))], tools=[])
    assert any("half a character" in fault for fault in provider_faults(bad))


@given(st.text())
def test_blank_means_that_nothing_can_be_seen(text: str) -> None:
    assert is_blank(f" {text}\u200b") == is_blank(text)
    assert not is_blank(f"{text}x")

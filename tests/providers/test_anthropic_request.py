"""Our requests in Anthropic's words."""

import json
from typing import Any

import pytest

from sessions_app.core.errors import DefinitionError
from sessions_app.core.language_model import ModelRequest
from sessions_app.core.messages import Message, ReasoningPart, TextPart
from sessions_app.providers import anthropic
from sessions_app.providers.anthropic_api.request import arguments_object, as_parameters
from sessions_app.providers.anthropic_api.settings import as_parameters as settings_as_parameters
from sessions_app.providers.anthropic_api.settings import checked
from tests.providers.helpers import FIND_FLIGHTS, call, calls, request, result, results


def messages_of(asked: ModelRequest, **options: Any) -> list[dict[str, Any]]:
    parameters, _ = as_parameters(asked, **options)
    messages: list[dict[str, Any]] = parameters["messages"]
    return messages


def test_system_texts_messages_and_tools() -> None:
    parameters, _ = as_parameters(request("Hello", tools=[FIND_FLIGHTS]))
    assert parameters["system"] == [{"type": "text", "text": "Be brief."}]
    assert parameters["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    (tool,) = parameters["tools"]
    assert tool["name"] == "find_flights"
    assert tool["input_schema"]["required"] == ["destination"]
    json.dumps(parameters)


def test_what_is_empty_is_left_out() -> None:
    parameters, _ = as_parameters(ModelRequest(system=[], messages=[Message.user("Hello")], tools=[]))
    assert set(parameters) == {"messages"}


def test_calls_and_results_are_paired_by_our_ids() -> None:
    made, back = messages_of(
        request(
            calls(TextPart(text="I will look."), call("5_0_0"), call("5_0_1", arguments="")),
            results(result("5_0_0", "found"), result("5_0_1", "no", is_error=True), TextPart(text="And?")),
        )
    )
    assert [block["type"] for block in made["content"]] == ["text", "tool_use", "tool_use"]
    assert made["content"][1]["input"] == {"destination": "Tokyo"}
    assert made["content"][2]["input"] == {}
    assert [block["type"] for block in back["content"]] == ["tool_result", "tool_result", "text"]
    assert back["content"][0] == {"type": "tool_result", "tool_use_id": "5_0_0", "content": "found", "is_error": False}
    assert back["content"][1]["is_error"] is True


def test_neighbouring_messages_of_one_role_are_one_turn() -> None:
    assert [message["role"] for message in messages_of(request("One", "Two", Message.assistant("x"), "Three"))] == [
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize("arguments", ['{"destination": ', "[1]", "null", "NaN", "[" * 100_000])
def test_arguments_that_are_no_object_are_shown_to_the_model(arguments: str) -> None:
    assert arguments_object(arguments) == {"unreadable_arguments": arguments}


def test_arguments_hold_nothing_a_provider_cannot_take() -> None:
    assert arguments_object(r'{"text": "a\u0000b\ud800"}') == {"text": "a\ufffdb\ufffd"}


def reasoned(prefix: str, **private: str) -> Message:
    thought = ReasoningPart(text="hm", provider="anthropic", private={"signature": "s", "prefix": prefix, **private})
    return calls(thought, TextPart(text="Yes."))


def test_reasoning_goes_back_behind_what_it_was_thought_about() -> None:
    asked = request("Hello")
    _, prefix = as_parameters(asked, account="a")
    later = request("Hello", reasoned(prefix), "And?")
    assert messages_of(later, account="a")[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "s"}


def test_a_second_piece_of_reasoning_counts_the_first() -> None:
    _, first = as_parameters(request("Hello"))
    _, second = as_parameters(request("Hello", reasoned(first), "And?"))
    sent = messages_of(request("Hello", reasoned(first), "And?", reasoned(second), "So?"))
    assert [message["content"][0]["type"] for message in sent] == ["text", "thinking", "text", "thinking", "text"]


@pytest.mark.parametrize("change", ["system", "tools", "message", "account", "off"])
def test_reasoning_is_kept_back_once_anything_before_it_changed(change: str) -> None:
    _, first = as_parameters(request("Hello"), account="a")
    _, second = as_parameters(request("Hello", reasoned(first), "And?"), account="a")
    messages = ["Hello" if change != "message" else "Hallo", reasoned(first), "And?", reasoned(second), "So?"]
    asked = request(*messages, tools=[FIND_FLIGHTS] if change == "tools" else [])
    if change == "system":
        asked = ModelRequest(system=["Be long."], messages=asked.messages, tools=[])
    sent = messages_of(asked, account="b" if change == "account" else "a", reasoning=change != "off")
    assert {block["type"] for message in sent for block in message["content"]} == {"text"}


def test_redacted_reasoning_goes_back_as_it_came() -> None:
    _, prefix = as_parameters(request("Hello"))
    thought = ReasoningPart(provider="anthropic", private={"redacted": "xyz", "prefix": prefix})
    sent = messages_of(request("Hello", calls(thought, TextPart(text="Yes.")), "And?"))
    assert sent[1]["content"][0] == {"type": "redacted_thinking", "data": "xyz"}


@pytest.mark.fault("B72")
def test_nothing_of_another_provider_is_sent() -> None:
    _, prefix = as_parameters(request("Hello"))
    thought = ReasoningPart(text="secret", provider="other", private={"signature": "s", "prefix": prefix})
    sent = messages_of(request("Hello", calls(thought, TextPart(text="Yes.")), "And?"))
    assert "secret" not in json.dumps(sent)


@pytest.mark.fault("B72")
def test_a_turn_of_foreign_reasoning_alone_is_left_out() -> None:
    sent = messages_of(request("Hello", calls(ReasoningPart(text="hm", provider="other")), "And?"))
    assert [message["role"] for message in sent] == ["user", "user"]


def test_settings_become_parameters() -> None:
    settings = checked({"max_tokens": 10, "effort": "low", "thinking": "adaptive", "stop_sequences": ["END"]})
    assert settings_as_parameters(settings) == {
        "max_tokens": 10,
        "output_config": {"effort": "low"},
        "thinking": {"type": "adaptive"},
        "stop_sequences": ["END"],
    }
    assert settings_as_parameters(checked({"service_tier": "auto"}))["service_tier"] == "auto"
    assert settings_as_parameters(checked(None)) == {"max_tokens": 16_384}


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
def test_sampling_is_refused_with_what_to_do_instead(name: str) -> None:
    with pytest.raises(DefinitionError, match=f"{name} cannot be set.*takes no sampling settings.*Leave it out"):
        anthropic(model_settings={name: 0.2})  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"maxtokens": 5}, "maxtokens: Extra inputs are not permitted. The settings are: max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "4096"}, "max_tokens"),
        ({"effort": "enormous"}, "effort"),
        ({"thinking": {"type": "adaptive"}}, "thinking"),
        ({"stop_sequences": [" "]}, "stop_sequences"),
    ],
)
def test_a_wrong_setting_is_named(settings: Any, said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        anthropic(model_settings=settings)
    assert said in str(caught.value)


def test_the_label_is_the_model_that_is_asked() -> None:
    assert anthropic("claude-opus-5-5").label == "claude-opus-5-5"
    assert anthropic().label == "claude-sonnet-5-5"

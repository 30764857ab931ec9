"""What providers refuse, found before a request is sent.

Every rule here is one that a vendor answers with an error that no retry can cure. Models check their requests
with it, the scripted model of the tests refuses by it, and property tests hold every request against it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..core.canonical import clean_text
from ..core.language_model import ModelRequest, ModelResponse, Terminated, ToolSpecification
from ..core.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ..core.text import is_blank
from ..core.tools import TOOL_NAME
from .turns import in_turns

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def provider_faults(request: ModelRequest) -> list[str]:
    """Return why a provider would refuse a request, one sentence each; an empty list means that none would."""
    turns = in_turns(request.messages)
    return [
        *_order_faults(turns),
        *_tool_faults(request.tools),
        *_text_faults(request),
        *_part_faults(turns),
        *_pairing_faults(turns),
    ]


def refusal_of(request: ModelRequest, model: str) -> ModelResponse | None:
    """Return the response to a request that must not be sent, or None for a good one."""
    faults = provider_faults(request)
    if not faults:
        return None
    message = f"The request was not sent, because {model} would refuse it: {' '.join(faults)}"
    return ModelResponse(status=Terminated(reason="invalid_request", message=message), model=model)


def _order_faults(turns: Sequence[Message]) -> Iterator[str]:
    if not turns:
        yield "There is no message."
        return
    if turns[0].role == "assistant":
        yield "The first message is the assistant's."
    if turns[-1].role == "assistant":
        yield "The last message is the assistant's."


def _tool_faults(tools: Sequence[ToolSpecification]) -> Iterator[str]:
    for tool in tools:
        if not TOOL_NAME.fullmatch(tool.name):
            yield f"The tool name {tool.name!r} is not legal."
        if tool.parameters.get("type") != "object":
            yield f"The arguments of the tool {tool.name!r} are not described as an object."
    yield from (f"Two tools are called {name!r}." for name in _repeated(tool.name for tool in tools))


def _text_faults(request: ModelRequest) -> Iterator[str]:
    texts = list(_texts(request))
    yield from (f"{where} is blank." for where, text in texts if is_blank(text))
    for where, text in [*texts, *_arguments(request)]:
        if clean_text(text) != text:
            yield f"{where} holds NUL or half a character."


def _texts(request: ModelRequest) -> Iterator[tuple[str, str]]:
    yield from ((f"System text {number}", text) for number, text in enumerate(request.system, 1))
    yield from ((f"The description of {tool.name!r}", tool.description) for tool in request.tools)
    for number, message in enumerate(request.messages, 1):
        for part in message.parts:
            match part:
                case TextPart():
                    yield f"A text of message {number}", part.text
                case ToolResultPart():
                    yield f"The result of call {part.call_id!r}", part.text
                case ToolCallPart() | ReasoningPart():  # arguments travel as an object, reasoning as it came
                    pass


def _arguments(request: ModelRequest) -> Iterator[tuple[str, str]]:
    for message in request.messages:
        yield from ((f"The arguments of call {call.id!r}", call.arguments) for call in _calls(message))


def _part_faults(turns: Sequence[Message]) -> Iterator[str]:
    for turn in turns:
        if not turn.parts:
            yield f"A message of the {turn.role} has no parts."
        if turn.role == "user" and any(isinstance(part, ToolCallPart | ReasoningPart) for part in turn.parts):
            yield "A message of the user holds a tool call or reasoning."
        if turn.role == "assistant" and _results(turn):
            yield "A message of the assistant holds a tool result."
    calls = [call for turn in turns for call in _calls(turn)]
    for call in calls:
        if not _CALL_ID.fullmatch(call.id):
            yield f"The call id {call.id!r} is not legal."
        if not TOOL_NAME.fullmatch(call.name):
            yield f"The call {call.id!r} names {call.name!r}, which is not a legal tool name."
    yield from (f"Two calls have the id {call_id!r}." for call_id in _repeated(call.id for call in calls))


def _pairing_faults(turns: Sequence[Message]) -> Iterator[str]:
    nothing = Message(role="assistant", parts=())
    for before, turn in pairwise([nothing, *turns, nothing]):
        asked = [call.id for call in _calls(before)]
        answered = [result.call_id for result in _results(turn)]
        yield from (
            f"The call {call_id!r} has no result directly after it." for call_id in asked if call_id not in answered
        )
        yield from (
            f"The result for {call_id!r} does not stand directly after that call."
            for call_id in answered
            if call_id not in asked
        )
        yield from (f"The call {call_id!r} has more than one result." for call_id in _repeated(answered))
        if asked and any(isinstance(part, ToolResultPart) for part in turn.parts[len(answered) :]):
            yield "A tool result stands behind other parts of its message."


def _calls(message: Message) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def _results(message: Message) -> list[ToolResultPart]:
    return [part for part in message.parts if isinstance(part, ToolResultPart)]


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]

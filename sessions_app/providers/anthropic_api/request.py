"""Our request in Anthropic's words.

Reasoning is sent back only where Anthropic can take it. Newer models sign a piece of reasoning together with all
that stood before it (system texts, tools, messages) and refuse the request if that has changed since, while our
agents may change their prompt and tools and hide messages at any time. So each piece is stored with a digest of
what had been sent before it, and goes back only behind exactly the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.canonical import NotStorable, canonical, parse_json
from ...core.language_model import ModelRequest, ToolSpecification
from ...core.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ..turns import in_turns

PROVIDER = "anthropic"
_Block = dict[str, Any]
_AnyPart = TextPart | ReasoningPart | ToolCallPart | ToolResultPart


class Prefix:
    """A running digest of what stands before a message. `account` is whatever else reasoning is bound to."""

    def __init__(self, account: str) -> None:
        self._hash = hashlib.sha256(account.encode())

    def add(self, sent: object) -> None:
        """Take in what was sent next."""
        self._hash.update(canonical(sent).encode())

    def digest(self) -> str:
        """Return the digest of everything so far."""
        return self._hash.hexdigest()


def as_parameters(request: ModelRequest, *, account: str = "", reasoning: bool = True) -> tuple[dict[str, Any], str]:
    """Return the request's parameters, and the digest to store with the reasoning of the reply to it.

    `reasoning=False` sends none back, as Anthropic asks where a request turns thinking off.
    """
    system = [{"type": "text", "text": text} for text in request.system]
    tools = [_tool(tool) for tool in request.tools]
    prefix = Prefix(account)
    prefix.add([system, tools])
    messages = []
    for turn in in_turns(request.messages):
        blocks = list(_blocks(turn, prefix.digest() if reasoning else None))
        if blocks:
            messages.append({"role": turn.role, "content": blocks})
            prefix.add(messages[-1])
    parameters = {"messages": messages, "system": system, "tools": tools}
    return {name: value for name, value in parameters.items() if value}, prefix.digest()


def _blocks(turn: Message, prefix: str | None) -> Iterator[_Block]:
    for part in turn.parts:
        block = _block(part, prefix)
        if block is not None:
            yield block


def _block(part: _AnyPart, prefix: str | None) -> _Block | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part.arguments)}
        case ToolResultPart():
            return {
                "type": "tool_result",
                "tool_use_id": part.call_id,
                "content": part.text,
                "is_error": part.is_error,
            }
        case ReasoningPart():
            same_place = prefix is not None and part.private.get("prefix") == prefix
            return _reasoning(part) if part.provider == PROVIDER and same_place else None


def _reasoning(part: ReasoningPart) -> _Block:
    if "redacted" in part.private:
        return {"type": "redacted_thinking", "data": part.private["redacted"]}
    return {"type": "thinking", "thinking": part.text, "signature": part.private["signature"]}


def arguments_object(arguments: str) -> Mapping[str, Any]:
    """Return a call's arguments as the object Anthropic asks for.

    What a model wrote may be no object at all. It goes back under one key, so that the model can see its mistake.
    """
    try:
        value = parse_json(arguments or "{}")
    except NotStorable:
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": arguments}


def _tool(tool: ToolSpecification) -> _Block:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}

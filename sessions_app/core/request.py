"""From a session to a model request, one that no provider must refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .agent import Agent
from .canonical import canonical, clean_text, digest
from .errors import HandlerError
from .language_model import ModelRequest, ToolSpecification
from .messages import AssistantPart, Message, TextPart, ToolCallPart, ToolResultPart
from .operations import Render
from .platform import PLATFORM_ITEMS, AssistantMessage, EffectFailed, ToolCall, ToolError, UserMessage
from .state import ItemRecord, Snapshot
from .text import is_blank, shorten
from .tools import TOOL_NAME
from .turn import system_prompt, visible_pending

RESULT_LIMIT = 100 * 1024
"""Bytes of one tool result in a request; the whole result stays in the session."""
CUT_NOTE = "(The reply above was cut off by the output limit. Go on, more briefly.)"
NO_OUTPUT = "(no output)"
REMOVED = "(removed)"
BEGIN_NOTE = "(The conversation begins here.)"
GO_ON_NOTE = "(Go on.)"


class NotReady(Exception):
    """Something became pending again, so the request must wait."""


@dataclass(frozen=True)
class PreparedRequest:
    """A request ready to send, with the names it offers and digests to find it again."""

    request: ModelRequest
    offered: tuple[str, ...]

    @property
    def system_text(self) -> str:
        """The system texts as canonical JSON, stored once per digest."""
        return canonical(list(self.request.system))

    @property
    def tools_text(self) -> str:
        """The tool list as canonical JSON, stored once per digest."""
        return canonical([tool.model_dump(mode="json") for tool in self.request.tools])

    @property
    def system_digest(self) -> str:
        """The digest of the system texts."""
        return digest(self.system_text)

    @property
    def tools_digest(self) -> str:
        """The digest of the tool list."""
        return digest(self.tools_text)

    @property
    def text(self) -> str:
        """The whole request as canonical JSON."""
        messages = canonical([message.model_dump(mode="json") for message in self.request.messages])
        return f'{{"messages":{messages},"system":{self.system_text},"tools":{self.tools_text}}}'

    @property
    def digest(self) -> str:
        """The digest of the whole request."""
        return digest(self.text)


def prepare_request(agent: Agent[Any, Any], agent_state: Any, state: Snapshot, placeholder: str) -> PreparedRequest:
    """Return the request that a waiting assistant message stands for: everything visible before it.

    Raises `NotReady` where an item or the system prompt is pending (again).
    """
    prompt = system_prompt(agent, agent_state)
    waiting = [record for record in visible_pending(state) if record.id != placeholder]
    if prompt.status == "pending" or waiting:
        raise NotReady
    tools = _offered_tools(agent, agent_state)
    system = [clean_text(part.text) for part in prompt.parts if not is_blank(part.text)]
    order = state.order()
    before = order[: order.index(placeholder)] if placeholder in order else order
    request = ModelRequest(system, messages_of(state, before), tools)
    return PreparedRequest(request, tuple(tool.name for tool in tools))


def _offered_tools(agent: Agent[Any, Any], agent_state: Any) -> list[ToolSpecification]:
    """Return each tool to offer once. Raises `HandlerError` for one that could not be found again when it is called."""
    offered = dict.fromkeys(agent.get_tools(agent_state))
    for tool in offered:
        if agent.find_tool(tool.tool_name) is not tool:
            raise HandlerError(f"get_tools returned {tool.__name__}, which is not the `{tool.tool_name}` in `tools`.")
    return [tool.specification() for tool in offered]


def messages_of(state: Snapshot, item_ids: Sequence[str]) -> list[Message]:
    """Return the messages of items in order, as every provider takes them."""
    return repaired([message for item_id in item_ids for message in _item_messages(state, item_id)])


def _item_messages(state: Snapshot, item_id: str) -> Iterator[Message]:
    record = state.item(item_id)
    if record is None:
        return
    if record.closed:
        yield Message.user(_closed_text(record))
    elif record.type == UserMessage.type_name():
        yield Message.user(record.data["text"])
    elif record.type == EffectFailed.type_name():
        yield Message.user(EffectFailed.model_validate(record.data, extra="ignore").text)
    elif record.type == AssistantMessage.type_name():
        yield from _assistant_messages(state, record)
    else:
        yield from map(_only_text, record.render.messages)


def _only_text(message: Message) -> Message:
    """An author's item speaks in text; a call or a result among it would have no counterpart."""
    return Message(role=message.role, parts=tuple(part for part in message.parts if isinstance(part, TextPart)))


def _assistant_messages(state: Snapshot, record: ItemRecord) -> Iterator[Message]:
    message = AssistantMessage.model_validate(record.data, extra="ignore")
    calls = [child for child in state.children(record.id) if child.type == ToolCall.type_name()]
    texts = () if is_blank(message.text) else (TextPart(text=message.text),)
    parts: tuple[AssistantPart, ...] = (*message.reasoning, *texts, *map(_call_part, calls))
    if texts or calls:
        yield Message(role="assistant", parts=parts)
    if calls:
        yield Message(role="user", parts=tuple(_result_part(state, call) for call in calls))
    if message.note == "length":
        yield Message.user(CUT_NOTE)


def _call_part(call: ItemRecord) -> ToolCallPart:
    data = call.data
    return ToolCallPart(
        id=call.id, name=_legal(data["name"]), arguments=data["arguments"], provider_id=data["provider_id"]
    )


def _legal(name: str) -> str:
    """A model may call what no tool can be named; shown its own call, the name must be one a provider takes."""
    return name if TOOL_NAME.fullmatch(name) else "_" + re.sub("[^a-zA-Z0-9_-]", "_", name)[:63]


def _result_part(state: Snapshot, call: ItemRecord) -> ToolResultPart:
    if call.closed:
        return ToolResultPart(call_id=call.id, text=_closed_text(call), is_error=True)
    children = state.children(call.id)
    texts = [text for child in children if not is_blank(text := _nested_text(child))]
    text = shorten("\n\n".join(texts), RESULT_LIMIT) or (REMOVED if call.data.get("emptied") else NO_OUTPUT)
    failed = any(child.closed or child.type == ToolError.type_name() for child in children)
    return ToolResultPart(call_id=call.id, text=text, is_error=failed)


def _nested_text(child: ItemRecord) -> str:
    if child.closed:
        return _closed_text(child)
    if child.type in PLATFORM_ITEMS:
        return str(child.data.get("message") or child.data.get("text") or "")
    return _render_text(child.render)


def _render_text(render: Render) -> str:
    return "\n\n".join(message.text for message in render.messages if message.role == "user" and message.text)


def _closed_text(record: ItemRecord) -> str:
    words = record.type.rsplit("/", 1)[-1].replace("-", " ")
    return f"({words}: {record.closed}. {record.reason})" if record.reason else f"({words}: {record.closed})"


def repaired(messages: Sequence[Message]) -> list[Message]:
    """Return messages that alternate, begin and end with the user, and hold nothing blank."""
    merged: list[Message] = []
    for message in messages:
        parts = tuple(part for part in map(_cleaned, message.parts) if not _is_blank(part))
        if not parts:
            continue
        if merged and merged[-1].role == message.role:
            merged[-1] = Message(role=message.role, parts=(*merged[-1].parts, *parts))
        else:
            merged.append(Message(role=message.role, parts=parts))
    if not merged or merged[0].role == "assistant":
        merged.insert(0, Message.user(BEGIN_NOTE))
    if merged[-1].role == "assistant":
        merged.append(Message.user(GO_ON_NOTE))
    return merged


def _cleaned(part: Any) -> Any:
    text = getattr(part, "text", None)
    return part.evolve(text=clean_text(text)) if text and clean_text(text) != text else part


def _is_blank(part: Any) -> bool:
    return isinstance(part, TextPart) and is_blank(part.text)

"""Messages: what a model reads and writes. Provider-neutral, plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from .data import Data


class TextPart(Data):
    """Text, from anyone."""

    type: Literal["text"] = "text"
    text: str


class ReasoningPart(Data):
    """What a model thought aloud. `private` belongs to the provider that wrote it and is sent to no other."""

    type: Literal["reasoning"] = "reasoning"
    text: str = ""
    provider: str = ""
    private: Mapping[str, Any] = Field(default_factory=dict)


class ToolCallPart(Data):
    """A model's wish to run a tool. `id` is ours; the provider's own stands in `provider_id`."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: str
    """The arguments as JSON text, byte for byte as the model wrote them."""
    provider_id: str = ""


class ToolResultPart(Data):
    """The result of one tool call."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    """The `id` of the `ToolCallPart` it answers."""
    text: str
    """What the items under the call render, parts separated by a blank line."""
    is_error: bool = False
    """Whether the call failed; the text then says why."""


class UserMessagePart:
    """Makes parts of a user message: `UserMessagePart.text("Hello")` is `TextPart(text="Hello")`."""

    @staticmethod
    def text(text: str) -> TextPart:
        """Return a text part."""
        return TextPart(text=text)


UserPart = Annotated[TextPart | ToolResultPart, Field(discriminator="type")]
AssistantPart = Annotated[TextPart | ReasoningPart | ToolCallPart, Field(discriminator="type")]


class Message(Data):
    """One message of a model request. Examples: `Message.user("12 EUR")`, `Message.user("One.", "Two.")`."""

    role: Literal["user", "assistant"]
    parts: tuple[Annotated[TextPart | ReasoningPart | ToolCallPart | ToolResultPart, Field(discriminator="type")], ...]

    @classmethod
    def user(cls, *parts: TextPart | str) -> Message:
        """Return a user message of text parts; a plain string is a text part."""
        return cls(role="user", parts=_as_parts(parts))

    @classmethod
    def assistant(cls, *parts: TextPart | str) -> Message:
        """Return an assistant message of text parts; a plain string is a text part."""
        return cls(role="assistant", parts=_as_parts(parts))

    @property
    def text(self) -> str:
        """All text of the message, parts separated by a blank line."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, TextPart))


def _as_parts(parts: tuple[TextPart | str, ...]) -> tuple[TextPart, ...]:
    return tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)

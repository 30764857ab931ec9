"""Anthropic's stream of events put together to a reply.

The vendor's own assembler parses tool arguments while they arrive and raises on a model's malformed JSON, which
would look like a broken connection. Here they stay text, byte for byte, and the machine judges them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...core.canonical import canonical, clean_text
from ...core.language_model import TextReporter, Usage
from ...core.messages import AssistantPart, ReasoningPart, TextPart, ToolCallPart
from .request import PROVIDER

if TYPE_CHECKING:
    from anthropic.types import RawContentBlockStartEvent, RawMessageStreamEvent
    from anthropic.types import Usage as VendorUsage
    from anthropic.types.message_delta_usage import MessageDeltaUsage
    from anthropic.types.raw_content_block_delta import RawContentBlockDelta

SEPARATOR = "\n\n"  # between two texts of one reply, as `Message.text` has it


class BrokenStream(ValueError):
    """The events cannot be put together to one reply."""


@dataclass
class Block:
    """One content block while it arrives."""

    kind: Literal["text", "call", "reasoning", "redacted", "other"]
    text: str = ""
    id: str = ""
    name: str = ""
    private: str = ""


@dataclass
class Reply:
    """What has arrived so far. `ended` says that the stream came to its own end."""

    model: str
    blocks: dict[int, Block] = field(default_factory=dict)
    stop_reason: str | None = None
    explanation: str = ""
    usage: Usage = field(default_factory=Usage)
    ended: bool = False

    def take(self, event: RawMessageStreamEvent, reporter: TextReporter) -> None:
        """Take in the next event, and report its text. Raises `BrokenStream`."""
        try:
            self._take(event, reporter)
        except (AttributeError, TypeError) as error:
            # The vendor's client validates no event: one of a wrong shape shows only where it is read.
            raise BrokenStream(f"an event of a wrong shape: {error}") from error

    def parts(self, prefix: str) -> tuple[AssistantPart, ...]:
        """Return the finished parts in order. `prefix` is stored with reasoning, which belongs behind it alone."""
        found = [_part(block, prefix) for _, block in sorted(self.blocks.items())]
        return tuple(part for part in found if part is not None)

    def _take(self, event: RawMessageStreamEvent, reporter: TextReporter) -> None:
        match event.type:
            case "message_start":
                self.model = str(event.message.model)
                self.usage = _usage(event.message.usage, self.usage)
            case "content_block_start":
                self._open(event)
            case "content_block_delta":
                self._extend(event.index, event.delta, reporter)
            case "message_delta":
                self.stop_reason = event.delta.stop_reason
                self.usage = _usage(event.usage, self.usage)
                details = event.delta.stop_details
                self.explanation = (details.explanation if details else None) or ""
            case "message_stop":
                self.ended = True
            case _:  # a block's end says nothing new, and an event we do not know yet is not for us
                pass

    def _open(self, event: RawContentBlockStartEvent) -> None:
        if event.index in self.blocks:
            raise BrokenStream(f"two content blocks have the number {event.index}")
        start = event.content_block
        match start.type:
            case "text":
                block = Block("text", text=clean_text(start.text))
            case "tool_use":
                arguments = canonical(start.input) if start.input else ""
                block = Block("call", text=arguments, id=start.id, name=clean_text(start.name))
            case "thinking":
                block = Block("reasoning", text=clean_text(start.thinking), private=start.signature)
            case "redacted_thinking":
                block = Block("redacted", private=start.data)
            case _:
                block = Block("other")
        self.blocks[event.index] = block

    def _extend(self, index: int, delta: RawContentBlockDelta, reporter: TextReporter) -> None:
        block = self.blocks.get(index)
        if block is None:
            raise BrokenStream(f"a piece belongs to content block {index}, which was not opened")
        match delta.type:
            case "text_delta":
                self._say(block, clean_text(delta.text), reporter)
            case "input_json_delta":
                block.text += clean_text(delta.partial_json)
            case "thinking_delta":
                block.text += clean_text(delta.thinking)
            case "signature_delta":
                block.private = delta.signature
            case "citations_delta":  # only documents are cited, and we send none
                pass

    def _say(self, block: Block, text: str, reporter: TextReporter) -> None:
        earlier = any(other.kind == "text" and other.text for other in self.blocks.values())
        if text and not block.text and earlier:
            reporter.text(SEPARATOR)
        block.text += text
        if text:
            reporter.text(text)


def _part(block: Block, prefix: str) -> AssistantPart | None:
    match block.kind:
        case "text":
            return TextPart(text=block.text) if block.text else None
        case "call":
            return ToolCallPart(id="", name=block.name, arguments=block.text or "{}", provider_id=block.id)
        case "reasoning":
            private = {"signature": block.private, "prefix": prefix}
            return ReasoningPart(text=block.text, provider=PROVIDER, private=private)
        case "redacted":
            return ReasoningPart(provider=PROVIDER, private={"redacted": block.private, "prefix": prefix})
        case "other":  # the work of a server tool, which we never offer
            return None


def _usage(reported: VendorUsage | MessageDeltaUsage, before: Usage) -> Usage:
    """Return the tokens so far. Counts are totals; those of the input may be missing from a later event."""
    counted = (reported.input_tokens, reported.cache_creation_input_tokens, reported.cache_read_input_tokens)
    given = [count for count in counted if count is not None]
    return Usage(
        input_tokens=sum(given) if given else before.input_tokens,
        output_tokens=reported.output_tokens,
    )

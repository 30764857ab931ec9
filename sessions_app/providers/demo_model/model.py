"""The demo model as a language model: it streams what its rules say."""

from __future__ import annotations

from ...core.canonical import canonical
from ...core.language_model import ModelRequest, ModelResponse, Usage
from ...core.messages import TextPart, ToolCallPart
from ..configuration import configuration
from ..strict import refusal_of
from ..words import in_words, say, words_of
from .conversation import Conversation
from .rules import play


class DemoModel:
    """Plays the examples offline, word by word. Make one with `demo()`."""

    label = "demo model"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer by the rules. It refuses what real providers refuse, so that a mistake shows without a key too."""
        refusal = refusal_of(request, self.label)
        if refusal is not None:
            return refusal
        reply = play(Conversation.of(request))
        await say(reply.text, request.reporter, configuration().demo_delay)
        calls = [ToolCallPart(id="", name=call.tool, arguments=canonical(call.arguments)) for call in reply.calls]
        return ModelResponse(
            parts=(TextPart(text=reply.text), *calls),
            usage=Usage(input_tokens=words_of(request), output_tokens=len(in_words(reply.text))),
            model=self.label,
        )


def demo() -> DemoModel:
    """Return the built-in demo model. It needs no key and no network, and answers alike each time.

    The words come `demo_delay` seconds apart, as the configuration says.
    """
    return DemoModel()

"""Text cut into the pieces that a model without a network streams."""

from __future__ import annotations

import asyncio
import re

from ..core.language_model import ModelRequest, TextReporter
from ..core.messages import TextPart, ToolResultPart

_PIECE = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")


def in_words(text: str) -> list[str]:
    """Return the words of a text with the space before them; joined they give the text back."""
    return _PIECE.findall(text)


async def say(text: str, reporter: TextReporter, delay: float) -> None:
    """Report a text word by word, waiting `delay` seconds before each; 0 only lets others run."""
    for word in in_words(text):
        await asyncio.sleep(delay)
        reporter.text(word)


def words_of(request: ModelRequest) -> int:
    """Return the number of words of a request, which stands in for tokens where there are none."""
    parts = [part for message in request.messages for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart | ToolResultPart)]
    return sum(len(text.split()) for text in (*request.system, *texts))

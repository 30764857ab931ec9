"""The site of the browser tests: the agent of the page tests, with a model that answers to key words."""

from __future__ import annotations

import asyncio

from sessions_app.sdk import ModelRequest, ModelResponse, TextPart
from tests.engine.stage import brain, calls, gate
from tests.web.agents import ShowAgent

__all__ = ["ShowAgent"]

WORDS = 60
"""Numbered words of a streamed answer, so that a lost or a doubled one shows."""


class KeyWordModel:
    """Counts slowly, asks, or notes, as the last message says."""

    label = "demo of the tests"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        last = request.messages[-1].parts[-1]
        text = getattr(last, "text", "")
        if "count" in text:
            return await self._count(request)
        if "ask" in text:
            return calls(("decide", {"question": "Go?"}), ("ask_guest", {}))
        return ModelResponse(parts=(TextPart(text=f"Noted: **{text}**"),))

    async def _count(self, request: ModelRequest) -> ModelResponse:
        words = [f"word{number}" for number in range(WORDS)]
        for word in words:
            request.reporter.text(f"{word} ")
            await asyncio.sleep(0.05)
        return ModelResponse(parts=(TextPart(text=" ".join(words)),))


brain.model = KeyWordModel()
gate.opened.set()

"""What tests hold in their hands while effects run: a gate that keeps them waiting, and the model's words."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from typing import Any

from sessions_app.core.language_model import LanguageModel
from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import ModelRequest, ModelResponse, ToolCallPart


class Gate:
    """Holds effects up until a test lets them go on, and counts how often each began."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.opened = threading.Event()
        self.begun: Counter[str] = Counter()

    async def passed(self, name: str) -> None:
        self.begun[name] += 1
        while not self.opened.is_set():  # noqa: ASYNC110  # opened from other threads
            await asyncio.sleep(0.005)


gate = Gate()


class Brain:
    """The model of the test agents: what it says is set by each test."""

    label = "test model"

    def __init__(self) -> None:
        self.model: LanguageModel = ScriptedModel(lambda request: "Noted.")

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        return await self.model.generate_response(request)


brain = Brain()


def calls(*wanted: tuple[str, dict[str, Any]]) -> ModelResponse:
    """Return a response that calls tools."""
    return ModelResponse(
        parts=tuple(ToolCallPart(id="", name=name, arguments=json.dumps(given)) for name, given in wanted)
    )

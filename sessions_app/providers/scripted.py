"""A model for tests: it says what it was told to say and remembers what it was asked."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable

from ..core.language_model import ModelRequest, ModelResponse, Terminated, Usage
from ..core.messages import Message, TextPart
from .strict import provider_faults, refusal_of
from .words import in_words, say, words_of

Answer = str | ModelResponse
ScriptedResponse = Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Gives prepared responses in order, streaming their text word by word.

    A response is a text, a `ModelResponse`, or a function of the request that returns one of them (it may be
    `async`, to hold the model back until a test lets it go). A single function answers every request.

    `requests` keeps every request as it came. A `strict` model refuses what real providers refuse, and `faults`
    keeps the reasons. A request beyond the script ends as an error that says so.
    """

    label = "scripted model"

    def __init__(
        self,
        responses: Iterable[ScriptedResponse] | Callable[[ModelRequest], Answer | Awaitable[Answer]] = (),
        *,
        strict: bool = True,
        delay: float = 0.0,
    ) -> None:
        self._always = responses if callable(responses) else None
        self._script = iter(()) if callable(responses) else iter(responses)
        self._strict = strict
        self._delay = delay
        self.requests: list[ModelRequest] = []
        self.faults: list[str] = []

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Return the next prepared response."""
        self.requests.append(request)
        if self._strict and (refusal := refusal_of(request, self.label)):
            self.faults += provider_faults(request)
            return refusal
        response = await self._next(request)
        await say(Message(role="assistant", parts=response.parts).text, request.reporter, self._delay)
        return response

    async def _next(self, request: ModelRequest) -> ModelResponse:
        prepared = self._always or next(self._script, None)
        if prepared is None:
            message = f"The script has no response for request {len(self.requests)}. Add one to the test."
            return ModelResponse(status=Terminated(reason="error", message=message), model=self.label)
        answer = prepared(request) if callable(prepared) else prepared
        if inspect.isawaitable(answer):
            answer = await answer
        return self._text_response(answer, request) if isinstance(answer, str) else answer

    def _text_response(self, text: str, request: ModelRequest) -> ModelResponse:
        usage = Usage(input_tokens=words_of(request), output_tokens=len(in_words(text)))
        return ModelResponse(parts=(TextPart(text=text),), usage=usage, model=self.label)

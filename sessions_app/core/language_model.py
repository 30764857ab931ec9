"""The port to language models: one protocol, one request, one response.

Any object with `generate_response` is a model. Providers return `Terminated` instead of raising, so that a
backup model can take over and the effect alone decides about another attempt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from .data import Data
from .messages import AssistantPart, Message

TerminationReason = Literal[
    "refused", "length", "overloaded", "rate_limited", "connection", "invalid_request", "authentication", "empty",
    "error",
]  # fmt: skip


MOST_TOKENS = 10**12
"""More is no count, and would not fit when it is summed over a session."""


class ToolSpecification(Data):
    """A tool as it is offered to a model. `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Usage(Data):
    """Tokens of one request."""

    input_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)


class Completed(Data):
    """The model ended its reply by itself."""

    type: Literal["completed"] = "completed"


class Terminated(Data):
    """The reply did not come to its own end.

    `message` is for a person. `retryable` says that the same request may succeed later, at the earliest
    after `retry_after` seconds; the machine then tries again by itself.
    Example: `Terminated(reason="overloaded", message="The model is busy.", retryable=True, retry_after=5)`.
    """

    type: Literal["terminated"] = "terminated"
    reason: TerminationReason
    message: str
    retryable: bool = False
    retry_after: float | None = None


class ModelResponse(Data):
    """What came back: parts in order, how it ended, what it used, and which model answered.

    A call's `id` may be left empty: the machine numbers calls itself and pairs results by its own ids.
    """

    parts: tuple[AssistantPart, ...] = ()
    status: Annotated[Completed | Terminated, Field(discriminator="type")] = Completed()
    usage: Usage = Usage()
    model: str = ""


class TextReporter(Protocol):
    """Takes text as it streams. Reporting is for the page; the response alone counts."""

    def text(self, delta: str) -> None:
        """Report the next piece of text."""

    def restart(self) -> None:
        """Say that the text so far is void, as another model or attempt begins."""


class SilentReporter:
    """A reporter nobody listens to."""

    def text(self, delta: str) -> None:
        """Ignore the text."""

    def restart(self) -> None:
        """Ignore the restart."""


@dataclass(frozen=True)
class ModelRequest:
    """What a model is asked: system texts, messages, tools, and where to report text while it streams."""

    system: Sequence[str]
    messages: Sequence[Message]
    tools: Sequence[ToolSpecification]
    reporter: TextReporter = field(default_factory=SilentReporter, compare=False)


class LanguageModel(Protocol):
    """A language model: any object with this method.

    An attribute `label` is the name people see.

        class Echo:
            label = "echo"

            async def generate_response(self, request: ModelRequest) -> ModelResponse:
                text = request.messages[-1].text
                request.reporter.text(text)
                return ModelResponse(parts=[TextPart(text=text)], model=self.label)
    """

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer a request. Should return `Terminated` rather than raise."""
        ...

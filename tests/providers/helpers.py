"""Requests and reporters for the tests of the models."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sessions_app.core.language_model import ModelRequest, ModelResponse, ToolSpecification
from sessions_app.core.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from tools_app.tools.ask_user import AskUser
from tools_app.tools.flights import FindFlights

FIND_FLIGHTS = FindFlights.specification()
ASK_USER = AskUser.specification()
TOKYO = (
    "2 flights to Tokyo:\n"
    "1. Gullwing GQ 368, leaves 13:55, arrives 03:55 next day, 1 stop, 604 EUR\n"
    "2. Heron Air HQ 164, leaves 15:55, arrives 03:55 next day, no stop, 667 EUR"
)


@dataclass
class Heard:
    """A reporter that remembers. `restarts` counts how often the text so far was void."""

    pieces: list[str] = field(default_factory=list)
    restarts: int = 0

    def text(self, delta: str) -> None:
        self.pieces.append(delta)

    def restart(self) -> None:
        self.pieces.clear()
        self.restarts += 1

    @property
    def all(self) -> str:
        return "".join(self.pieces)


def request(
    *messages: Message | str, tools: Sequence[ToolSpecification] = (), reporter: Heard | None = None
) -> ModelRequest:
    """Return a request; a plain string is a user message."""
    return ModelRequest(
        system=["Be brief."],
        messages=[Message.user(message) if isinstance(message, str) else message for message in messages],
        tools=tools,
        reporter=reporter or Heard(),
    )


def calls(*parts: TextPart | ReasoningPart | ToolCallPart) -> Message:
    return Message(role="assistant", parts=parts)


def call(call_id: str, name: str = "find_flights", arguments: str = '{"destination":"Tokyo"}') -> ToolCallPart:
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def results(*parts: ToolResultPart | TextPart) -> Message:
    return Message(role="user", parts=parts)


def result(call_id: str, text: str = TOKYO, is_error: bool = False) -> ToolResultPart:
    return ToolResultPart(call_id=call_id, text=text, is_error=is_error)


def text_of(response: ModelResponse) -> str:
    return Message(role="assistant", parts=response.parts).text


def calls_of(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def answered(response: ModelResponse, text: str = TOKYO) -> list[Message]:
    """Return a reply with calls, numbered as the machine does, and a result for each."""
    numbered = [
        part.evolve(id=f"5_0_{index}") if isinstance(part, ToolCallPart) else part
        for index, part in enumerate(response.parts)
    ]
    ids = [part.id for part in numbered if isinstance(part, ToolCallPart)]
    return [calls(*numbered), results(*(result(call_id, text) for call_id in ids))]

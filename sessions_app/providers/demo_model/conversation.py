"""A request as the demo model looks at it, and what its rules answer with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ...core.language_model import ModelRequest
from ...core.messages import Message, ToolCallPart, ToolResultPart
from ..turns import in_turns


@dataclass(frozen=True)
class Outcome:
    """A tool call together with its result."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    is_error: bool

    def argument(self, name: str) -> str:
        """Return an argument as text; empty where the call had none."""
        return str(self.arguments.get(name, ""))


@dataclass(frozen=True)
class Conversation:
    """What is new since the model last spoke, and the results it has seen before.

    `said` is the user's new text, `arrived` the new results in call order, `earlier` the results of each earlier
    round, newest round first, `offered` the names of the tools on offer, and `ready` those that need no arguments.
    `system` is the system prompt, and `heard` all text of the user's side so far.
    """

    said: str
    arrived: tuple[Outcome, ...] = ()
    earlier: tuple[tuple[Outcome, ...], ...] = ()
    offered: frozenset[str] = frozenset()
    ready: tuple[str, ...] = ()
    system: str = ""
    heard: str = ""

    @classmethod
    def of(cls, request: ModelRequest) -> Conversation:
        """Read a request whose last message is the user's."""
        turns = in_turns(request.messages)
        rounds = [tuple(_outcomes(before, turn)) for before, turn in pairwise(turns)]
        arrived = rounds.pop() if rounds else ()
        return cls(
            said=turns[-1].text,
            arrived=arrived,
            earlier=tuple(reversed([outcomes for outcomes in rounds if outcomes])),
            offered=frozenset(tool.name for tool in request.tools),
            ready=tuple(tool.name for tool in request.tools if not tool.parameters.get("required")),
            system="\n\n".join(request.system),
            heard="\n\n".join(turn.text for turn in turns if turn.role == "user"),
        )


@dataclass(frozen=True)
class Call:
    """A tool call the demo model makes."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What a rule answers with: text, and calls behind it."""

    text: str
    calls: tuple[Call, ...] = ()


def joined(replies: Sequence[Reply]) -> Reply:
    """Return several replies as one. A question is left out while other work goes on: it will be asked after it."""
    calls = [call for reply in replies for call in reply.calls]
    working = [call for call in calls if call.tool != "ask_user"]
    return Reply("\n\n".join(reply.text for reply in replies), tuple(working or calls))


def _outcomes(before: Message, turn: Message) -> Iterator[Outcome]:
    results = {part.call_id: part for part in turn.parts if isinstance(part, ToolResultPart)}
    for call in before.parts:
        if isinstance(call, ToolCallPart) and call.id in results:
            result = results[call.id]
            yield Outcome(call.name, _arguments(call), result.text, result.is_error)


def _arguments(call: ToolCallPart) -> Mapping[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {}

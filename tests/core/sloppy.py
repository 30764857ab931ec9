"""An agent that returns what no handler should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    SessionEvent,
    SessionState,
    add_context_item,
    set_agent_state,
    set_title,
)
from tests.core.lab import LabState, RunSearch, Work


class Sloppy(SessionEvent, type="sloppy"):
    kind: str


class SloppyState(AgentState):
    anything: Any = None
    numbers: list[int] = []
    words: set[str] = set()


RESULTS: dict[str, Callable[[SloppyState], Any]] = {
    "none": lambda state: None,
    "list": lambda state: [set_agent_state(state)],
    "update": lambda state: EventResult(["set the title"]),  # type: ignore[list-item]
    "other-state": lambda state: EventResult([set_agent_state(LabState())]),
    "too-many": lambda state: EventResult([set_title("x")] * 1001),
    "effect": lambda state: EventResult(effects=[RunSearch(topic="tea")]),
    "no-effect": lambda state: EventResult(effects=["work"]),  # type: ignore[list-item]
    "too-many-effects": lambda state: EventResult(effects=[Work(by=1)] * 101),
    "item": lambda state: EventResult([add_context_item("text")]),  # type: ignore[arg-type]
    "too-large": lambda state: EventResult([set_agent_state(state.evolve(anything="é" * 140_000))]),
    "nan": lambda state: holding(state, float("nan")),
    "infinity": lambda state: holding(state, float("-inf")),
    "large": lambda state: holding(state, 2**70),
    "object": lambda state: holding(state, object()),
    "bytes": lambda state: holding(state, b"\xff"),
    "deep": lambda state: holding(state, _nested(60)),
}


def holding(state: SloppyState, value: Any) -> EventResult:
    return EventResult([set_agent_state(state.evolve(anything={"here": value}))])


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class SloppyAgent(Agent[SloppyState, Sloppy], name="sloppy"):
    def handle_event(self, state: SessionState[SloppyState], event: Sloppy) -> EventResult:
        result: EventResult = RESULTS[event.kind](state.agent_state)
        return result

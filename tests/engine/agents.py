"""The agent that counts: each of its events and effects shows one thing. All types begin with "t-"."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from django.contrib.auth import get_user_model
from pydantic import Field

from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EventResult,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    add_context_item,
    delete_context_item,
    set_agent_state,
    set_context_item_order,
    set_title,
)
from tests.engine.items import Note, Question
from tests.engine.stage import brain, gate


class Tally(AgentState):
    total: int = 0
    broken: bool = False
    words: tuple[str, ...] = ()


class TallyArgs(SessionArgs):
    start: Annotated[int, Field(ge=0, le=100)] = 0
    title: str = ""
    questions: int = 0


class Added(SessionEvent, type="t-added"):
    by: int = 1
    note: str = ""


class Broke(SessionEvent, type="t-broke"):
    """From here on, `Fragile` cannot be handled."""


class Mended(SessionEvent, type="t-mended"):
    pass


class Fragile(SessionEvent, type="t-fragile"):
    pass


class Secret(SessionEvent, type="t-secret", private=True):
    word: str


class Spun(SessionEvent, type="t-spun"):
    """Its handler never ends."""


class SpunOn(SessionEvent, type="t-spun-on"):
    """Its handler never ends, three times, and swallows what ends it."""


class Reached(SessionEvent, type="t-reached"):
    """Its handler reaches for the outside."""

    what: str


class Surveyed(SessionEvent, type="t-surveyed"):
    """Its handler looks at every item."""


class Guessed(SessionEvent, type="t-guessed"):
    """Its handler asks chance or the clock."""

    clock: bool = False


class Held(SessionEvent, type="t-held"):
    """Its handler waits for a test."""


class Filled(SessionEvent, type="t-filled"):
    count: int


class Listed(SessionEvent, type="t-listed"):
    """A payload whose handler looks at the order of its keys."""

    words: dict[str, str]


class Arranged(SessionEvent, type="t-arranged"):
    order: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


class Launched(SessionEvent, type="t-launched"):
    """Starts an effect of the session."""

    what: str
    name: str = "one"


class Entitled(SessionEvent, type="t-entitled"):
    title: str


class Report(SessionEffect[Secret], type="t-report", retries=1):
    """Sends one event while it runs, waits, and returns another."""

    name: str

    async def run(self, context: EffectContext[Secret]) -> Secret:
        await context.dispatch_event(Secret(word=f"{self.name} began"))
        await gate.passed(self.name)
        return Secret(word=f"{self.name} ended")


class Pay(SessionEffect[Secret], type="t-pay", delivery="at-most-once", timeout=20):
    """What must not happen twice."""

    name: str

    async def run(self, context: EffectContext[Secret]) -> Secret:
        await gate.passed(self.name)
        return Secret(word=f"paid {self.name}")


class Faulty(SessionEffect[Secret], type="t-faulty"):
    """Raises what its payload says."""

    name: str

    async def run(self, context: EffectContext[Secret]) -> Secret:
        gate.begun[self.name] += 1
        match self.name:
            case "exit":
                raise SystemExit(3)
            case "cancelled":
                raise asyncio.CancelledError("by itself")
            case "nul":
                raise ValueError("a \x00 and a \ud800 in the text")
            case _:
                raise RuntimeError(self.name)


EFFECTS = {"report": Report, "pay": Pay, "faulty": Faulty}


class CounterAgent(Agent[Tally, Added | Broke | Mended | Fragile | Secret | Spun | SpunOn | Guessed | Held | Filled
                         | Surveyed | Listed | Reached | Arranged | Launched | Entitled],
                   name="t-counter"):  # fmt: skip
    """Keeps a tally. It is never asked anything, so it needs no model unless somebody writes to it."""

    model = brain
    context_items = (Note, Question)
    effects = (Report, Pay, Faulty)

    def create_session(self, args: TallyArgs) -> SessionResult[Tally]:
        if args.title == "fail":
            raise RuntimeError("no such session")
        questions = [Question(text=f"Question {number}") for number in range(args.questions)]
        return SessionResult(Tally(total=args.start), questions)

    def handle_event(self, state: SessionState[Tally], event: SessionEvent) -> EventResult:
        match event:
            case Launched(what=what, name=name):
                return EventResult(effects=[EFFECTS[what](name=name)])
            case Filled(count=count):
                return EventResult([add_context_item(Note(text=f"note {number}")) for number in range(count)])
            case Arranged(order=order, deleted=deleted):
                removals = [delete_context_item(item_id) for item_id in deleted]
                return EventResult([*removals, *([set_context_item_order(order)] if order else [])])
            case Surveyed():
                items = [state.get_context_item(item_id) for item_id in state.context_item_order]
                return EventResult([set_title(f"{sum(item is not None for item in items)} items")])
            case Listed() | Entitled() | Guessed():
                return EventResult([set_title(new_title(event))])
            case _:
                return EventResult([set_agent_state(next_tally(state.agent_state, event))])


def new_title(event: SessionEvent) -> str:
    match event:
        case Listed(words=words):
            return " ".join(words)
        case Entitled(title=title):
            return title
        case Guessed(clock=clock):
            return f"{time.time_ns() if clock else random.random()}"
        case _:
            raise AssertionError(event)


def misbehave(event: Spun | SpunOn | Reached) -> None:
    match event:
        case Spun():
            while True:
                pass
        case SpunOn():
            for _ in range(3):
                with suppress(BaseException):
                    while True:
                        pass
        case Reached(what="query"):
            get_user_model().objects.count()
        case Reached(what="file"):
            Path("/etc/hostname").read_text()
        case _:
            socket.create_connection(("127.0.0.1", 9))


def next_tally(tally: Tally, event: SessionEvent) -> Tally:
    match event:
        case Added(by=by):
            return tally.evolve(total=tally.total + by)
        case Broke() | Mended():
            return tally.evolve(broken=isinstance(event, Broke))
        case Fragile() | Secret() if tally.broken:
            raise RuntimeError("it broke \x00 \ud800")
        case Secret(word=word):
            return tally.evolve(words=(*tally.words, word))
        case Held():
            gate.begun["held"] += 1
            gate.opened.wait(1.5)
            return tally.evolve(total=tally.total + 1)
        case Spun() | SpunOn() | Reached():
            misbehave(event)
            return tally
        case _:
            return tally.evolve(total=tally.total + 1000)

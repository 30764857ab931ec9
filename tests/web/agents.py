"""An agent that can bring a page into every state. All types begin with "w-"."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr

from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    EffectContext,
    EventResult,
    ItemResult,
    Message,
    RenderResult,
    SessionArgs,
    SessionEvent,
    SessionResult,
    SessionState,
    Tool,
    ToolContext,
    ToolResult,
    UserMessage,
    add_context_item,
    delete_context_item,
    set_agent_state,
    set_context_item_order,
)
from tests.engine.stage import brain, gate


class Stay(SessionArgs):
    city: Annotated[str, Field(min_length=2, max_length=40, description="Where to.", examples=["Tokyo"])]
    nights: Annotated[int, Field(ge=1, le=30)] = 2
    cabin: Literal["economy", "business"] = "economy"
    tags: list[Annotated[str, Field(max_length=10)]] = []


class Approved(ContextItemEvent, type="w-approved", label="Approve"):
    """Yes."""


class Declined(ContextItemEvent, type="w-declined", label="Decline"):
    """No, and why."""

    reason: Annotated[str, Field(min_length=1, max_length=100)]


class Decision(ContextItem[Approved | Declined], type="w-decision"):
    question: str
    verdict: str = ""

    def handle_event(self, event: Approved | Declined) -> ItemResult[Self]:
        match event:
            case Approved():
                return ItemResult(self.evolve(verdict="yes"))
            case Declined(reason=reason):
                return ItemResult(self.evolve(verdict=f"no: {reason}"))

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.verdict)) if self.verdict else RenderResult.pending(self.question)


class Guest(ContextItemEvent, type="w-guest"):
    name: Annotated[str, Field(min_length=2, max_length=60)]
    born: dt.date
    meals: list[Literal["breakfast", "lunch", "dinner"]] = []
    phones: list[Annotated[str, Field(max_length=20)]] = []


class GuestForm(ContextItem[Guest], type="w-guest-form"):
    guest: str = ""

    def handle_event(self, event: Guest) -> ItemResult[Self]:
        if event.name == "Broken":
            raise RuntimeError("this guest breaks the handler")
        return ItemResult(self.evolve(guest=event.name))

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.guest)) if self.guest else RenderResult.pending("Who is coming?")


class Fetched(ContextItemEvent, type="w-fetched", private=True):
    text: str


class FetchIt(ContextItemEffect[Fetched], type="w-fetch-it"):
    name: str

    async def run(self, context: EffectContext[Fetched]) -> Fetched:
        await gate.passed(self.name)
        if self.name == "broken":
            raise RuntimeError("the shelf is empty")
        return Fetched(text=f"{self.name} is here")


class Parcel(ContextItem[Fetched], type="w-parcel", label="Parcel", label_failed="Parcel not found"):
    name: str
    text: str = ""

    @classmethod
    def create(cls, name: str) -> ItemResult[Self]:
        return ItemResult(cls(name=name), effects=[FetchIt(name=name)])

    def handle_event(self, event: Fetched) -> ItemResult[Self]:
        return ItemResult(self.evolve(text=event.text))

    def render(self) -> RenderResult:
        return (
            RenderResult.ready(Message.user(self.text)) if self.text else RenderResult.pending(f"Fetching {self.name}…")
        )


class Decide(Tool, name="decide"):
    """Ask for a decision."""

    question: str

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([Decision(question=self.question)])


class AskGuest(Tool, name="ask_guest"):
    """Ask who comes."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([GuestForm()])


class Ship(Tool, name="ship", requires_approval=True):
    """Ship a parcel."""

    to: Annotated[str, Field(min_length=2, title="Ship to")]
    weight: float = 1.0
    except_for: list[str] = []
    pin: SecretStr = SecretStr("")

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(
            [UserMessage(text=f"Shipped {self.weight} kg to {self.to}, pin of {len(self.pin.get_secret_value())}.")]
        )


class FetchParcel(Tool, name="fetch_parcel"):
    """Fetch a parcel."""

    name: str

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult([Parcel.create(self.name)])


class Crash(Tool, name="crash"):
    """Fail."""

    async def execute(self, context: ToolContext) -> ToolResult:
        raise RuntimeError("<b>no</b> such thing")


class Hush(Tool, name="hush"):
    """Return nothing."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult()


class StayState(AgentState):
    city: str = "nowhere"
    confirmed: str = ""


class Confirmed(SessionEvent, type="w-confirmed", label="Confirm meeting"):
    """A person confirms the meeting."""

    title: Annotated[str, Field(min_length=3, max_length=60)]
    start: dt.datetime


class Shuffled(SessionEvent, type="w-shuffled"):
    """Rearranges what is there: a number says how."""

    by: int = 0


class Dropped(SessionEvent, type="w-dropped"):
    """Puts a parcel into the conversation, outside any call."""

    name: str


class Unhandled(SessionEvent, type="w-unhandled", label="Break"):
    """Its handler raises."""


class ShowAgent(Agent[StayState, Confirmed | Shuffled | Dropped | Unhandled], name="w-show", version="1.2"):
    """Shows everything a page can show."""

    title = "Show"
    examples = ("One", "Two", "Three", "Four")
    model = brain
    system_prompt = "You help."
    tools = (Decide, AskGuest, FetchParcel, Crash, Hush, Ship)
    context_items = (Parcel,)

    def create_session(self, args: Stay) -> SessionResult[StayState]:
        return SessionResult(StayState(city=args.city))

    def get_actions(self, state: StayState) -> Sequence[type[SessionEvent]]:
        return [] if state.confirmed else [Confirmed, Unhandled]

    def handle_event(
        self, state: SessionState[StayState], event: Confirmed | Shuffled | Dropped | Unhandled
    ) -> EventResult:
        match event:
            case Confirmed(title=title):
                return EventResult([set_agent_state(state.agent_state.evolve(confirmed=title))])
            case Dropped(name=name):
                return EventResult([add_context_item(Parcel.create(name))])
            case Shuffled(by=by):
                return EventResult(_shuffled(state.context_item_order, by))
            case Unhandled():
                raise RuntimeError("never mind")


def _shuffled(order: list[str], by: int) -> list[Any]:
    if not order:
        return []
    place = by % len(order)
    match by % 4:
        case 0:
            return [set_context_item_order(order[place:] + order[:place])]
        case 1:
            return [set_context_item_order([*order[:place], *order[place + 1 :]])]
        case 2:
            return [delete_context_item(order[place])]
        case _:
            return [set_context_item_order(order[::-1])]

"""A long search with a page of its own: it shows its progress, and the model waits for its result."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from sessions_app.sdk import (
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    EffectContext,
    ItemResult,
    Message,
    RenderResult,
    Tool,
    ToolContext,
    ToolResult,
)
from tools_app.services.flights import Flight, find_flights

Destination = Annotated[str, Field(min_length=1, max_length=80, description="A city or an airport, such as Tokyo.")]


class AirlinesChecked(ContextItemEvent, type="airlines-checked", private=True):
    """The search has come this far."""

    checked: int
    total: int


class FlightsReady(ContextItemEvent, type="flights-ready", private=True):
    """The search is over. `result` is what the model reads, `count` the number of flights in it."""

    result: str
    count: int


class SearchFlights(ContextItemEffect[AirlinesChecked | FlightsReady], type="search-flights"):
    """Asks the airlines, one after the other."""

    destination: str

    async def run(self, context: EffectContext[AirlinesChecked | FlightsReady]) -> FlightsReady:
        async def report(checked: int, total: int) -> None:
            await context.dispatch_event(AirlinesChecked(checked=checked, total=total))

        flights = await find_flights(self.destination, report)
        return FlightsReady(result=describe(self.destination, flights), count=len(flights))


class FlightSearch(ContextItem[AirlinesChecked | FlightsReady], type="flight-search"):
    """A flight search. `note` is the line below its title: how far it is, then what it found."""

    destination: str
    result: str | None = None
    note: str = ""
    fraction: float | None = None

    @classmethod
    def create(cls, destination: str) -> ItemResult[Self]:
        """Return the item, with the effect that searches."""
        return ItemResult(cls(destination=destination), effects=[SearchFlights(destination=destination)])

    def handle_event(self, event: AirlinesChecked | FlightsReady) -> ItemResult[Self]:
        match event:
            case AirlinesChecked(checked=checked, total=total):
                note = f"{checked} of {total} airlines checked"
                return ItemResult(self.evolve(note=note, fraction=checked / total))
            case FlightsReady(result=result, count=count):
                return ItemResult(self.evolve(result=result, note=_found(count), fraction=None))

    def render(self) -> RenderResult:
        if self.result is None:
            return RenderResult.pending(f"Searching flights to {self.destination}…", self.fraction)
        return RenderResult.ready(Message.user(self.result))


class FindFlights(Tool, name="find_flights"):
    """Find flights to a destination. Call it once for each destination."""

    destination: Destination

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[FlightSearch.create(self.destination)])


def describe(destination: str, flights: list[Flight]) -> str:
    """Return the flights as a numbered list."""
    if not flights:
        return f"No flights to {destination} were found."
    lines = [f"{number}. {flight}" for number, flight in enumerate(flights, 1)]
    return "\n".join([f"{_flights(len(flights))} to {destination}:", *lines])


def _found(count: int) -> str:
    return f"{_flights(count)} found" if count else "No flights found"


def _flights(count: int) -> str:
    return "1 flight" if count == 1 else f"{count} flights"

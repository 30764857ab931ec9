"""The flight search: service, effect, item, tool."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from sessions_app.core.data import dump, load
from sessions_app.providers.demo_model.reading import options
from sessions_app.sdk import EffectContext, Message, RenderResult, ToolContext
from tools_app.services.flights import AIRLINES, FlightServiceDown, find_flights
from tools_app.tools.flights import AirlinesChecked, FindFlights, FlightSearch, FlightsReady, SearchFlights, describe


@dataclass
class Dispatched:
    """An effect's context that keeps its events."""

    events: list[Any] = field(default_factory=list)
    idempotency_key: str = "key"
    attempt: int = 1

    async def dispatch_event(self, event: Any) -> None:
        self.events.append(event)

    async def in_thread(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


def keep(checked: list[tuple[int, int]]) -> Callable[[int, int], Awaitable[None]]:
    async def on_progress(done: int, total: int) -> None:
        checked.append((done, total))

    return on_progress


async def test_the_same_destination_gives_the_same_flights() -> None:
    assert await find_flights("Tokyo") == await find_flights("  tokyo ")
    assert await find_flights("Tokyo") != await find_flights("Paris")


@pytest.mark.parametrize("destination", ["Tokyo", "Paris", "São Paulo", "東京", "x" * 80])
async def test_flights_look_like_flights(destination: str) -> None:
    flights = await find_flights(destination)
    assert 3 <= len(flights) <= 4
    assert flights == sorted(flights, key=lambda flight: flight.leaves)
    for flight in flights:
        assert (flight.airline, flight.code.split()[0]) in AIRLINES
        assert 6 * 60 <= flight.leaves < 21 * 60
        assert 2 * 60 <= flight.takes <= 16 * 60
        assert 60 < flight.price < 900


async def test_progress_is_told_after_each_airline() -> None:
    checked: list[tuple[int, int]] = []
    await find_flights("Tokyo", keep(checked))
    assert checked == [(number, 8) for number in range(1, 9)]


async def test_a_service_that_is_down_says_so() -> None:
    checked: list[tuple[int, int]] = []
    with pytest.raises(FlightServiceDown, match="The flight service did not answer"):
        await find_flights("Nowhere", keep(checked))
    assert checked == [(1, 8), (2, 8)]


async def test_the_effect_reports_its_progress_and_returns_the_result() -> None:
    context = Dispatched()
    checked: EffectContext[Any] = context
    ready = await SearchFlights(destination="Tokyo").run(checked)
    assert context.events == [AirlinesChecked(checked=number, total=8) for number in range(1, 9)]
    assert ready.result.startswith(f"{ready.count} flights to Tokyo:\n1. ")
    assert len(options(ready.result)) == ready.count  # the demo model can read it


async def test_nothing_found_is_a_result_too() -> None:
    ready = await SearchFlights(destination="Atlantis").run(Dispatched())
    assert ready == FlightsReady(result="No flights to Atlantis were found.", count=0)


def test_the_item_from_search_to_result() -> None:
    created = FlightSearch.create("Tokyo")
    assert created.effects == [SearchFlights(destination="Tokyo")]
    item = created.data
    assert item.render() == RenderResult.pending("Searching flights to Tokyo…")

    item = item.handle_event(AirlinesChecked(checked=3, total=8)).data
    assert item.render() == RenderResult.pending("Searching flights to Tokyo…", 0.375)
    assert item.note == "3 of 8 airlines checked"

    item = item.handle_event(FlightsReady(result="3 flights to Tokyo: …", count=3)).data
    assert item.render() == RenderResult.ready(Message.user("3 flights to Tokyo: …"))
    assert item.note == "3 flights found"
    assert load(FlightSearch, dump(item)) == item


@pytest.mark.parametrize(("count", "note"), [(0, "No flights found"), (1, "1 flight found"), (4, "4 flights found")])
def test_what_was_found_in_a_line(count: int, note: str) -> None:
    assert FlightSearch.create("Tokyo").data.handle_event(FlightsReady(result="x", count=count)).data.note == note


async def test_one_flight_is_one_flight() -> None:
    (flight, *_) = await find_flights("Tokyo")
    assert describe("Tokyo", [flight]).startswith("1 flight to Tokyo:\n1. ")


async def test_the_tool_returns_the_item_at_once() -> None:
    result = await FindFlights(destination="Tokyo").execute(ToolContext(idempotency_key="key"))
    assert list(result.context_items) == [FlightSearch.create("Tokyo")]
    assert result.events == ()


@pytest.mark.parametrize("destination", ["", "x" * 81, None, 7])
def test_a_destination_that_is_none_is_refused(destination: Any) -> None:
    with pytest.raises(ValidationError):
        FindFlights(destination=destination)


def test_only_the_search_itself_may_send_its_events() -> None:
    assert AirlinesChecked.is_private()
    assert FlightsReady.is_private()
    assert SearchFlights.emits() == FlightSearch.event_types() == (AirlinesChecked, FlightsReady)

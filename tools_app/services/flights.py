"""A flight search that asks eight airlines. The same destination gives the same flights every time.

Nobody flies to Atlantis, and a search for Nowhere fails, so that both can be seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .pace import answer_time

AIRLINES = (
    ("Amber Wings", "AQ"),
    ("Borealis Air", "BQ"),
    ("Cinder Airways", "CQ"),
    ("Driftline", "DQ"),
    ("Elmwood Jet", "EQ"),
    ("Fernway Air", "FQ"),
    ("Gullwing", "GQ"),
    ("Heron Air", "HQ"),
)
NO_FLIGHTS = "atlantis"
OUT_OF_ORDER = "nowhere"
DAY = 24 * 60

OnProgress = Callable[[int, int], Awaitable[None]]


class FlightServiceDown(Exception):
    """The flight service did not answer."""


@dataclass(frozen=True)
class Flight:
    """One flight. Times are minutes after midnight at the place, `price` is in euros."""

    airline: str
    code: str
    leaves: int
    takes: int
    stops: int
    price: int

    def __str__(self) -> str:
        arrives = self.leaves + self.takes
        later = " next day" if arrives >= DAY else ""
        stops = {0: "no stop", 1: "1 stop"}[self.stops]
        return (
            f"{self.airline} {self.code}, leaves {_clock(self.leaves)}, arrives {_clock(arrives)}{later}, "
            f"{stops}, {self.price} EUR"
        )


async def find_flights(destination: str, on_progress: OnProgress | None = None) -> list[Flight]:
    """Return flights to a destination, by time of departure; none where nobody flies there.

    `on_progress(checked, total)` is awaited after each airline. Raises `FlightServiceDown`.
    """
    place = " ".join(destination.split()).casefold()
    offers = []
    for checked, (airline, letters) in enumerate(AIRLINES, 1):
        await answer_time()
        if place == OUT_OF_ORDER and checked > 2:
            raise FlightServiceDown("The flight service did not answer.")
        offers.append(_offer(place, airline, letters))
        if on_progress is not None:
            await on_progress(checked, len(AIRLINES))
    flying = [] if place == NO_FLIGHTS else sorted(offers, key=lambda offer: offer[0])[: 3 + _number(place, "more", 2)]
    return sorted((flight for _, flight in flying), key=lambda flight: flight.leaves)


def _offer(place: str, airline: str, letters: str) -> tuple[int, Flight]:
    """Return an airline's flight, and its rank: the airlines with the lowest ranks fly there."""
    hours = 2 + _number(place, "sky", 12)
    stops = _number(place, airline + "stops", 2)
    flight = Flight(
        airline=airline,
        code=f"{letters} {100 + _number(place, airline + 'code', 800)}",
        leaves=5 * (6 * 12 + _number(place, airline + "leaves", 15 * 12)),
        takes=60 * hours + 5 * _number(place, airline + "takes", 9) + 90 * stops,
        stops=stops,
        price=60 + 45 * hours + _number(place, airline + "price", 120) - 25 * stops,
    )
    return _number(place, airline, 10_000), flight


def _number(place: str, what: str, below: int) -> int:
    """Return a number that looks like chance and is always the same."""
    return int.from_bytes(hashlib.sha256(f"{place}/{what}".encode()).digest()[:6]) % below


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"

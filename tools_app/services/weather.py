"""A weather service. The same city has the same weather every time, and Nowhere has none."""

from __future__ import annotations

import hashlib

from .pace import answer_time

SKIES = ("Clear sky", "Light clouds", "Overcast", "Fog", "Light rain", "Showers", "Thunderstorm", "Snow")
SNOW_BELOW = 3
OUT_OF_ORDER = "nowhere"


class WeatherServiceDown(Exception):
    """The weather service did not answer."""


async def weather_in(city: str) -> str:
    """Return the weather in a city as one line: sky, temperature and wind. Raises `WeatherServiceDown`."""
    await answer_time()
    place = " ".join(city.split()).casefold()
    if place == OUT_OF_ORDER:
        raise WeatherServiceDown("The weather service did not answer.")
    sky, warmth, wind, *_ = hashlib.sha256(place.encode()).digest()
    degrees = warmth % 36 - 4
    skies = SKIES[-1:] if degrees < SNOW_BELOW else SKIES[:-1]
    return f"{skies[sky % len(skies)]}, {'−' * (degrees < 0)}{abs(degrees)} °C, wind {3 + wind % 30} km/h"

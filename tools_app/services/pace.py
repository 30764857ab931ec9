"""How long the stand-ins take to answer, so that waiting can be seen in a demonstration and left out of a test."""

from __future__ import annotations

import asyncio

DEFAULT_DELAY = 0.3
"""Seconds for one answer: eight airlines together take about two and a half."""

_delay = DEFAULT_DELAY


def configure_services(*, delay: float) -> None:
    """Set how many seconds each answer of a stand-in takes from now on; 0 for none."""
    global _delay  # noqa: PLW0603 - the stand-ins of a process share one pace, as the real world does
    _delay = delay


async def answer_time() -> None:
    """Wait as long as one answer takes."""
    await asyncio.sleep(_delay)

"""Places in the order as sparse numbers, so that appending and moving write one row and not all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

SPACE = 2**20
"""Numbers between two events' first items; an event makes at most a thousand items, `STEP` apart."""
STEP = 2**8


def appended(seq: int, count: int) -> int:
    """Return the position of the `count`-th item that event `seq` appends: behind everything earlier."""
    return seq * SPACE + count * STEP


def placed(order: Sequence[str], known: Mapping[str, int], moved: Set[str], seq: int) -> dict[str, int | None]:
    """Return the positions that change so that sorting by position gives `order`.

    Moved items get numbers between their neighbours. Where there is no room left, all get new ones, evenly
    spread below what the next event will append.
    """
    positions: dict[str, int | None] = dict.fromkeys(moved)
    fixed = [(index, known[item_id]) for index, item_id in enumerate(order) if item_id not in moved]
    bounds = [
        (-1, min((value for _, value in fixed), default=0) - SPACE),
        *fixed,
        (len(order), appended(seq, 0) + SPACE),
    ]
    for (left, low), (right, high) in pairwise(bounds):
        count = right - left - 1
        if count and high - low <= count:
            return _spread(order, moved, seq)
        for offset in range(count):
            positions[order[left + 1 + offset]] = low + (high - low) * (offset + 1) // (count + 1)
    return positions


def _spread(order: Sequence[str], moved: Set[str], seq: int) -> dict[str, int | None]:
    hidden: dict[str, int | None] = dict.fromkeys(moved)
    room = appended(seq, 0) // (len(order) + 1)
    return hidden | {item_id: (index + 1) * room for index, item_id in enumerate(order)}

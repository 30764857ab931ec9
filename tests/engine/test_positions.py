"""Places in the order: whatever moves, sorting by position gives the order, and only what moved is written."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.core.state import Placement
from sessions_app.models import StoredItem, StoredSession
from sessions_app.positions import appended, placed


class Ledger:
    """An order kept as positions, as rows keep it."""

    def __init__(self) -> None:
        self.positions: dict[str, int | None] = {}
        self.order: list[str] = []
        self.seq = 0

    def change(self, placements: list[Placement]) -> int:
        """Change the order by one event and return how many positions were written."""
        self.seq += 1
        known = {item_id: position for item_id, position in self.positions.items() if position is not None}
        for placement in placements:
            placement.apply(self.order)
        changed = placed(self.order, known, {placement.id for placement in placements}, self.seq)
        self.positions |= changed
        visible = {item_id: position for item_id, position in self.positions.items() if position is not None}
        assert sorted(visible, key=visible.__getitem__) == self.order
        assert len(set(visible.values())) == len(visible)
        assert all(abs(position) < 2**63 for position in visible.values())
        return len(changed)


moves = st.tuples(st.integers(0, 30), st.integers(-1, 30), st.booleans())


@given(st.lists(st.lists(moves, min_size=1, max_size=5), max_size=60))
def test_any_moves_keep_the_order(events: list[list[tuple[int, int, bool]]]) -> None:
    ledger = Ledger()
    for event in events:
        placements = []
        order = list(ledger.order)
        for item, after, hidden in event:
            beside = str(after) if str(after) in order and after != item else ""
            placement = Placement(str(item), beside, hidden)
            placement.apply(order)
            placements.append(placement)
        ledger.change(placements)


def test_the_same_gap_filled_again_and_again() -> None:
    """Each lands behind the first: the gap halves until there is no room and all are spread anew, now and then."""
    ledger = Ledger()
    ledger.change([Placement("first", ""), Placement("last", "first")])
    written = [ledger.change([Placement(f"{number}", "first")]) for number in range(300)]
    assert max(written) > 1
    assert sum(written) / len(written) < 40


def test_the_head_taken_again_and_again_costs_one_row_each() -> None:
    ledger = Ledger()
    assert [ledger.change([Placement(f"{number}", "")]) for number in range(300)] == [1] * 300


def test_what_is_appended_stands_behind_everything() -> None:
    ledger = Ledger()
    for seq in count(1):
        ledger.change([Placement(f"{seq}", random.Random(seq).choice(["", *ledger.order]))])
        assert appended(seq + 1, 0) > max(position or 0 for position in ledger.positions.values())
        if seq == 200:
            break


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_rows_keep_the_order_a_handler_sets(counter: StoredSession, ann: Sender) -> None:
    chance = random.Random(1)
    engine.dispatch_event(counter, "t-filled", {"count": 12}, sender=ann)
    everything = [f"2_{number}" for number in range(12)]
    for _ in range(40):
        order = chance.sample(everything, chance.randint(1, len(everything)))
        assert engine.dispatch_event(counter, "t-arranged", {"order": order}, sender=ann).status == "applied"
        assert stored_order(counter) == order
    engine.dispatch_event(counter, "t-arranged", {"order": everything, "deleted": ["2_3"]}, sender=ann)
    assert stored_order(counter) == order  # "2_3" is gone and cannot be in an order, so nothing was changed.
    engine.dispatch_event(counter, "t-arranged", {"deleted": ["2_3"]}, sender=ann)
    engine.dispatch_event(counter, "t-filled", {"count": 2}, sender=ann)
    assert stored_order(counter)[-2:] == ["45_0", "45_1"]


def stored_order(session: StoredSession) -> list[Any]:
    visible = StoredItem.objects.filter(session=session, position__isnull=False)
    return list(visible.order_by("position", "pk").values_list("item_id", flat=True))

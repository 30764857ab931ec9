"""The machine under histories nobody thought of: `checked.py` says what must hold after every event.

Hypothesis finds and shrinks short histories; a plain random generator plays long ones, from seeds that a failure
names. The thorough run (`-m full`) plays on until it has seen 100,000 events; MACHINE_SEED makes it another hundred
thousand.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.core.play import ACTIONS, Player, play_at_random

EVENTS_OF_A_FULL_RUN = 100_000
ORDINARY = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
THOROUGH = settings(ORDINARY, max_examples=1500, stateful_step_count=80, derandomize=False)


class Machine(RuleBasedStateMachine):
    """Plays a session with choices that Hypothesis draws."""

    def __init__(self) -> None:
        super().__init__()
        self.player: Player | None = None

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.player = Player(drawn_from(data))

    def teardown(self) -> None:
        if self.player is not None:
            self.player.come_to_rest()
            self.player.go_on_after_rest()
            self.player.replay()


def drawn_from(data: st.DataObject) -> Any:
    return lambda below: data.draw(st.integers(0, below - 1))


def _rule_for(name: str) -> Any:
    def play(self: Machine, data: st.DataObject) -> None:
        assert self.player is not None
        self.player.number = drawn_from(data)
        self.player.play(name)

    play.__name__ = name
    return rule(data=st.data())(play)


for _name in ACTIONS:
    setattr(Machine, _name, _rule_for(_name))


def test_every_promise_holds_in_histories_that_hypothesis_makes_up() -> None:
    run_state_machine_as_test(Machine, settings=ORDINARY)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.fault("B19", "B20", "B21")
def test_every_promise_holds_in_a_random_history(seed: int) -> None:
    play_at_random(seed, 150)


@pytest.mark.full
def test_every_promise_holds_in_many_histories_that_hypothesis_makes_up() -> None:
    run_state_machine_as_test(Machine, settings=THOROUGH)


@pytest.mark.full
def test_every_promise_holds_over_a_hundred_thousand_events() -> None:
    base = int(os.environ.get("MACHINE_SEED", "1")) * 1_000_000
    print(f"MACHINE_SEED={base // 1_000_000}")
    events: Counter[str] = Counter()
    seed = base
    while events.total() < EVENTS_OF_A_FULL_RUN:
        player = play_at_random(seed, 60 + seed % 240)
        events.update(transition.event.type for transition in player.session.log)
        seed += 1
    print(f"{events.total()} events in {seed - base} sessions: {events.most_common()}")
    assert len(events) > 20

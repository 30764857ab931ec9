"""Stored deltas: pointers to the payload, and that they always come back as what they were."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.canonical import canonical
from sessions_app.core.memory import Memory
from sessions_app.core.messages import Message
from sessions_app.core.operations import (
    POINTER_LENGTH,
    EffectFinished,
    EffectStarted,
    ItemChanged,
    ItemClosed,
    ItemCreated,
    ItemDeleted,
    ItemMoved,
    Operation,
    Render,
    SessionChanged,
    StateChanged,
    dump_delta,
    load_delta,
)
from sessions_app.sdk import EventResult
from sessions_app.testing import AgentHarness
from tests.core.checked import lab
from tests.core.lab import Answer, Pin, Question
from tests.core.sloppy import RESULTS, Sloppy, SloppyAgent, SloppyState, holding
from tests.strategies import json_objects, storable_texts, unhurried

IDS = st.integers(1, 99).map(lambda number: f"{number}_0")


def renders() -> st.SearchStrategy[Render]:
    messages = st.lists(storable_texts().map(Message.user), max_size=2).map(tuple)
    return st.builds(Render, status=st.sampled_from(["pending", "ready"]), label=storable_texts(), messages=messages)


def operations(objects: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Operation]:
    texts = storable_texts()
    return st.one_of(
        st.builds(SessionChanged, set=st.fixed_dictionaries({"title": texts, "owed_seq": st.integers(0, 99)})),
        st.builds(StateChanged, set=objects),
        st.builds(ItemCreated, id=IDS, type=texts, data=objects, render=renders(), after=st.none() | st.just("") | IDS),
        st.builds(
            ItemChanged, id=IDS, set=objects, render=st.none() | renders(), answers=st.none() | st.integers(0, 9)
        ),
        st.builds(ItemClosed, id=IDS, closed=texts, reason=texts),
        st.builds(ItemDeleted, id=IDS),
        st.builds(ItemMoved, id=IDS, after=st.just("") | IDS, hidden=st.booleans()),
        st.builds(EffectStarted, id=IDS, type=texts, payload=objects, policy=objects, owner=st.just("") | IDS),
        st.builds(EffectFinished, id=IDS, outcome=texts, message=texts),
    )


def through_storage(found: list[Operation], payload: Any) -> tuple[Operation, ...]:
    """Return operations as a database gives them back."""
    stored = canonical(dump_delta(found, payload))
    return load_delta(json.loads(stored), json.loads(canonical(payload)))


@unhurried
@given(st.data())
def test_a_delta_comes_back_as_it_was(data: st.DataObject) -> None:
    payload = data.draw(json_objects())
    shared = st.just(payload) | json_objects() | st.just({"copy": payload, "also": [payload]})
    found = data.draw(st.lists(operations(shared), max_size=4))
    back = through_storage(found, payload)
    assert canonical(dump_delta(back, None)) == canonical(dump_delta(found, None))


HOSTILE = "x" * POINTER_LENGTH


@pytest.mark.parametrize(
    "payload",
    [
        {"$payload": ["$payload"]},
        {"$payload": [HOSTILE]},
        {"$literal": {"$payload": ["a"]}},
        {"$literal": {"$literal": {"$payload": []}}},
        {"$payload": ["a"], "a": HOSTILE},
        {"a": {"$payload": ["a"]}, "b": HOSTILE},
        {"$payload": HOSTILE, "$literal": HOSTILE},
        {"a": [HOSTILE, {"$payload": ["a", 0], HOSTILE: HOSTILE}]},
        {"a": {"$literal": "text"}},
    ],
)
def test_a_payload_that_looks_like_a_pointer_is_only_data(payload: dict[str, Any]) -> None:
    found: list[Operation] = [StateChanged(set=payload), ItemChanged(id="1_0", set={"copy": payload})]
    assert through_storage(found, payload) == tuple(found)


@pytest.mark.fault("B36")
def test_a_long_text_of_the_payload_is_stored_once() -> None:
    long = "words " * 1000
    session = lab()
    session.say(long)
    session.dispatch(Pin(text="Really?"))
    session.dispatch(Answer(text=long), session.item(Question).id)
    for transition in session.log:
        delta = canonical(dump_delta(transition.operations, transition.event.payload))
        assert long not in delta or transition.event.type == "lab-answer"
    message = next(t for t in session.log if t.event.type == "@platform/user-message")
    assert len(canonical(dump_delta(message.operations, message.event.payload))) < 1000


def test_what_a_default_says_is_not_stored() -> None:
    assert dump_delta([ItemMoved(id="1_0"), ItemClosed(id="1_0", closed="skipped")], {}) == [
        {"op": "item-moved", "id": "1_0"},
        {"op": "item-closed", "id": "1_0", "closed": "skipped"},
    ]


@pytest.mark.fault("B36")
def test_a_delta_grows_with_what_changed_and_not_with_the_session() -> None:
    session = lab()
    sizes = []
    for number in range(60):
        session.dispatch(Pin(text=f"note {number:03}"))
        last = session.log[-1]
        sizes.append(len(canonical(dump_delta(last.operations, last.event.payload))))
    assert max(sizes) - min(sizes) < 20


def test_a_delta_can_be_applied_without_any_agent_code() -> None:
    memory = Memory()
    unknown: list[Operation] = [
        ItemCreated(id="1_0", type="of-another-program", data={"a": 1}, render=Render(status="pending")),
        ItemChanged(id="1_0", set={"b": 2}, render=Render(status="ready")),
        EffectStarted(id="1_1", type="elsewhere", payload={}, policy={}, owner="1_0"),
        EffectFinished(id="1_1", outcome="done"),
    ]
    memory.fold(unknown)
    assert memory.items["1_0"].data == {"a": 1, "b": 2}
    assert memory.effects["1_1"].outcome == "done"
    assert memory.order() == ["1_0"]


def test_numbers_that_python_calls_equal_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    session = AgentHarness(SloppyAgent, mistakes="keep")
    for value in (1, 1.0, True, {"a": 1, "b": 2}):
        monkeypatch.setitem(RESULTS, "value", partial(_holding, value))
        transition = session.dispatch(Sloppy(kind="value"))
        assert transition.operations == (StateChanged(set={"anything": {"here": value}}),)
        assert canonical(session.memory.agent_state["anything"]) == canonical({"here": value})
        assert session.dispatch(Sloppy(kind="value")).operations == ()
    monkeypatch.setitem(RESULTS, "value", partial(_holding, {"b": 2, "a": 1}))
    assert session.dispatch(Sloppy(kind="value")).operations == ()


def _holding(value: Any, state: SloppyState) -> EventResult:
    return holding(state, value)

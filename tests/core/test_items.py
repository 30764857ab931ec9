"""Context items: order, hiding, deletion, closing, answers, and what a person can do about trouble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.data import load
from sessions_app.core.event_log import Incoming
from sessions_app.core.memory import Memory
from sessions_app.core.operations import ItemChanged, ItemMoved, Render
from sessions_app.core.platform import GenerateResponse, Skip, TryAgain, UserMessage
from sessions_app.core.reducer import reduce_event
from sessions_app.core.state import Draft, ItemRecord
from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItem,
    ContextItemEvent,
    EffectEnded,
    EventRejected,
    EventResult,
    ItemResult,
    Message,
    RenderResult,
    SessionEvent,
    SessionResult,
    SessionState,
    add_context_item,
    delete_context_item,
    dispatch_to_context_item,
    set_context_item_order,
)
from sessions_app.testing import PERSON, AgentHarness, tool_calls
from tests.core.checked import MOST_LOADS, CheckedHarness, lab, reduce_partly
from tests.core.lab import (
    Answer,
    AskTool,
    Batch,
    Card,
    Found,
    Hide,
    Move,
    Pin,
    Poke,
    Progress,
    Question,
    Remove,
    RunSearch,
    Search,
    Show,
    Survey,
)
from tests.strategies import unhurried


def pinned(count: int = 3) -> CheckedHarness:
    """Return a session with cards named by their place."""
    session = lab()
    for number in range(count):
        session.dispatch(Pin(text=str(number)))
    return session


def shown(session: CheckedHarness) -> str:
    """Return the texts of the cards in order."""
    return "".join(str(session.memory.items[item_id].data["text"]) for item_id in session.memory.order())


# --- order


def test_a_hidden_item_leaves_the_requests_and_stays_in_the_session() -> None:
    session = pinned()
    second = session.memory.order()[1]
    session.dispatch(Hide(item_id=second))
    assert shown(session) == "02"
    assert all(": 1" not in message.text for message in session.messages())
    assert len(session.items(Card)) == 3
    session.dispatch(Show(item_id=second, place=2))
    assert shown(session) == "021"


@pytest.mark.fault("B44")
def test_a_hidden_item_takes_events_and_its_place_does_not_change() -> None:
    session = pinned()
    second = session.memory.order()[1]
    session.dispatch(Hide(item_id=second))
    assert session.dispatch(Poke(item_ids=[second], text="x")).status == "applied"
    assert session.memory.items[second].data["text"] == "x"
    assert shown(session) == "02"


def test_hiding_an_assistant_message_hides_its_calls_and_results() -> None:
    session = lab(tool_calls(AskTool(question="?")), "Good.")
    session.say("Go")
    session.run(GenerateResponse)
    session.run(AskTool)
    session.dispatch(Answer(text="yes"), session.item(Question).id)
    session.run_all()
    reply = session.memory.order()[1]
    session.dispatch(Hide(item_id=reply))
    assert [part.type for message in session.messages() for part in message.parts] == ["text", "text", "text"]
    session.dispatch(Show(item_id=reply, place=1))
    assert [part.type for message in session.messages() for part in message.parts][1:3] == ["tool_call", "tool_result"]


def test_moving_one_item_is_one_operation() -> None:
    session = pinned(8)
    order = session.memory.order()
    moved = session.dispatch(Move(item_id=order[6], place=1))
    assert moved.operations == (ItemMoved(id=order[6], after=order[0]),)
    moved = session.dispatch(Move(item_id=order[0], place=7))
    assert len(moved.operations) == 1
    assert session.dispatch(Move(item_id=order[3], place=session.memory.order().index(order[3]))).operations == ()


class Arrange(SessionEvent, type="arrange"):
    order: list[str]


class ArrangingAgent(Agent[AgentState, Arrange], name="arranging"):
    """Has twelve cards, and arranges them as it is told."""

    def create_session(self, args: Any) -> SessionResult[AgentState]:
        return SessionResult(AgentState(), context_items=[Card(text=str(number)) for number in range(12)])

    def handle_event(self, state: SessionState[AgentState], event: Arrange) -> EventResult:
        return EventResult([set_context_item_order(event.order)])


CARDS = [f"1_{number}" for number in range(12)]


@unhurried
@given(st.lists(st.permutations(CARDS), max_size=3), st.lists(st.sampled_from(CARDS), unique=True))
def test_any_order_comes_about_with_the_fewest_moves(before: Sequence[list[str]], wanted: list[str]) -> None:
    session = AgentHarness(ArrangingAgent, mistakes="keep")
    for order in before:
        session.dispatch(Arrange(order=order))
    current = session.memory.order()
    transition = session.dispatch(Arrange(order=wanted))
    assert session.memory.order() == wanted
    moves = [op for op in transition.operations if isinstance(op, ItemMoved) and not op.hidden]
    assert len(moves) == len(wanted) - _longest_common([i for i in current if i in wanted], wanted)
    session.dispatch(Arrange(order=current))
    assert session.memory.order() == current


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    best = [0] * (len(second) + 1)
    for one in first:
        previous = best[:]
        for place, other in enumerate(second):
            best[place + 1] = previous[place] + 1 if one == other else max(previous[place + 1], best[place])
    return best[-1]


@pytest.mark.parametrize("order", [["1_0", "1_0"], ["1_0", "9_9"], ["nonsense"], [""]])
def test_an_order_with_a_doubled_or_unknown_id_changes_nothing(order: list[str]) -> None:
    session = AgentHarness(ArrangingAgent, mistakes="keep")
    transition = session.dispatch(Arrange(order=order))
    assert transition.status == "failed"
    assert "HandlerError" in transition.reason
    assert session.memory.order() == CARDS


def test_a_nested_item_has_no_place_in_the_order() -> None:
    session = lab(tool_calls(AskTool(question="?")))
    session.say("Go")
    session.run(GenerateResponse)
    session.run(AskTool)
    failed = session.dispatch(Show(item_id=session.item(Question).id))
    assert failed.status == "failed"
    assert "hangs under a tool call" in failed.reason


def test_hiding_many_items_reads_none_of_them() -> None:
    session = AgentHarness(ArrangingAgent, mistakes="keep")
    incoming = Incoming("arrange", {"order": []}, PERSON, session.now)
    assert len(CARDS) > MOST_LOADS
    assert reduce_partly(session.agent, session.memory, incoming) == reduce_event(
        session.agent, session.memory, incoming
    )


def test_an_item_can_be_added_before_and_after_another() -> None:
    session = pinned()
    first, second, third = session.memory.order()
    session.dispatch(Pin(text="b", before=first))
    session.dispatch(Pin(text="a", after=third))
    session.dispatch(Pin(text="m", before=second))
    assert shown(session) == "b0m12a"


@pytest.mark.parametrize("beside", ["9_9", ""])
def test_an_item_cannot_be_added_beside_one_that_is_not_there(beside: str) -> None:
    session = pinned()
    assert session.dispatch(Pin(text="x", before=beside)).status == "failed"
    assert session.dispatch(Pin(text="x", after=beside)).status == "failed"
    hidden = session.memory.order()[1]
    session.dispatch(Hide(item_id=hidden))
    assert session.dispatch(Pin(text="x", after=hidden)).status == "failed"
    assert shown(session) == "02"


def test_items_are_numbered_by_event_and_know_their_ids() -> None:
    session = pinned(1)
    (card,) = session.items(Card)
    assert card.id == "2_0"
    assert session.messages()[0].text == "2_0: 0"
    assert "id" not in session.memory.items["2_0"].data


def test_a_deleted_item_is_gone_and_its_effects_are_cancelled() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    (effect,) = session.effects
    session.dispatch(Remove(item_id=search))
    assert session.memory.items == {}
    assert session.memory.effects[effect.id].outcome == "cancelled"
    assert session.send_from(effect, Found(text="late")).status == "dropped"
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Skip(), search)
    assert refused.value.code == "not_found"


# --- all or nothing


class Mixed(SessionEvent, type="mixed"):
    fail: bool


class MixingAgent(Agent[AgentState, Mixed], name="mixing"):
    """Makes two good updates and a third that may be wrong."""

    def create_session(self, args: Any) -> SessionResult[AgentState]:
        return SessionResult(AgentState(), context_items=[Card(text="first")])

    def handle_event(self, state: SessionState[AgentState], event: Mixed) -> EventResult:
        added = [add_context_item(Card(text="a")), add_context_item(Search.create("tea"))]
        wrong = [delete_context_item("9_9")] if event.fail else [delete_context_item(state.context_item_order[0])]
        return EventResult([*added, *wrong])


def test_what_a_handler_asks_for_applies_whole_or_not_at_all() -> None:
    session = AgentHarness(MixingAgent, mistakes="keep")
    failed = session.dispatch(Mixed(fail=True))
    assert (failed.status, failed.operations) == ("failed", ())
    assert list(session.memory.items) == ["1_0"]
    assert session.effects == []
    session.dispatch(Mixed(fail=False))
    assert list(session.memory.items) == ["3_0", "3_1"]


# --- effects of top-level items


def test_a_failed_top_level_item_stays_and_can_be_tried_again() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    first = session.effects[0]
    session.end(RunSearch, "failed", "No network.")
    record = session.memory.items[search]
    assert (record.open, record.reason) == (True, "No network.")
    session.dispatch(TryAgain(), search)
    assert session.memory.items[search].reason == ""
    (second,) = session.effects
    assert (second.payload, second.policy, second.owner) == (first.payload, first.policy, first.owner)
    with pytest.raises(EventRejected):
        session.dispatch(TryAgain(), search)
    session.end(RunSearch, "done", event=Found(text="green"))
    assert session.memory.open_items() == []


def test_what_went_wrong_is_forgotten_once_the_item_moves_on() -> None:
    session = lab(topics=["tea"])
    session.dispatch(Pin(text="survey"))
    for effect in session.effects:
        session.end(effect, "failed", "No network.")
    search, survey = session.memory.order()
    assert {session.memory.items[item_id].reason for item_id in (search, survey)} == {"No network."}
    session.dispatch(Poke(item_ids=[search], text="found after all"))
    session.dispatch(Answer(text="five"), survey)
    assert {session.memory.items[item_id].reason for item_id in (search, survey)} == {""}


def test_a_failed_top_level_item_can_be_skipped() -> None:
    session = lab("Without tea.", topics=["tea"])
    session.say("Hi")
    session.end(RunSearch)
    session.dispatch(Skip(), session.memory.order()[0])
    assert session.request().request.messages[0].text == "(lab search: skipped. Skipped by Test person.)\n\nHi"


def test_an_outcome_without_words_still_says_something() -> None:
    session = lab(topics=["tea"])
    session.end(RunSearch, "timed out")
    assert session.memory.items[session.memory.order()[0]].reason == "It ended as timed out."


def test_an_item_whose_effect_was_cancelled_is_closed() -> None:
    session = lab(topics=["tea"])
    session.end(RunSearch, "cancelled", "The operator ended it.")
    record = session.memory.items[session.memory.order()[0]]
    assert (record.closed, record.reason) == ("cancelled", "The operator ended it.")


def test_an_effect_whose_returned_event_cannot_be_handled_has_failed() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    session.end(RunSearch, "done", event=Found(text="boom"))
    assert session.log[-1].status == "failed"
    record = session.memory.items[search]
    assert record.open
    assert record.reason == f"Its event {session.log[-1].seq} could not be handled."
    session.dispatch(TryAgain(), search)
    session.end(RunSearch, "done", event=Found(text="green"))
    assert session.memory.open_items() == []


def test_an_item_that_ended_without_a_result_can_be_tried_again() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    session.end(RunSearch, "done")
    assert session.memory.items[search].closed == "failed"
    session.dispatch(TryAgain(), search)
    assert session.memory.items[search].open
    assert len(session.effects) == 1


def test_there_is_nothing_to_try_again_where_nothing_failed() -> None:
    session = lab(topics=["tea"])
    session.end(RunSearch, "done", event=Found(text="green"))
    session.dispatch(Pin(text="note"))
    for item_id in session.memory.order():
        with pytest.raises(EventRejected) as refused:
            session.dispatch(TryAgain(), item_id)
        assert refused.value.code == "conflict"
        with pytest.raises(EventRejected) as refused:
            session.dispatch(Skip(), item_id)
        assert refused.value.code == "conflict"


def test_a_stopped_item_cannot_be_tried_again() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    session.stop()
    with pytest.raises(EventRejected):
        session.dispatch(TryAgain(), search)


def test_an_item_can_react_to_the_end_of_its_effect() -> None:
    session = lab(topics=["hook", "hook-again", "hook-boom"])
    hook, again, boom = session.memory.order()
    for effect in session.effects:
        session.end(effect, "timed out", "Too slow.")
    assert session.memory.items[hook].data["found"] == "(nothing: timed out)"
    assert session.memory.items[again].data["topic"] == "second"
    assert [effect.payload for effect in session.effects] == [{"topic": "second"}]
    assert session.memory.items[boom].reason == "Too slow."


def test_a_closed_item_is_not_told_of_its_effects_end() -> None:
    session = lab(topics=["hook"])
    (search,) = session.memory.order()
    session.send_from(session.effects[0], Found(text="unprintable"))
    assert session.memory.items[search].closed == "failed"
    session.end(RunSearch)
    assert session.memory.items[search].data["found"] == "unprintable"


def test_a_hook_that_raises_leaves_the_outcome_as_it_is() -> None:
    session = lab(topics=["hook-boom"])
    (effect,) = session.effects
    ended = session.end(effect, "failed", "No network.")
    assert ended.status == "applied"
    assert session.memory.effects[effect.id].outcome == "failed"
    assert session.memory.items[session.memory.order()[0]].open


# --- answers


@pytest.mark.fault("B21", "B37")
def test_of_two_answers_with_the_same_form_the_first_counts() -> None:
    session = lab()
    session.dispatch(Pin(text="Really?"))
    question = session.item(Question)
    session.dispatch(Answer(text="yes"), question.id, answers_seen=0)
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Answer(text="no"), question.id, answers_seen=0)
    assert refused.value.code == "conflict"
    assert session.item(Question).answer == "yes"
    assert session.memory.items[question.id].answers == 1


@pytest.mark.fault("B37")
def test_a_question_that_was_answered_takes_no_other_answer() -> None:
    session = lab()
    session.dispatch(Pin(text="Really?"))
    question = session.item(Question)
    session.dispatch(Answer(text="yes"), question.id)
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Answer(text="no"), question.id)
    assert (refused.value.code, refused.value.details["item_id"]) == ("conflict", question.id)
    assert session.item(Question).answer == "yes"


def test_an_effect_cannot_change_an_item_that_was_closed_under_it() -> None:
    session = lab(topics=["tea"])
    (effect,) = session.effects
    session.send_from(effect, Found(text="unprintable"))
    late = session.send_from(effect, Progress(done=3))
    assert (late.status, late.reason) == ("dropped", "Item 1_0: This was closed before (failed).")


def test_an_item_that_takes_answers_when_ready_takes_them_one_after_the_other() -> None:
    session = lab()
    session.dispatch(Pin(text="survey"))
    survey = session.item(Survey)
    session.dispatch(Answer(text="a"), survey.id, answers_seen=0)
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Answer(text="b"), survey.id, answers_seen=0)
    assert refused.value.code == "conflict"
    session.dispatch(Answer(text="b"), survey.id, answers_seen=1)
    session.dispatch(Answer(text="c"), survey.id)
    assert session.item(Survey).answers == ["a", "b", "c"]


@pytest.mark.fault("B74")
def test_an_answer_whose_handler_fails_leaves_the_question_open() -> None:
    session = lab()
    session.dispatch(Pin(text="Really?"))
    question = session.item(Question)
    assert session.dispatch(Answer(text="boom"), question.id, answers_seen=0).status == "failed"
    assert session.memory.items[question.id].answers == 0
    assert session.dispatch(Answer(text="yes"), question.id, answers_seen=0).status == "applied"


def test_progress_from_an_effect_does_not_outdate_a_form() -> None:
    session = lab()
    session.dispatch(Pin(text="survey"))
    session.send_from(session.effects[0], Progress(done=1))
    assert session.dispatch(Answer(text="a"), session.item(Survey).id, answers_seen=0).status == "applied"


# --- events sent by a session handler


def test_a_handlers_events_to_items_happen_inside_its_own_event() -> None:
    session = pinned()
    first, second, _ = session.memory.order()
    transition = session.dispatch(Poke(item_ids=[first, second], text="x"))
    assert len(session.log) == transition.seq
    assert {op.id for op in transition.operations if isinstance(op, ItemChanged)} == {first, second}
    assert shown(session) == "xx2"


def test_a_handlers_event_that_fails_undoes_the_whole_event() -> None:
    session = pinned()
    order = session.memory.order()
    transition = session.dispatch(Poke(item_ids=[order[0], "9_9"], text="x"))
    assert transition.status == "failed"
    assert shown(session) == "012"


def test_an_event_from_a_handler_carries_the_time_and_number_of_the_event_that_caused_it() -> None:
    session = AgentHarness(NotingAgent)
    transition = session.dispatch(Pass(item_id="1_0"))
    assert transition.status == "applied", transition.reason
    assert session.item(Note).text == f"2 at {session.now.isoformat()} from handler"


class Noted(ContextItemEvent, type="noted", private=True):
    """Something to note."""


class Note(ContextItem[Noted], type="note"):
    text: str = ""

    def handle_event(self, event: Noted) -> ItemResult[Note]:
        text = f"{event.id} at {event.time.isoformat()} from {event.sender.kind}"
        return ItemResult(self.evolve(text=text))

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.text))


class Pass(SessionEvent, type="pass"):
    item_id: str


class NotingAgent(Agent[AgentState, Pass], name="noting"):
    def create_session(self, args: Any) -> SessionResult[AgentState]:
        return SessionResult(AgentState(), context_items=[Note()])

    def handle_event(self, state: SessionState[AgentState], event: Pass) -> EventResult:
        return EventResult([dispatch_to_context_item(event.item_id, Noted())])


# --- stored items


def test_titles_come_from_the_first_message_and_from_the_agent() -> None:
    session = lab("Hello.")
    session.say("  What is the   weather like?\nAnd tomorrow?" + "x" * 100)
    assert session.memory.session.title.startswith("What is the weather like? And tomorrow?xx")
    assert len(session.memory.session.title) == 60
    session.say("Another")
    assert session.memory.session.title.startswith("What is")


def test_an_old_item_is_read_by_new_code_and_keeps_what_the_code_does_not_know() -> None:
    session = pinned(1)
    (card,) = session.memory.items.values()
    newer = {**card.data, "colour": "red", "more": {"deep": [1, {"x": None}]}}
    session.memory.items[card.id] = session.stored.items[card.id] = _with_data(card, newer)
    session.dispatch(Poke(item_ids=[card.id], text="changed"))
    data = session.memory.items[card.id].data
    assert data == {**newer, "text": "changed"}
    assert load(Card, data).text == "changed"


def _with_data(record: Any, data: dict[str, Any]) -> Any:
    return replace(record, data=data)


class Forgetful(ContextItem[Noted], type="forgetful"):
    """Returns a new item instead of a changed one."""

    text: str = ""

    def handle_event(self, event: Noted) -> ItemResult[Forgetful]:
        return ItemResult(Forgetful(text="new"))

    def handle_effect_ended(self, ended: EffectEnded) -> None:
        return None

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.text))


class ForgetfulAgent(Agent[AgentState, Pass], name="forgetful"):
    def create_session(self, args: Any) -> SessionResult[AgentState]:
        return SessionResult(AgentState(), context_items=[Forgetful()])

    handle_event = NotingAgent.handle_event


def test_also_a_handler_that_makes_a_new_item_does_not_erase_what_newer_code_wrote() -> None:
    session = AgentHarness(ForgetfulAgent)
    for memory in (session.memory, session.stored):
        memory.items["1_0"] = _with_data(memory.items["1_0"], {"text": "", "colour": "red"})
        memory.agent_state = {"newer": 1}
    session.dispatch(Pass(item_id="1_0"))
    assert session.memory.items["1_0"].data == {"text": "new", "colour": "red"}
    assert session.memory.agent_state == {"newer": 1}


def test_a_user_message_that_an_agent_adds_is_answered_too() -> None:
    session = CheckedHarness(GreetingAgent, model=["Hello."])
    assert [message.text for message in session.request().request.messages] == ["Greet the user."]
    session.run_all()
    assert session.answer == "Hello."


class GreetingAgent(Agent[AgentState], name="greeting"):
    def create_session(self, args: Any) -> SessionResult[AgentState]:
        return SessionResult(AgentState(), context_items=[UserMessage(text="Greet the user.")])


def test_an_event_may_change_move_and_delete_the_same_item() -> None:
    session = pinned()
    first, second, third = session.memory.order()
    steps = [("poke", first), ("hide", first), ("poke", second), ("hide", second), ("show", first), ("remove", third)]
    assert session.dispatch(Batch(steps=steps)).status == "applied"
    assert shown(session) == "poked"
    assert session.memory.order() == [first]
    assert [session.memory.items[item_id].visible for item_id in (first, second)] == [True, False]
    assert third not in session.memory.items
    session.dispatch(Batch(steps=[("hide", first), ("poke", first), ("show", second), ("pin", second)]))
    assert shown(session) == "firstpoked"


def test_what_is_newest_goes_by_number_and_not_by_letters() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    for _ in range(5):
        session.end(RunSearch)
        session.dispatch(TryAgain(), search)
    newest = session.memory.last_effect(search)
    assert newest is not None
    assert newest.id == "11_0"
    assert newest == Draft(session.memory).last_effect(search) == session.effects[0]
    session.dispatch(Pin(text="search milk"))
    assert [effect.id for effect in Draft(session.memory).open_effects()] == ["11_0", "12_1"]


def test_siblings_stand_by_their_place_and_then_by_age() -> None:
    memory = Memory()
    for item_id, index in (("10_0", 0), ("9_1", 0), ("2_0", 1)):
        memory.items[item_id] = ItemRecord(item_id, "x", {}, Render(status="ready"), "1_0", index)
    assert [record.id for record in memory.children("1_0")] == ["9_1", "10_0", "2_0"]
    assert Draft(memory).children("1_0") == memory.children("1_0")


def test_an_effect_may_end_without_a_word_where_a_person_can_answer() -> None:
    session = lab()
    session.dispatch(Pin(text="survey"))
    session.end(RunSearch, "done")
    (record,) = session.memory.open_items()
    assert record.reason == ""


def test_an_empty_memory_can_be_read() -> None:
    assert Memory().order() == []
    assert Memory().last_effect("1_0") is None

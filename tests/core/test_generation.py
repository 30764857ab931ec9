"""When a model is asked, what it is asked, and what comes of its answer."""

from __future__ import annotations

import pytest

from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.core.language_model import ModelResponse, Terminated, TerminationReason, Usage
from sessions_app.core.messages import TextPart, ToolCallPart
from sessions_app.core.outcomes import CUT_TRIES
from sessions_app.core.platform import AssistantMessage, GenerateResponse, ModelResponded, Retry, Skip, Stop, ToolError
from sessions_app.core.request import BEGIN_NOTE, CUT_NOTE, NotReady
from sessions_app.core.turn import REQUEST_LIMIT
from sessions_app.testing import SYSTEM, tool_calls
from tests.core.checked import CheckedHarness, lab
from tests.core.lab import (
    Answer,
    AskTool,
    CountTool,
    Hide,
    Move,
    Pin,
    PinTool,
    Poke,
    Question,
    Remove,
    RunSearch,
    Search,
    SearchTool,
    SetPrompt,
    Show,
    StartWork,
    Work,
    Worked,
)


def terminated(reason: TerminationReason, text: str = "") -> ModelResponse:
    parts = (TextPart(text=text),) if text else ()
    return ModelResponse(parts=parts, status=Terminated(reason=reason, message=f"It was {reason}."))


def waits_for_model(session: CheckedHarness) -> bool:
    return any(effect.type == GenerateResponse.type_name() for effect in session.effects)


def was_stopped(session: CheckedHarness) -> bool:
    return session.memory.session.stopped


def texts(session: CheckedHarness) -> list[str]:
    return [message.text for message in session.messages()]


# --- an answer is owed


def test_a_message_is_answered_by_one_request() -> None:
    session = lab("Hello.")
    session.say("Hi")
    assert len(session.effects) == 1
    session.run(GenerateResponse)
    assert session.answer == "Hello."
    assert session.effects == []
    assert not session.memory.session.owes_answer


def test_owed_and_answered_are_event_numbers() -> None:
    session = lab("Hello.")
    session.say("Hi")
    assert (session.memory.session.owed_seq, session.memory.session.answered_seq) == (2, 0)
    session.run(GenerateResponse)
    assert (session.memory.session.owed_seq, session.memory.session.answered_seq) == (2, 2)


def test_an_item_asks_for_an_answer_only_if_added_so() -> None:
    session = lab()
    session.dispatch(Pin(text="a note"))
    assert not waits_for_model(session)
    session.dispatch(Pin(text="another", generate=True))
    assert waits_for_model(session)


def test_an_item_that_asks_for_an_answer_is_answered_once_it_is_ready() -> None:
    session = lab("Found it.")
    session.dispatch(Pin(text="search tea", generate=True))
    assert not waits_for_model(session)
    session.run_all()
    assert session.answer == "Found it."


def test_hiding_restoring_moving_and_deleting_owe_nothing() -> None:
    session = lab("One.", "Two.")
    session.dispatch(Pin(text="a note"))
    session.say("Hi")
    session.run_all()
    first, *_, last = session.memory.order()
    for event in (
        Hide(item_id=first),
        Show(item_id=first, place=2),
        Move(item_id=last, place=0),
        Remove(item_id=first),
    ):
        assert session.dispatch(event).status == "applied"
        assert session.effects == []


def test_an_answer_that_is_owed_stays_owed_whatever_is_reordered() -> None:
    session = lab(topics=["tea"])
    session.say("Hi")
    search, message = session.memory.order()
    session.dispatch(Move(item_id=message, place=0))
    session.dispatch(Hide(item_id=message))
    assert session.memory.session.owes_answer
    session.dispatch(Skip(), search)
    assert waits_for_model(session)


def test_a_request_waits_for_every_visible_pending_item_and_for_no_hidden_one() -> None:
    session = lab(topics=["tea", "milk"])
    session.say("Hi")
    first, second, _ = session.memory.order()
    session.dispatch(Hide(item_id=first))
    assert not waits_for_model(session)
    session.dispatch(Hide(item_id=second))
    assert waits_for_model(session)


def test_a_restored_pending_item_gates_again() -> None:
    session = lab(topics=["tea"])
    (search,) = session.memory.order()
    session.dispatch(Hide(item_id=search))
    session.dispatch(Show(item_id=search))
    session.say("Hi")
    assert not waits_for_model(session)


# --- a message while something is under way


@pytest.mark.fault("B18", "B19")
def test_a_message_while_a_question_is_open_comes_after_the_answer_in_one_request() -> None:
    session = lab(tool_calls(AskTool(question="Which?")), "Good.")
    session.say("Help me choose")
    session.run(GenerateResponse)
    session.run(AskTool)
    question = session.item(Question)
    for number in range(10):
        session.say(f"message {number}")
    assert session.effects == []
    session.dispatch(Answer(text="The first"), question.id)
    assert len(session.effects) == 1
    last = session.request().request.messages[-1]
    assert last.parts[0].type == "tool_result"
    assert [part.text for part in last.parts if part.type == "text"] == [f"message {number}" for number in range(10)]


def test_a_message_while_a_reply_is_written_is_answered_by_the_next_request() -> None:
    session = lab("First.", "Second.")
    session.say("one")
    session.say("two")
    session.say("three")
    assert [message.text for message in session.request().request.messages] == ["one"]
    session.run(GenerateResponse)
    assert [message.text for message in session.request().request.messages] == ["one", "First.", "two\n\nthree"]
    session.run_all()
    assert session.answer == "Second."
    assert session.effects == []


def test_the_reply_being_written_cannot_be_hidden_nor_anything_moved_past_it() -> None:
    session = lab()
    session.say("one")
    session.say("two")
    one, reply, two = session.memory.order()
    for event in (
        Hide(item_id=reply),
        Move(item_id=reply, place=2),
        Move(item_id=two, place=0),
        Move(item_id=one, place=2),
    ):
        failed = session.dispatch(event)
        assert failed.status == "failed"
        assert "reply that is being written" in failed.reason
    assert session.dispatch(Hide(item_id=one)).status == "applied"
    assert session.dispatch(Show(item_id=one)).status == "applied"


def test_deleting_the_reply_being_written_asks_anew() -> None:
    session = lab("Late.")
    session.say("one")
    (effect,) = session.effects
    session.dispatch(Remove(item_id=effect.owner))
    assert len(session.effects) == 1
    assert session.effects[0].id != effect.id
    late = ModelResponded(effect_id=effect.id, response=ModelResponse(parts=(TextPart(text="Too late."),)))
    assert session.dispatch(late, sender=SYSTEM).status == "dropped"


def test_an_item_that_becomes_pending_again_makes_a_request_wait() -> None:
    session = lab("Now.")
    session.dispatch(Pin(text="a card"))
    card = session.memory.order()[0]
    session.say("Hi")
    session.dispatch(Poke(item_ids=[card], text="wait"))
    with pytest.raises(NotReady):
        session.request()
    session.run(GenerateResponse)
    assert session.effects == []
    assert session.items(AssistantMessage) == []
    session.dispatch(Poke(item_ids=[card], text="done"))
    session.run_all()
    assert session.answer == "Now."


def test_an_item_that_is_ready_again_after_it_was_shown_owes_nothing() -> None:
    session = lab("Seen.")
    session.dispatch(Pin(text="a card"))
    session.say("Hi")
    session.run_all()
    card = session.memory.order()[0]
    session.dispatch(Poke(item_ids=[card], text="wait"))
    session.dispatch(Poke(item_ids=[card], text="done"))
    assert session.effects == []


# --- system prompt


def test_a_pending_prompt_makes_generation_wait_and_it_resumes_by_itself() -> None:
    session = lab("Hello.")
    session.dispatch(SetPrompt(prompt="pending"))
    session.say("Hi")
    assert session.effects == []
    assert session.memory.session.blocked_code == ""
    session.dispatch(SetPrompt(prompt="ready"))
    session.run_all()
    assert session.answer == "Hello."


def test_a_prompt_that_raises_blocks_visibly_and_the_message_stands() -> None:
    session = lab("Hello.")
    session.dispatch(SetPrompt(prompt="broken"))
    assert session.say("Hi").status == "applied"
    assert session.memory.session.blocked_code == "agent-error"
    assert "Boom" in session.memory.session.blocked_reason
    session.dispatch(SetPrompt(prompt="ready"))
    session.dispatch(Retry())
    session.run_all()
    assert session.answer == "Hello."


def test_the_prompt_is_evaluated_anew_for_each_request() -> None:
    session = lab("One.", "Two.")
    session.say("Hi")
    assert session.request().request.system == ["You are in a laboratory.", "Count: 0."]
    session.run_all()
    session.dispatch(StartWork(by=5))
    session.run(Work)
    session.say("And now?")
    assert session.request().request.system[1] == "Count: 5."


# --- what comes of a request


@pytest.mark.parametrize(
    "reason", ["overloaded", "rate_limited", "connection", "invalid_request", "authentication", "error"]
)
@pytest.mark.fault("B28")
def test_a_failed_request_blocks_with_its_reason_until_it_is_tried_again(reason: TerminationReason) -> None:
    session = lab(terminated(reason, "half a"), "At last.")
    session.say("Hi")
    session.run(GenerateResponse)
    assert session.items(AssistantMessage) == []
    assert (session.memory.session.blocked_code, session.memory.session.blocked_reason) == (reason, f"It was {reason}.")
    assert session.memory.session.owes_answer
    session.dispatch(Retry())
    session.run_all()
    assert session.answer == "At last."
    assert session.memory.session.blocked_code == ""


def test_a_new_message_lifts_a_block() -> None:
    session = lab(terminated("overloaded"), "Both.")
    session.say("one")
    session.run(GenerateResponse)
    session.say("two")
    assert [message.text for message in session.request().request.messages] == ["one\n\ntwo"]


def test_an_answer_lifts_a_block() -> None:
    session = lab(terminated("error"), "Go on.")
    session.say("Hi")
    session.run(GenerateResponse)
    session.dispatch(Pin(text="Really?"))
    question = session.item(Question)
    session.dispatch(Answer(text="Yes"), question.id)
    session.run_all()
    assert session.answer == "Go on."


@pytest.mark.fault("B29")
def test_a_refusal_is_not_asked_again_until_there_is_new_input() -> None:
    session = lab(terminated("refused"), "That is fine.")
    session.say("Something bad")
    session.run(GenerateResponse)
    assert session.memory.session.blocked_code == "refused"
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Retry())
    assert refused.value.code == "conflict"
    session.say("Something good")
    session.run_all()
    assert session.answer == "That is fine."


def test_there_is_nothing_to_retry_where_nothing_is_blocked() -> None:
    session = lab()
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Retry())
    assert refused.value.code == "conflict"


@pytest.mark.parametrize("parts", [(), ("",), (" \n ",), ("\u200b",), ("", "\u2060 \t")])
@pytest.mark.fault("B22", "B28")
def test_an_empty_reply_is_said_to_be_one_and_can_be_tried_again(parts: tuple[str, ...]) -> None:
    empty = ModelResponse(parts=tuple(TextPart(text=part) for part in parts))
    session = lab(empty, "Here I am.")
    session.say("Hi")
    session.run(GenerateResponse)
    assert session.memory.session.blocked_code == "empty"
    session.dispatch(Retry())
    session.run_all()
    assert session.answer == "Here I am."


@pytest.mark.fault("B27")
def test_a_cut_reply_keeps_its_text_drops_its_calls_and_the_model_is_told() -> None:
    cut = ModelResponse(
        parts=(TextPart(text="A long"), ToolCallPart(id="", name="search", arguments='{"topics": ["te')),
        status=Terminated(reason="length", message="cut"),
    )
    session = lab(cut, "story.")
    session.say("Tell me")
    session.run(GenerateResponse)
    message = session.items(AssistantMessage)[0]
    assert (message.text, message.note) == ("A long", "length")
    assert session.memory.children(message.id) == []
    assert session.request().request.messages[-1].text == CUT_NOTE
    session.run_all()
    assert session.answer == "story."
    assert session.memory.session.cuts == 0


@pytest.mark.fault("B27")
def test_a_reply_that_is_cut_again_and_again_blocks_after_the_stated_tries() -> None:
    session = lab(*[terminated("length", f"part {number}") for number in range(CUT_TRIES)], "The end.")
    session.say("Tell me")
    session.run_all()
    assert session.memory.session.blocked_code == "length"
    assert session.effects == []
    session.dispatch(Retry())
    session.run_all()
    assert session.answer == "The end."


def test_a_cut_reply_without_text_is_followed_by_the_note() -> None:
    session = lab(terminated("length"), "Short.")
    session.say("Tell me")
    session.run(GenerateResponse)
    assert [message.text for message in session.request().request.messages] == [f"Tell me\n\n{CUT_NOTE}"]


def test_a_model_request_ended_from_outside_blocks_with_the_outcome() -> None:
    session = lab("Hello.")
    session.say("Hi")
    session.end(GenerateResponse, "timed out", "It took longer than 600 s.")
    assert (session.memory.session.blocked_code, session.memory.session.request) == ("timed-out", "")
    assert session.items(AssistantMessage) == []


def test_usage_is_summed_over_a_session() -> None:
    used = ModelResponse(parts=(TextPart(text="."),), usage=Usage(input_tokens=10, output_tokens=2))
    session = lab(used, used)
    for text in ("one", "two"):
        session.say(text)
        session.run_all()
    assert (session.memory.session.input_tokens, session.memory.session.output_tokens) == (20, 4)


@pytest.mark.fault("B69")
def test_more_model_requests_than_the_limit_are_a_question_to_a_person() -> None:
    session = lab(*[tool_calls(CountTool(steps=[1]))] * 50)
    session.say("Count for ever")
    session.run_all()
    assert len(session.items(AssistantMessage)) == REQUEST_LIMIT
    assert session.memory.session.blocked_code == "request-limit"
    assert session.memory.agent_state["count"] == REQUEST_LIMIT
    session.dispatch(Retry())
    session.run_all()
    assert len(session.items(AssistantMessage)) == 2 * REQUEST_LIMIT
    session.say("Enough")
    assert session.memory.session.requests == 1


def test_what_a_person_does_on_the_page_starts_the_count_anew_and_unblocks_nothing() -> None:
    session = lab(*[tool_calls(CountTool(steps=[1]))] * 30)
    session.say("Count for ever")
    while len(session.items(AssistantMessage)) < 10:
        session.run(session.effects[0])
    session.dispatch(Worked(by=1), sender=Sender("effect", "1_0"))
    assert session.memory.session.requests == 10
    session.dispatch(Pin(text="note"))
    session.run_all()
    assert len(session.items(AssistantMessage)) == 10 + REQUEST_LIMIT
    session.dispatch(Pin(text="note"))
    assert (session.memory.session.requests, session.memory.session.blocked_code) == (0, "request-limit")


# --- stop


def test_stop_keeps_what_was_written_and_marks_it() -> None:
    session = lab("More.")
    session.say("Hi")
    session.stop("So far I")
    message = session.item(AssistantMessage)
    assert (message.text, message.note) == ("So far I", "stopped")
    assert session.effects == []
    assert was_stopped(session)
    session.say("Go on")
    assert not was_stopped(session)
    assert texts(session)[:2] == ["Hi", "So far I"]


@pytest.mark.parametrize("partial", ["", "  \n", "\u200b"])
def test_stop_keeps_no_blank_reply(partial: str) -> None:
    session = lab()
    session.say("Hi")
    session.stop(partial)
    assert session.items(AssistantMessage) == []
    assert session.memory.session.request == ""


@pytest.mark.fault("B20")
def test_stop_gives_every_open_call_a_result_and_the_session_goes_on() -> None:
    session = lab(tool_calls(SearchTool(topics=["tea"]), CountTool(steps=[1])), *["Fine."] * 20)
    session.say("Search")
    session.run(GenerateResponse)
    session.run(SearchTool)
    session.stop()
    assert session.effects == []
    results = [part for message in session.messages() for part in message.parts if part.type == "tool_result"]
    assert len(results) == 2
    assert all(part.is_error and "cancelled" in part.text for part in results)
    for turn in range(20):
        session.say(f"turn {turn}")
        session.run_all()
    assert session.answer == "Fine."


def test_what_a_stop_leaves_in_doubt_is_told_to_the_model() -> None:
    session = lab(tool_calls(SearchTool(topics=["tea"]), CountTool(steps=[1])), "I see.")
    session.say("Search")
    session.run(GenerateResponse)
    session.run(SearchTool)
    (search,) = [effect for effect in session.effects if effect.type == RunSearch.type_name()]
    session.dispatch(Stop(begun=(search.id,)))
    assert session.memory.effects[search.id].outcome == "outcome unknown"
    first, second = [part for message in session.messages() for part in message.parts if part.type == "tool_result"]
    assert "outcome unknown. Stopped by Test person while it ran. It may or may not have happened." in first.text
    assert "cancelled" in second.text
    session.say("Go on")
    session.run_all()
    assert session.answer == "I see."


def test_stop_closes_what_is_hidden_too() -> None:
    session = lab(tool_calls(SearchTool(topics=["tea"])))
    session.say("Search")
    session.run(GenerateResponse)
    session.run(SearchTool)
    reply = session.items(AssistantMessage)[0]
    session.dispatch(Hide(item_id=reply.id))
    session.stop()
    assert session.memory.open_items() == []
    assert session.effects == []


def test_stop_closes_a_question_that_hangs_under_a_call() -> None:
    session = lab(tool_calls(AskTool(question="?")))
    session.say("Go")
    session.run(GenerateResponse)
    session.run(AskTool)
    session.stop()
    assert session.memory.open_items() == []
    assert {record.closed for record in session.memory.items.values()} == {"", "cancelled"}
    with pytest.raises(EventRejected):
        session.dispatch(Answer(text="late"), session.item(Question).id)


def test_stop_leaves_a_top_level_question_open() -> None:
    session = lab("Thanks.")
    session.dispatch(Pin(text="Really?"))
    session.dispatch(Pin(text="search tea"))
    session.stop()
    assert [record.type for record in session.memory.open_items()] == [Question.type_name()]
    assert session.memory.items[session.item(Search).id].closed == "cancelled"
    assert session.dispatch(Answer(text="Yes"), session.item(Question).id).status == "applied"


def test_what_is_late_after_a_stop_changes_nothing() -> None:
    session = lab()
    session.dispatch(StartWork())
    session.say("Hi")
    work, request = session.effects
    session.stop()
    assert session.end(work, "done", event=Worked(by=7)).status == "dropped"
    assert session.send_from(work, Worked(by=7)).status == "dropped"
    assert session.end(request).status == "dropped"
    assert session.memory.agent_state["count"] == 0


def test_a_stopped_note_ends_with_the_next_request() -> None:
    session = lab("Noted.")
    session.stop()
    session.dispatch(Pin(text="news", generate=True))
    session.run_all()
    assert not session.memory.session.stopped


# --- settling


def test_a_cascade_of_several_events_asks_the_model_once() -> None:
    session = lab(tool_calls(CountTool(steps=[1, 2, 3])), "Six.")
    session.say("Count")
    session.run(GenerateResponse)
    session.run(CountTool)
    assert len(session.effects) == 1
    assert session.memory.agent_state["count"] == 6
    assert session.request().request.system[1] == "Count: 6."


def test_calls_that_all_fail_at_once_are_answered_in_the_same_event() -> None:
    session = lab(ModelResponse(parts=(ToolCallPart(id="", name="nonsense", arguments="{}"),)), "Sorry.")
    session.say("Hi")
    session.run(GenerateResponse)
    assert len(session.items(ToolError)) == 1
    assert len(session.effects) == 1
    session.run_all()
    assert session.answer == "Sorry."


def test_calls_that_complete_while_hidden_owe_nothing() -> None:
    session = lab(tool_calls(PinTool(texts=["one"])))
    session.say("Hi")
    session.run(GenerateResponse)
    session.dispatch(Hide(item_id=session.items(AssistantMessage)[0].id))
    session.run(PinTool)
    assert session.effects == []
    assert not session.memory.session.owes_answer


def test_a_conversation_that_only_an_agent_began_is_begun_for_the_provider() -> None:
    session = lab("Hello.", "Again.")
    session.say("Hi")
    session.run_all()
    session.dispatch(Hide(item_id=session.memory.order()[0]))
    session.say("More")
    assert [message.text for message in session.request().request.messages] == [BEGIN_NOTE, "Hello.", "More"]
